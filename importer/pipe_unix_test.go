//go:build unix

package importer_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tare/importer"
	"tare/journal"
)

// TestPipe imports from a named pipe, from one that nobody ever writes to, and from
// a standard input that never ends: the end of the context ends the import.
func TestPipe(t *testing.T) {
	dir := write(t, map[string]string{"a.txt": "x s-mean 1\n"})
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	importing := func(ctx context.Context, from string, stdin io.Reader) (string, error) {
		to := filepath.Join(t.TempDir(), "run")
		_, err := importer.Run(ctx, to, importer.Options{
			Format: lines, Name: "test", Stdin: stdin, Sources: []importer.Source{{Arm: "a", From: []string{filepath.Join(dir, "a.txt"), from}}},
		})
		return to, err
	}
	t.Run("with a writer", func(t *testing.T) {
		go func() { _ = os.WriteFile(pipe, []byte("x s-mean 2\n"), 0) }()
		to, err := importing(context.Background(), pipe, nil)
		if err != nil {
			t.Fatal(err)
		}
		run, err := journal.Open(to)
		if err != nil || print(run) != "1 a x s-mean=1\n2 a x s-mean=2" {
			t.Errorf("%s (%v)", print(run), err)
		}
	})
	t.Run("with a writer that stops in the middle", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		end, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err == nil {
				_, _ = w.WriteString("x s-mean ")
				cancel()
				<-end
				_ = w.Close()
			}
		}()
		_, err := importing(ctx, pipe, nil)
		close(end)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		<-ended // or the next has a writer
	})
	for name, from := range map[string]string{"without a writer": pipe, "standard input": "-"} {
		t.Run(name, func(t *testing.T) {
			in, out := io.Pipe()
			defer out.Close()
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			if _, err := importing(ctx, from, in); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	}
}
