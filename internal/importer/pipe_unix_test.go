//go:build unix

package importer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/importer"
	"tare/internal/run/journal"
)

// TestPipe imports from a shell's pipe, from a pipe without a writer, and from an endless standard input. The
// end of the context ends each import. A named path that is no file is an error at once.
func TestPipe(t *testing.T) {
	dir := write(t, map[string]string{"a.txt": "x s-mean 1\n"})
	importing := func(ctx context.Context, from string, stdin io.Reader) (string, error) {
		to := filepath.Join(t.TempDir(), "run")
		_, err := importer.Run(ctx, to, importer.Options{
			Strict: strings.HasPrefix(from, dir) || from == "/dev/zero", Format: lines, Name: "test", Stdin: stdin, Sources: []importer.Source{{Arm: "a", From: []string{filepath.Join(dir, "a.txt"), from}}},
		})
		return to, err
	}
	handed := func(t *testing.T) (name string, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		return fmt.Sprintf("/dev/fd/%d", r.Fd()), w
	}
	t.Run("with a writer", func(t *testing.T) {
		name, w := handed(t)
		_, _ = w.WriteString("x s-mean 2\n")
		_ = w.Close()
		to, err := importing(context.Background(), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		run, err := journal.Open(to)
		if err != nil || print(run) != "1 a x s-mean=1\n2 a x s-mean=2" {
			t.Errorf("%s (%v)", print(run), err)
		}
	})
	t.Run("with a writer that stops in the middle", func(t *testing.T) {
		name, w := handed(t)
		ctx, cancel := context.WithCancel(context.Background())
		_, _ = w.WriteString("x s-mean ")
		cancel()
		if _, err := importing(ctx, name, nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
	})
	t.Run("standard input", func(t *testing.T) {
		in, out := io.Pipe()
		defer out.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := importing(ctx, "-", in); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{fifo, "/dev/zero"} {
		if _, err := importing(context.Background(), from, nil); err == nil || !strings.Contains(err.Error(), from+": not a regular file") {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// TestLinks imports by pattern and by directory, and checks that no link leads out of the named directory.
func TestLinks(t *testing.T) {
	dir := write(t, map[string]string{"in/a.txt": "x s-mean 1\n", "in/sub/c.txt": "x s-mean 3\n", "in/sub2/d.txt": "x s-mean 4\n", "out/secret.txt": "x s-mean 2\n"})
	for link, to := range map[string]string{"in/b.txt": "../out/secret.txt", "in/dir": "../out", "in/same.txt": "a.txt"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, test := range []struct {
		from, arm string
		want      []string // the files that are read
		err       string
	}{
		{"in/*.txt", "a", []string{"in/a.txt", "in/same.txt"}, ""},
		{"in", "a", []string{"in/a.txt", "in/same.txt", "in/sub/c.txt", "in/sub2/d.txt"}, ""},
		{"in/**/*.txt", "a", []string{"in/a.txt", "in/same.txt", "in/sub/c.txt", "in/sub2/d.txt"}, ""},
		{"in/s*/*.txt", "a", []string{"in/sub/c.txt", "in/sub2/d.txt"}, ""},
		{"in/d*", "a", nil, "no valid trial in 1 file"},
		{"in/d*/*.txt", "a", nil, "no valid trial in 1 file"},
		{"in/b.txt", "a", []string{"in/b.txt"}, ""}, // the link itself is named
		{"in/[ds]*[b2r]", "", nil, "which arm is in/sub, and which is in/dir?"},
	} {
		to := filepath.Join(t.TempDir(), "run")
		_, err := importer.Run(context.Background(), to, importer.Options{Format: lines, Name: "test", Sources: []importer.Source{{Arm: test.arm, From: []string{test.from}}}})
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %q", test.from, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.from, err)
			continue
		}
		text, err := os.ReadFile(filepath.Join(to, journal.FilesFile))
		if err != nil {
			t.Fatal(err)
		}
		var read []string
		for line := range strings.Lines(string(text)) {
			var file journal.ImportedFile
			if err := json.Unmarshal([]byte(line), &file); err != nil {
				t.Fatal(err)
			}
			if file.Broken == "" {
				read = append(read, file.Path)
			} else if file.Broken != "a link that leads nowhere or out of in" {
				t.Errorf("%s: %s: %s", test.from, file.Path, file.Broken)
			}
		}
		if !slices.Equal(read, test.want) {
			t.Errorf("%s: read %q, want %q", test.from, read, test.want)
		}
	}
	to, seen := t.TempDir(), ""
	err := importer.Each(context.Background(), to, importer.Options{Format: lines, Name: "test", Sources: []importer.Source{{From: []string{"in/*.txt"}}}}, func(one importer.FileImport) {
		seen += fmt.Sprintf("%s %v\n", one.File, one.Err)
	})
	if want := "in/a.txt <nil>\nin/b.txt a link that leads nowhere or out of in\nin/same.txt <nil>\n"; err != nil || seen != want {
		t.Errorf("%v, %q", err, seen)
	}
}
