package importer

import (
	"io/fs"
	"path/filepath"
	"strings"

	"tare/journal"
)

// glob lists the paths that match a pattern: as filepath.Glob, and with ** for
// any number of directories, also none. ** follows no links and passes over
// hidden directories and run directories.
func glob(pattern string) ([]string, error) {
	if !strings.Contains(pattern, "**") {
		return filepath.Glob(pattern)
	}
	want := strings.Split(filepath.ToSlash(filepath.Clean(pattern)), "/")
	for _, part := range want {
		if _, err := filepath.Match(part, ""); err != nil {
			return nil, err
		}
	}
	var matches []string
	err := filepath.WalkDir(fixedPart(pattern), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be listed matches nothing
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 1 && d.Name() != "..":
			return fs.SkipDir
		case d.IsDir() && journal.IsRun(path):
			return fs.SkipDir
		case matchParts(want, strings.Split(filepath.ToSlash(path), "/")):
			matches = append(matches, path)
		}
		return nil
	})
	return matches, err
}

func matchParts(want, path []string) bool {
	// at[i]: the pattern's parts before i match the path so far. Going through the
	// path once takes patterns × path steps, whatever the number of **.
	at := make([]bool, len(want)+1)
	at[0] = true
	skip(want, at)
	for _, part := range path {
		next := make([]bool, len(want)+1)
		for i, w := range want {
			if !at[i] {
				continue
			}
			if w == "**" {
				next[i] = true
			} else if ok, _ := filepath.Match(w, part); ok {
				next[i+1] = true
			}
		}
		skip(want, next)
		at = next
	}
	return at[len(want)]
}

// skip lets every ** that is reached match nothing.
func skip(want []string, at []bool) {
	for i, w := range want {
		if at[i] && w == "**" {
			at[i+1] = true
		}
	}
}

// fixedPart is the directory that a pattern begins with, before the first special
// character.
func fixedPart(pattern string) string {
	at := strings.IndexAny(pattern, `*?[`)
	if at < 0 {
		return filepath.Dir(pattern)
	}
	dir, _ := filepath.Split(pattern[:at])
	return filepath.Clean(dir)
}
