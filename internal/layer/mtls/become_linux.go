package mtls

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/run/machine/owned"
	"tare/internal/testbed/sniff"
)

// path returns the path of the proxy's directory.
func (o dirRequest) path() string { return filepath.Join(os.TempDir(), filepath.Base(o.Dir)) }

// outputFile returns the path of the file that holds a proxy's standard output.
func (o dirRequest) outputFile() string { return o.path() + ".told" }

// become writes the files of a proxy and replaces this process with the proxy. The process id, by which the
// testbed knows this process, stays the same.
func (o becomeRequest) become() error {
	path, err := exec.LookPath(o.Args[0])
	if err != nil {
		return err
	}
	dir := o.path()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	err = o.exec(path, dir)
	return errors.Join(err, owned.Remove(dir))
}

// write writes the proxy's files. Only their owner can read them.
func (o becomeRequest) write(dir string) error {
	for name, text := range o.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (o becomeRequest) exec(path, dir string) error {
	if err := o.write(dir); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	if o.ToFile {
		f, err := os.OpenFile(o.outputFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		if err := unix.Dup3(int(f.Fd()), 1, 0); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", path, unix.Exec(path, o.Args, os.Environ()))
}

// longestOutput is the number of bytes of a proxy's output that one response holds at most.
const longestOutput = 64 << 10

// output returns what a proxy has printed since the last call.
func (h *helper) output(o dirRequest) (string, error) {
	f, err := os.Open(o.outputFile())
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(f, h.outputRead, longestOutput))
	h.outputRead += int64(len(text))
	return string(text), err
}

// watching starts counting the frames that contain a pattern and leave or enter the pod.
func (h *helper) watching(o watchRequest) (err error) {
	if _, err := h.unwatch(); err != nil {
		return err
	}
	if h.watch, err = sniff.Open([]byte(o.Pattern)); err != nil {
		return fmt.Errorf("watch the pod's interfaces: %w", err)
	}
	return nil
}

func (h *helper) unwatch() (int, error) {
	if h.watch == nil {
		return 0, nil
	}
	w := h.watch
	h.watch = nil
	return w.End()
}
