package importer

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/journal"
)

// expand gives the paths that one given on the command line stands for, in natural order,
// and the directory that a pattern begins with; "" where it is no pattern.
func expand(from string) (paths []string, fixed string, err error) {
	if _, err := os.Stat(from); err == nil || !strings.ContainsAny(from, `*?[`) {
		return []string{from}, "", nil
	}
	if paths, err = glob(from); err != nil {
		return nil, "", misuse("the special characters are * ? [ ] and **, for any directories", "%s: %w", from, err)
	}
	slices.SortFunc(paths, natural)
	return paths, fixedPart(from), nil
}

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

// matchParts matches the parts of a path. What does not match after the last ** is
// tried again one part further on, which no earlier ** could do better.
func matchParts(want, path []string) bool {
	w, last, tried := 0, -1, 0 // place in want, the last **, and from where in the path
	for p := 0; p < len(path); {
		matches := false
		if w < len(want) {
			matches, _ = filepath.Match(want[w], path[p])
		}
		switch {
		case w < len(want) && want[w] == "**":
			last, tried = w, p
			w++
		case matches:
			w, p = w+1, p+1
		case last >= 0:
			tried++
			w, p = last+1, tried
		default:
			return false
		}
	}
	return !slices.ContainsFunc(want[w:], func(part string) bool { return part != "**" })
}

// inside says whether no link leads from a path out of the directory that it begins with.
func inside(dir, path string) bool {
	from, err := filepath.EvalSymlinks(dir)
	to, errTo := filepath.EvalSymlinks(path)
	name, errName := filepath.Rel(from, to)
	return err == nil && errTo == nil && errName == nil && filepath.IsLocal(name)
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
