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

// unfinishedName matches the names of temporary directories made by NewBulk.
var unfinishedName = regexp.MustCompile(`^\..*` + regexp.QuoteMeta(unfinished) + `[0-9]+$`)

// abandonedAfter is the age from which a directory without TrialsFile counts as abandoned. A living process makes that
// file within milliseconds.
const abandonedAfter = time.Minute

// Unfinished lists the temporary directories below root that a killed Bulk or Create left, by path. Directories of
// running processes and other programs are left out.
func Unfinished(root string) ([]string, error) {
	var left []string
	err := walk(root, func(path string) (deeper bool, err error) {
		if !isUnfinished(path) && !unfinishedName.MatchString(filepath.Base(path)) {
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

// abandoned reports whether no process works on an unfinished directory. If TrialsFile exists, a free lock proves this:
// the lock is taken first.
func abandoned(dir string) (bool, error) {
	trials, locked := isFile(dir, TrialsFile), isFile(dir, lockFile)
	switch {
	case trials && !locked: // a directory with trials but without a lock was not made by Tare
		return false, nil
	case !trials && !isStale(dir):
		return false, nil
	case !locked:
		return true, nil
	}
	root, lock, err := lockDir(dir)
	if err != nil {
		return false, nil // a process holds the lock, or this user may not take it
	}
	return true, errors.Join(lock.Close(), root.Close())
}

// isStale reports whether an import ended at its very beginning: the directory is old, and holds at most a lock and an
// empty directory.
func isStale(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || time.Since(info.ModTime()) < abandonedAfter {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		raw, _ := os.ReadDir(filepath.Join(dir, RawDir)) // an unreadable or missing directory has no entries
		if e.Name() != lockFile && e.Name() != RawDir || len(raw) > 0 {
			return false
		}
	}
	return true
}

// Patterns of file names: unfinishedFile at the top of a run directory, unfinishedRaw for the numbered copies in an
// import's RawDir, anyName for namedDir.
var (
	unfinishedFile = regexp.MustCompile(`^(experiment\.yaml|environment\.json|plan\.json|trials\.jsonl|notes\.jsonl|files\.jsonl)(\.new)?$`)
	unfinishedRaw  = regexp.MustCompile(`^[0-9]+-`)
	anyName        = regexp.MustCompile(``)
)

// RemoveUnfinished removes Tare's files from a directory that Unfinished found, and then the directory if it is empty.
// The result lists the paths of kept files, relative to dir. It fails if a process works on the directory.
func RemoveUnfinished(dir string) (kept []string, err error) {
	root, lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	kept, err = removeMade(root)
	if err = errors.Join(err, lock.Close(), root.Close()); err != nil {
		return kept, err
	}
	if err := os.Remove(filepath.Join(dir, lockFile)); err != nil || len(kept) > 0 {
		return kept, err
	}
	return nil, os.Remove(dir)
}

// removeMade removes all files that Tare made for an unfinished run, except the run's lock. The result kept lists the
// files that are left.
func removeMade(root *os.Root) (kept []string, err error) {
	for dir, known := range map[string]*regexp.Regexp{RawDir: unfinishedRaw, namedDir: anyName} {
		left, err := removeKnown(root, dir, known)
		if kept = append(kept, left...); err != nil {
			return kept, err
		}
	}
	slices.Sort(kept)
	top, err := removeKnown(root, ".", unfinishedFile)
	for _, name := range top {
		within := slices.ContainsFunc(kept, func(path string) bool { return strings.HasPrefix(path, name+string(filepath.Separator)) })
		made := name == lockFile || (name == RawDir || name == namedDir) && (within || root.Remove(name) == nil)
		if !made {
			kept = append(kept, name)
		}
	}
	return kept, err
}

// removeKnown removes those files from a directory whose names match. It follows no links. The result lists the files
// that are left.
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
