package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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
		if !begun(path) && !unfinishedName.MatchString(filepath.Base(path)) {
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

// unfinishedFile is what Create, NewBulk and an import write into the directory itself,
// unfinishedRaw what an import writes into RawDir (copies of files by their number), and
// anyName is for NamedDir.
var (
	unfinishedFile = regexp.MustCompile(`^(experiment\.yaml|environment\.json|plan\.json|trials\.jsonl|notes\.jsonl|files\.jsonl)(\.new)?$`)
	unfinishedRaw  = regexp.MustCompile(`^[0-9]+-`)
	anyName        = regexp.MustCompile(``)
)

// RemoveUnfinished removes what a killed program left in a directory that Unfinished
// found: the files of a run, and the directory if nothing else is in it. Kept is what is
// not Tare's, as paths below dir, for which the directory stays. It is an error when
// another process works on the directory, or has removed it meanwhile.
func RemoveUnfinished(dir string) (kept []string, err error) {
	root, lock, err := hold(dir)
	if err != nil {
		return nil, err
	}
	kept, err = removeMade(root)
	if err = errors.Join(err, lock.Close(), root.Close()); err != nil {
		return kept, err
	}
	if err := os.Remove(filepath.Join(dir, LockFile)); err != nil || len(kept) > 0 {
		return kept, err
	}
	return nil, os.Remove(dir)
}

// removeMade removes all that an unfinished run is made of but its lock, and gives the
// paths of what else there is.
func removeMade(root *os.Root) (kept []string, err error) {
	for dir, known := range map[string]*regexp.Regexp{RawDir: unfinishedRaw, NamedDir: anyName} {
		left, err := removeKnown(root, dir, known)
		if kept = append(kept, left...); err != nil {
			return kept, err
		}
	}
	slices.Sort(kept)
	top, err := removeKnown(root, ".", unfinishedFile)
	for _, name := range top {
		within := slices.ContainsFunc(kept, func(path string) bool { return strings.HasPrefix(path, name+string(filepath.Separator)) })
		made := name == LockFile || (name == RawDir || name == NamedDir) && (within || root.Remove(name) == nil)
		if !made {
			kept = append(kept, name)
		}
	}
	return kept, err
}

// removeKnown removes the files of a directory whose names match, and gives the paths of
// what is left. It follows no links.
func removeKnown(root *os.Root, dir string, known *regexp.Regexp) (left []string, err error) {
	if info, err := root.Lstat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !known.MatchString(e.Name()) || !e.Type().IsRegular() {
			left = append(left, path)
		} else if err := root.Remove(path); err != nil {
			return left, err
		}
	}
	slices.Sort(left)
	return left, nil
}

func isFile(dir, name string) bool {
	info, err := os.Lstat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}
