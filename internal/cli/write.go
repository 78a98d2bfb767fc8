package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tare/internal/report/document"
	"tare/internal/report/html"
	"tare/internal/report/render"
	"tare/internal/run/journal"
	"tare/internal/run/machine/owned"
)

// The contents of a PNG or PDF.
const (
	ofPicture = "picture"
	ofPage    = "page"
)

// isPicture reports whether the output is the picture of the overheads alone, because of the format or of --of.
func isPicture(out, of string) (bool, error) {
	rendered := out == string(render.PNG) || out == string(render.PDF)
	switch {
	case of != "" && !rendered:
		return false, usage(fmt.Errorf("--of is for -o png and -o pdf, not for -o %s", out))
	case of != "" && of != ofPicture && of != ofPage:
		return false, usage(fmt.Errorf("--of %s: not one of %s, %s", of, ofPicture, ofPage))
	case of != "":
		return of == ofPicture, nil
	}
	return out == "svg" || out == string(render.PNG), nil
}

// writePicture writes an SVG picture in a format, to a file or to stdout.
func writePicture(ctx context.Context, s State, svg, out, to string) error {
	content := []byte(svg + "\n")
	if out != "svg" {
		if to == "" && s.StdoutTerminal {
			return hintedUsage(fmt.Errorf("-o %s is nothing for a terminal", out), "name a file: --to overheads.%s", out)
		}
		var err error
		if content, err = render.Figure(ctx, svg, render.Format(out)); err != nil {
			return installHint(err)
		}
	}
	return s.deliver(to, out != "svg", func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// deliver writes to a file, whole or not at all; without a name of a file, to stdout. Binary content on stdout
// bypasses the filter that makes text safe for a terminal.
func (s State) deliver(to string, binary bool, write func(io.Writer) error) error {
	if to != "" {
		return writeWhole(to, write)
	}
	out := bufio.NewWriter(s.Stdout)
	if binary {
		out.Reset(s.binary)
	}
	if err := write(out); err != nil {
		return err
	}
	return out.Flush()
}

// renderPage writes a page in a format to a file.
func renderPage(ctx context.Context, to, out string, write func(io.Writer) error) error {
	if err := render.Page(ctx, to, render.Format(out), write); err != nil {
		return fmt.Errorf("write %s: %w", to, installHint(err))
	}
	return os.Chmod(to, 0o644)
}

// installHint adds a hint how to install a missing program.
func installHint(err error) error {
	var missing *render.MissingError
	if errors.As(err, &missing) {
		return hinted(err, "install it with: %s", missing.Install)
	}
	return err
}

// writeWhole writes a file whole or not at all.
func writeWhole(to string, write func(io.Writer) error) error {
	f, err := owned.File(filepath.Dir(to), "output", "")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriter(f)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync() // without this, a power cut after the rename could leave an empty file
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), to); err != nil {
		return err
	}
	return journal.SyncDir(filepath.Dir(to))
}

// page writes a document as a page of HTML and prints the name of the file.
func (s State) page(to string, d *document.Document) error {
	if err := writeWhole(to, func(w io.Writer) error { return html.Write(w, d) }); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	fmt.Fprintln(s.Stdout, to)
	return nil
}
