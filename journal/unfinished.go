package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// unfinishedName is what NewBulk calls a directory in which it makes a run.
var unfinishedName = regexp.MustCompile(`^\..*` + regexp.QuoteMeta(unfinished) + `[0-9]+$`)

// beginning is how long a directory may be without TrialsFile while its run is
// being begun. It takes a few milliseconds.
const beginning = time.Minute

// Unfinished lists the directories below root that a killed program left in the
// middle of making a run, in the order of their paths. Like Find, it looks four
// levels deep, follows no links, and passes over what it may not read. What another
// process is still working on is not among them, nor is what only has such a name.
func Unfinished(root string) ([]string, error) {
	var left []string
	err := walk(root, func(path string) (deeper bool, err error) {
		if !unfinishedName.MatchString(filepath.Base(path)) {
			return !IsRun(path), nil
		}
		dead, err := abandoned(path)
		if dead && err == nil {
			left = append(left, path)
		}
		return false, err
	})
	if err != nil {
		return left, fmt.Errorf("cannot look for unfinished runs: %w", err)
	}
	return left, nil
}

// abandoned says whether nobody works on a directory of NewBulk any more. The
// kernel frees a lock when its process ends, however it ends; and since the lock is
// taken before TrialsFile is made, a free one beside that file is a dead process's.
// Without that file the process may be about to take the lock.
func abandoned(dir string) (bool, error) {
	trials, locked := isFile(dir, TrialsFile), isFile(dir, LockFile)
	switch {
	case trials && !locked: // something else of that name
		return false, nil
	case !trials && !stalled(dir):
		return false, nil
	case !locked:
		return true, nil
	}
	root, lock, err := hold(dir)
	if err != nil {
		return false, nil // held, or not ours to touch
	}
	return true, errors.Join(lock.Close(), root.Close())
}

// stalled says whether a directory was begun some time ago, and holds nothing but
// what NewBulk makes before TrialsFile.
func stalled(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || time.Since(info.ModTime()) < beginning {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		raw, _ := os.ReadDir(filepath.Join(dir, RawDir)) // none in there either
		if e.Name() != LockFile && e.Name() != RawDir || len(raw) > 0 {
			return false
		}
	}
	return true
}

func isFile(dir, name string) bool {
	info, err := os.Lstat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}
