// Package render converts pictures and pages of package report to PNG and PDF files. It uses other programs, since no
// Go library sets SVG text in the system's fonts or lays out a page: rsvg-convert for pictures, a browser of the
// Chromium family for pages. Neither may use the network. If a program is missing, the error names the command that
// installs it.
package render

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

// Format is the format of a rendered file.
type Format string

const (
	PNG Format = "png"
	PDF Format = "pdf"
)

const (
	patience = 3 * time.Minute // time limit of a program, long enough for a slow machine
	zoom     = 2               // PNG pixels per pixel of a picture, for sharp pictures on dense screens
)

// program renders pictures or pages. It may be installed under several names.
type program struct {
	names    []string          // names in PATH or absolute paths, the best first
	what     string            // kind of input: "a picture" or "a page"
	packages map[string]string // installation command by operating system
}

// MissingError reports a program that is not installed.
type MissingError struct {
	Program string
	What    string // kind of input that needs the program to become PNG or PDF, such as "a page"
	Install string // command that installs it
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed, and %s as PNG or PDF needs it", e.Program, e.What)
}

func (p program) find() (string, error) {
	for _, name := range p.names {
		path, err := exec.LookPath(name)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return "", &MissingError{Program: p.names[0], What: p.what, Install: cmp.Or(p.packages[runtime.GOOS], p.packages["linux"])}
}

func (p program) run(ctx context.Context, stdin []byte, env []string, args ...string) ([]byte, error) {
	path, err := p.find()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out bytes.Buffer
	_, err = testbed.Run(limited, local.Here, testbed.Host, testbed.Command{Args: append([]string{path}, args...), Env: env, Stdin: bytes.NewReader(stdin), Stdout: &out})
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("%s did not finish within %v", path, patience)
	}
	var exit *testbed.ExitError
	if errors.As(err, &exit) {
		text := strings.TrimSpace(exit.Stderr)
		err = fmt.Errorf("%s: %s: %.300s", path, exit.How(), text[strings.LastIndexByte(text, '\n')+1:])
	}
	return nil, err
}

// Probe tries to convert a picture and a page, and returns whether each conversion works.
func Probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{
		figures.try(func() error {
			_, err := Figure(ctx, `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>`, PDF)
			return err
		}),
		pages.try(func() (err error) {
			dir, err := owned.Dir("", "page")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, owned.Remove(dir)) }()
			return Page(ctx, filepath.Join(dir, "page.pdf"), PDF, func(w io.Writer) error {
				_, err := io.WriteString(w, "<!DOCTYPE html><title>Tare</title>")
				return err
			})
		}),
	}
}

func (p program) try(use func() error) testbed.Finding {
	f := testbed.Finding{Name: p.names[0]}
	path, err := p.find()
	var missing *MissingError
	switch {
	case errors.As(err, &missing):
		f.Status, f.Detail, f.Hint = testbed.Missing, missing.Error(), missing.Install
		return f
	case err == nil:
		err = use()
	}
	if err != nil {
		f.Status, f.Detail = testbed.Refused, err.Error()
		return f
	}
	f.Status, f.Detail = testbed.Works, path+", for "+p.what+" as PNG and PDF"
	return f
}

var figures = program{
	names: []string{"rsvg-convert"}, what: "a picture",
	packages: map[string]string{"linux": "apt-get install librsvg2-bin", "darwin": "brew install librsvg", "windows": "scoop install librsvg"},
}

// Figure renders an SVG picture.
func Figure(ctx context.Context, svg string, to Format) ([]byte, error) {
	args := []string{"--format", string(to)}
	if to == PNG {
		args = append(args, "--zoom", strconv.Itoa(zoom))
	}
	return figures.run(ctx, []byte(svg), nil, args...)
}

var pages = program{
	what: "a page",
	names: []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "microsoft-edge", "msedge",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
		`C:\Program Files\Google\Chrome\Application\chrome.exe`, `C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe`},
	packages: map[string]string{"linux": "apt-get install chromium", "darwin": "brew install --cask chromium", "windows": "winget install Google.Chrome"},
}

// Page converts the HTML that write produces to a picture or a PDF, in the file to. Meanwhile the HTML lies in this
// file's directory: its links are relative, and a sandboxed browser may see no other.
func Page(ctx context.Context, to string, format Format, write func(io.Writer) error) (err error) {
	dir, err := filepath.Abs(filepath.Dir(to))
	if err != nil {
		return err
	}
	page, err := owned.File(dir, "page", ".html")
	if err != nil {
		return err
	}
	defer os.Remove(page.Name())
	if err := errors.Join(write(page), page.Close()); err != nil {
		return err
	}
	scratch, err := owned.Dir(dir, "browser")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, owned.Remove(scratch)) }()
	// The browser creates a socket in the directory of temporary files. A socket's path has at most 107 bytes, so
	// /tmp replaces a long directory.
	temporary := os.TempDir()
	if runtime.GOOS == "linux" && len(temporary) > 16 {
		temporary = "/tmp"
	}
	if temporary, err = owned.Dir(temporary, "page"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, owned.Remove(temporary)) }()
	b := browser{page: page.Name(), scratch: scratch, temporary: temporary}
	made := filepath.Join(scratch, "page."+string(format))
	if format == PNG {
		err = b.screenshot(ctx, made)
	} else {
		_, err = b.run(ctx, made, "--no-pdf-header-footer", "--print-to-pdf="+made)
	}
	if err != nil {
		return err
	}
	return os.Rename(made, to)
}

type browser struct {
	page               string // file of the page
	scratch, temporary string // scratch: a directory beside the page; temporary: the browser's directory of temporary files
}

// run starts the browser, which writes a file, and returns the content of the file.
func (b browser) run(ctx context.Context, made string, args ...string) ([]byte, error) {
	args = append(args, "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions", "--disable-sync",
		"--disable-component-update", "--disable-background-networking", "--disable-quic", "--host-resolver-rules=MAP * ^NOTFOUND",
		"--user-data-dir="+filepath.Join(b.scratch, "profile"))
	if runtime.GOOS == "linux" && os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // without this flag, the browser refuses to run as root
	}
	if _, err := pages.run(ctx, nil, []string{"TMPDIR=" + b.temporary}, append(args, b.page)...); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(made)
	if err != nil {
		return nil, fmt.Errorf("the browser wrote no file: %w", err)
	}
	return data, nil
}

// Sizes of the browser's window in pixels. A picture of Chromium has at most highestWindow rows.
const (
	windowWidth   = 1100
	windowHeight  = 8000
	highestWindow = 16000
	foot          = 40 // number of empty rows that a screenshot keeps below the page
)

// screenshot makes a picture of a page of unknown height. The window is higher than the page, and the empty rows below
// the page are cut off.
func (b browser) screenshot(ctx context.Context, made string) error {
	for height := windowHeight; height <= highestWindow; height *= 2 {
		data, err := b.run(ctx, made, "--screenshot="+made, fmt.Sprintf("--window-size=%d,%d", windowWidth, height))
		if err != nil {
			return err
		}
		shown, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			return err
		}
		if bounds, end := shown.Bounds(), usedHeight(shown)+foot; end < bounds.Dy() {
			upper := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), end))
			draw.Draw(upper, upper.Bounds(), shown, bounds.Min, draw.Src)
			var cut bytes.Buffer
			return errors.Join(png.Encode(&cut, upper), os.WriteFile(made, cut.Bytes(), 0o666))
		}
	}
	return fmt.Errorf("the page is higher than %d pixels, more than a browser shows as one picture: PDF has no such limit", highestWindow)
}

// usedHeight returns the height of a picture without the empty rows at its lower end, which have one colour.
func usedHeight(m image.Image) int {
	r := m.Bounds()
	ground := color.RGBAModel.Convert(m.At(r.Max.X-1, r.Max.Y-1))
	for y := r.Max.Y - 1; y >= r.Min.Y; y-- {
		for x := r.Min.X; x < r.Max.X; x++ {
			if color.RGBAModel.Convert(m.At(x, y)) != ground {
				return y + 1 - r.Min.Y
			}
		}
	}
	return 0
}
