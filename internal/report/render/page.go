package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"tare/internal/run/machine/owned"
)

// pages is the program that renders HTML.
var pages = program{
	name: "chromium", what: "a page",
	names: []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "microsoft-edge", "msedge",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
		`C:\Program Files\Google\Chrome\Application\chrome.exe`, `C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe`},
	packages: map[string]string{"linux": "apt-get install chromium", "darwin": "brew install --cask chromium", "windows": "winget install Google.Chrome"},
}

// Page renders an HTML page to the file to. The page comes from write. It and all temporary files lie beside
// that file: the page's links are relative to there, and a sandboxed browser may not see other directories.
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
	// The browser creates a socket in the directory of temporary files. The path of a socket may have 107
	// bytes.
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
	scratch, temporary string // scratch: directory beside the page; temporary: directory of temporary files
}

// run starts the browser, which writes the file made, and returns that file's content.
func (b browser) run(ctx context.Context, made string, args ...string) ([]byte, error) {
	args = append(args, "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions", "--disable-sync",
		"--disable-component-update", "--disable-background-networking", "--disable-quic", "--host-resolver-rules=MAP * ^NOTFOUND",
		"--user-data-dir="+filepath.Join(b.scratch, "profile"))
	if runtime.GOOS == "linux" && os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // the browser refuses to run as root without it
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

// Sizes of the window that shows a page, in pixels. Chromium's pictures are at most highestWindow high.
const (
	windowWidth   = 1100
	windowHeight  = 8000
	highestWindow = 16000
	foot          = 40 // empty rows that stay below a page
)

// screenshot makes a picture of the whole page. The page's height is known only after drawing. The window
// is therefore higher than the page, and the empty rest is cut off.
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

// usedHeight returns the height of a picture without the rows of one colour at its end.
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

func tryPage(ctx context.Context) (err error) {
	dir, err := owned.Dir("", "page")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, owned.Remove(dir)) }()
	return Page(ctx, filepath.Join(dir, "page.pdf"), PDF, func(w io.Writer) error {
		_, err := io.WriteString(w, "<!DOCTYPE html><title>Tare</title>")
		return err
	})
}
