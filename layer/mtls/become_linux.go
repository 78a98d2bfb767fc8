package mtls

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/machine/owned"
	"tare/testbed/frames"
)

// path is where the directory is.
func (o dirOrder) path() string { return filepath.Join(os.TempDir(), filepath.Base(o.Dir)) }

// toldFile is where a proxy prints.
func (o dirOrder) toldFile() string { return o.path() + ".told" }

// become writes the files of a proxy and has this process be it, with the id that the testbed
// knows.
func (o becomeOrder) become() error {
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

// write writes its files, for nobody else to read.
func (o becomeOrder) write(dir string) error {
	for name, text := range o.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (o becomeOrder) exec(path, dir string) error {
	if err := o.write(dir); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	if o.Told {
		f, err := os.OpenFile(o.toldFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		if err := unix.Dup3(int(f.Fd()), 1, 0); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", path, unix.Exec(path, o.Args, os.Environ()))
}

// mostTold is as much as is told of at a time, in bytes.
const mostTold = 64 << 10

// tell gives what the proxy has printed since it was asked last.
func (h *helper) tell(o dirOrder) (string, error) {
	f, err := os.Open(o.toldFile())
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(f, h.told, mostTold))
	h.told += int64(len(text))
	return string(text), err
}

// watching begins to count the frames that leave the pod or come to it.
func (h *helper) watching(o watchOrder) (err error) {
	if _, err := h.unwatch(); err != nil {
		return err
	}
	if h.watch, err = frames.Open([]byte(o.Pattern)); err != nil {
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
