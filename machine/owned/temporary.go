package owned

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Dir makes a directory in another, or, with "", where temporary files are (TMPDIR). Remove removes it.
func Dir(in, what string) (string, error) {
	self, err := This()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(in, self.Name(what)+"*")
}

// File makes a file in a directory, or where temporary files are. End is the end of its name.
func File(in, what, end string) (*os.File, error) {
	self, err := This()
	if err != nil {
		return nil, err
	}
	return os.CreateTemp(in, self.Name(what)+"*"+end)
}

// Remove is RemoveIn for what has a path.
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

// Left lists what processes of this user that are dead have left where temporary files are (TMPDIR, and /tmp), and in other
// directories.
func Left(dirs ...string) (left []string, err error) {
	self, err := This()
	if err != nil {
		return nil, err
	}
	for _, dir := range append(slices.Clone(dirs), os.TempDir(), "/tmp") {
		if dir, err = filepath.Abs(dir); err != nil {
			return left, err
		}
		entries, _ := os.ReadDir(dir) // one that is not there holds nothing
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if o, _, ok := Of(e.Name()); ok && o.Orphaned(self) && mine(path) {
				left = append(left, path)
			}
		}
	}
	slices.Sort(left)
	return slices.Compact(left), nil
}

// Clean removes what Left lists, and says what that was. Before, unless nil, ends what else has its name. What cannot be
// removed is named by the error, and the rest is removed all the same.
func Clean(dirs []string, before func(path string) error) (removed []string, err error) {
	left, err := Left(dirs...)
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
