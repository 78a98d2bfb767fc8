package journal

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"tare/internal/run/machine/owned"
)

// maxArchive is the largest content of an archive that Unpack accepts, in bytes. A user must unpack a larger one.
const maxArchive = 1 << 30

var errLarge = fmt.Errorf("it holds more than %d MiB: unpack it with tar -xzf", maxArchive>>20)

// IsArchive reports whether a path names a compressed file, as tare export writes for a bundle or a head.
func IsArchive(file string) bool {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	begins := make([]byte, 2)
	_, err = io.ReadFull(f, begins)
	return err == nil && string(begins) == "\x1f\x8b" // the first bytes of every gzip file
}

// Unpack writes the files of a bundle or a head into a temporary directory, which is then a run directory. The caller
// must call remove. If the archive is damaged, the error is a *DamageError.
func Unpack(file string) (dir string, remove func() error, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	if dir, err = owned.Dir("", "run"); err != nil {
		return "", nil, err
	}
	remove = func() error { return owned.Remove(dir) }
	root, err := os.OpenRoot(dir)
	if err == nil {
		err = errors.Join(unpack(root, f), root.Close())
	}
	if errors.Is(err, errLarge) {
		err = fmt.Errorf("%s: %w", file, err)
	} else if err != nil {
		err = asDamage(file, err)
	}
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return dir, remove, nil
}

func unpack(root *os.Root, archive io.Reader) error {
	zip, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	left := int64(maxArchive)
	for in := tar.NewReader(zip); ; {
		header, err := in.Next()
		if err == io.EOF {
			_, err = io.Copy(io.Discard, zip) // reads the checksum at the end
			return err
		}
		if err != nil {
			return err
		}
		_, name, below := strings.Cut(header.Name, "/") // the first part is the name of the run
		switch left -= header.Size; {
		case !below, header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeDir:
			return fmt.Errorf("%.100q is no file of a run", header.Name)
		case left < 0:
			return errLarge
		case header.Typeflag == tar.TypeDir:
			continue
		}
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
}
