// Package render converts pictures and pages of package report to PNG and PDF files. It uses other
// programs, since no Go library sets text in SVG with the system's fonts or lays out a page: rsvg-convert
// for pictures, a browser of the Chromium family for pages. Neither may use the network. If a program is
// missing, the error names the command that installs it.
package render

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

// Format is the format of a file.
type Format string

const (
	PNG Format = "png"
	PDF Format = "pdf"
)

// patience is the time limit of a program, long enough for a slow machine.
const patience = 3 * time.Minute

// program renders pictures or pages. It may be installed under several names.
type program struct {
	name     string
	names    []string          // names in PATH or absolute paths, the best first
	what     string            // kind of input: "a picture" or "a page"
	packages map[string]string // installation command by operating system
}

// MissingError reports a program that is not installed.
type MissingError struct {
	Program string
	What    string // kind of input that needs the program
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
	return "", &MissingError{Program: p.name, What: p.what, Install: cmp.Or(p.packages[runtime.GOOS], p.packages["linux"])}
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
		err = fmt.Errorf("%s: %s: %s", path, exit.How(), lastLine(exit.Stderr))
	}
	return nil, err
}

// lastLine returns the last line of a program's output, at most 300 characters of it.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return fmt.Sprintf("%.300s", s[strings.LastIndexByte(s, '\n')+1:])
}

// Probe tries both programs.
func Probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{
		figures.try(func() error {
			_, err := Figure(ctx, `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>`, PDF)
			return err
		}),
		pages.try(func() error { return tryPage(ctx) }),
	}
}

func (p program) try(use func() error) testbed.Finding {
	f := testbed.Finding{Name: p.name}
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

// figures is the program that renders SVG.
var figures = program{
	name: "rsvg-convert", names: []string{"rsvg-convert"}, what: "a picture",
	packages: map[string]string{"linux": "apt-get install librsvg2-bin", "darwin": "brew install librsvg", "windows": "scoop install librsvg"},
}

// zoom is the number of PNG pixels per pixel of a picture. Two keep pictures sharp on dense screens.
const zoom = 2

// Figure renders an SVG picture.
func Figure(ctx context.Context, svg string, to Format) ([]byte, error) {
	args := []string{"--format", string(to)}
	if to == PNG {
		args = append(args, "--zoom", strconv.Itoa(zoom))
	}
	return figures.run(ctx, []byte(svg), nil, args...)
}
