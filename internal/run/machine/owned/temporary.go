package owned

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Dir makes a directory named by this process in the directory parent; "": in TMPDIR. Remove removes the
// directory.
func Dir(parent, kind string) (string, error) {
	self, err := This()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, self.Name(kind)+"*")
}

// File makes a file named by this process in the directory parent; "": in TMPDIR. The file's name ends with
// suffix.
func File(parent, kind, suffix string) (*os.File, error) {
	self, err := This()
	if err != nil {
		return nil, err
	}
	return os.CreateTemp(parent, self.Name(kind)+"*"+suffix)
}

// Remove removes a file, or a directory with its content, by its path. See RemoveIn.
func Remove(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return RemoveIn(dir, filepath.Base(path))
}

// Leftovers lists this user's files and directories left by dead processes in TMPDIR, /tmp and the given
// directories.
func Leftovers(dirs ...string) (left []string, err error) {
	self, err := This()
	if err != nil {
		return nil, err
	}
	for _, dir := range append(slices.Clone(dirs), os.TempDir(), "/tmp") {
		if dir, err = filepath.Abs(dir); err != nil {
			return left, err
		}
		entries, _ := os.ReadDir(dir) // a missing directory has no entries
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if o, _, ok := Of(e.Name()); ok && o.Orphaned(self) && belongsToUser(path) {
				left = append(left, path)
			}
		}
	}
	slices.Sort(left)
	return slices.Compact(left), nil
}

// Clean removes everything that Leftovers lists, and returns what it removed. If before is not nil, it is called
// for each path first and must end what keeps the path in use, such as device mappings. The error names paths
// that could not be removed; the others are removed nevertheless.
func Clean(dirs []string, before func(path string) error) (removed []string, err error) {
	left, err := Leftovers(dirs...)
	for _, path := range left {
		var failed error
		if before != nil {
			failed = before(path)
		}
		if failed == nil {
			failed = Remove(path)
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed = append(removed, path)
	}
	return removed, err
}
