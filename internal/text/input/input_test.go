//go:build unix

package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("file"), []byte("x"), 0o600), syscall.Mkfifo(at("fifo"), 0o600), os.Symlink("fifo", at("link")), os.Symlink("/etc/passwd", at("out")), os.Mkdir(at("dir"), 0o700)); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, test := range []struct {
		name string
		in   bool
		want error
	}{
		{at("file"), false, nil}, {at("fifo"), false, ErrIrregular}, {at("link"), false, ErrIrregular}, {at("dir"), false, nil},
		{at("none"), false, os.ErrNotExist}, {"/dev/zero", false, ErrIrregular}, {"/dev/null", false, ErrIrregular},
		{fmt.Sprintf("/dev/fd/%d", r.Fd()), false, nil},
		{"file", true, nil}, {"fifo", true, ErrIrregular}, {"none", true, os.ErrNotExist},
	} {
		open := Open
		if test.in {
			open = func(name string) (*os.File, error) { return OpenIn(root, name) }
		}
		f, err := open(test.name)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
		if err == nil {
			_ = f.Close()
		}
	}
	if _, err := OpenIn(root, "out"); err == nil {
		t.Error("a link led out of its directory")
	}
	// It becomes a FIFO after it was looked at.
	file, err := os.Stat(at("file"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := open(at("fifo"), func(string) (os.FileInfo, error) { return file, nil }, os.OpenFile)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
	_ = f.Close()
}

func TestUntilDone(t *testing.T) {
	t.Parallel()
	from, to := io.Pipe()
	defer to.Close()
	ctx, cancel := context.WithCancel(context.Background())
	r := UntilDone(ctx, from)
	go func() { _, _ = io.WriteString(to, "x") }()
	if n, err := r.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
