package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// writeWhole writes a file whole or not at all.
func writeWhole(to string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(to), ".tare-*")
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
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}
