package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/test/slow"
	"tare/internal/testbed"
)

// needs skips a test where a program is missing; in CI, where all are installed,
// it fails.
func needs(t *testing.T, programs ...program) {
	t.Helper()
	for _, p := range programs {
		if _, err := p.find(); err != nil && os.Getenv("CI") == "true" {
			t.Fatal(err)
		} else if err != nil {
			t.Skipf("%v: %s", err, p.packages["linux"])
		}
	}
}

// poppler reads PDF files.
var poppler = program{names: []string{"pdftotext"}, what: "reading PDF", packages: map[string]string{"linux": "apt-get install poppler-utils"}}

const square = `<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40" viewBox="0 0 60 40">
<rect width="60" height="40" fill="#0072b2"/><text x="5" y="25" fill="#ffffff" font-size="12">square</text></svg>`

func TestFigure(t *testing.T) {
	needs(t, figures, poppler)
	drawn, err := Figure(t.Context(), square, PNG)
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(drawn))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Bounds().Size(), (image.Point{X: 60 * zoom, Y: 40 * zoom}); got != want {
		t.Errorf("the PNG measures %v, want %v", got, want)
	}
	if r, g, b, _ := m.At(1, 1).RGBA(); r>>8 != 0x00 || g>>8 != 0x72 || b>>8 != 0xb2 {
		t.Errorf("its corner is %02x%02x%02x", r>>8, g>>8, b>>8)
	}
	file := filepath.Join(t.TempDir(), "figure.pdf")
	set, err := Figure(t.Context(), square, PDF)
	if err := errors.Join(err, os.WriteFile(file, set, 0o644)); err != nil {
		t.Fatal(err)
	}
	if pages := textOf(t, file); len(pages) != 1 || pages[0] != "square" {
		t.Errorf("the PDF holds %q", pages)
	}
	if _, err := Figure(t.Context(), "no picture", PNG); err == nil || !strings.Contains(err.Error(), "rsvg-convert: exit status 1: ") {
		t.Errorf("what is no picture: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Figure(cancelled, square, PNG); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// textOf is the text of each page of a PDF.
func textOf(t *testing.T, file string) []string {
	t.Helper()
	out, err := exec.Command("pdftotext", file, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	pages := strings.Split(strings.TrimSuffix(string(out), "\f"), "\f")
	for i := range pages {
		pages[i] = strings.TrimSpace(pages[i])
	}
	return pages
}

func TestPage(t *testing.T) {
	needs(t, pages, poppler)
	dir := t.TempDir()
	write := func(w io.Writer) error {
		_, err := fmt.Fprint(w, `<!DOCTYPE html><title>x</title><body style="margin:0"><p>first</p>`+
			`<div style="break-before:page;background:#d55e00;height:500px">second</div>`)
		return err
	}
	set, drawn := filepath.Join(dir, "page.pdf"), filepath.Join(dir, "page.png")
	if err := errors.Join(Page(t.Context(), set, PDF, write), Page(t.Context(), drawn, PNG, write)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(textOf(t, set), "|"); got != "first|second" {
		t.Errorf("the pages of the PDF are %s", got)
	}
	m, err := readPNG(drawn)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Bounds().Size(); got.X != windowWidth || got.Y < 500+foot || got.Y > 600+foot {
		t.Errorf("the PNG measures %v, want as much as the page and no more", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("beside the files there is more: %v, %v", left, err)
	}
}

func TestPageRefuses(t *testing.T) {
	slow.Test(t)
	failed := errors.New("no run")
	dir := t.TempDir()
	err := Page(t.Context(), filepath.Join(dir, "page.pdf"), PDF, func(io.Writer) error { return failed })
	if !errors.Is(err, failed) {
		t.Errorf("a page that cannot be written: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	needs(t, pages)
	err = Page(t.Context(), filepath.Join(dir, "page.png"), PNG, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, `<!DOCTYPE html><div style="height:%dpx;background:#000"></div>`, highestWindow+1)
		return err
	})
	if want := "the page is higher than 16000 pixels, more than a browser shows as one picture: PDF has no such limit"; err == nil || err.Error() != want {
		t.Errorf("a page without end: %v", err)
	}
}

func TestMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Figure(t.Context(), square, PNG)
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Install == "" || err.Error() != "rsvg-convert is not installed, and a picture as PNG or PDF needs it" {
		t.Errorf("%v, %+v", err, missing)
	}
	for _, f := range Probe(t.Context()) {
		if f.Status != testbed.Missing || f.Hint == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestProbe(t *testing.T) {
	needs(t, figures, pages)
	for _, f := range Probe(t.Context()) {
		if f.Status != testbed.Works || !strings.HasSuffix(f.Detail, "as PNG and PDF") {
			t.Errorf("%+v", f)
		}
	}
}

func readPNG(name string) (image.Image, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return png.Decode(f)
}
