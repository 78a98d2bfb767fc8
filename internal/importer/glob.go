package importer

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/run/journal"
)

// expand returns the paths that an argument stands for, in natural order. For a pattern, fixed is the directory
// before its first special character; otherwise it is "".
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

// glob lists the paths that match a pattern. It works like filepath.Glob, and ** stands for any number of
// directories, also none. ** follows no links and passes over hidden directories and run directories.
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
			return nil // a directory that cannot be listed matches nothing
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

// matchParts reports whether the parts of a path match. If the parts after the last ** do not match, it tries
// them again one part further on. An earlier ** could not find a better match.
func matchParts(want, path []string) bool {
	w, last, tried := 0, -1, 0 // w is the index in want, last the index of the last **, and tried the index in path that it was tried from
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

// inside reports whether all links of a path stay within the directory that it begins with.
func inside(dir, path string) bool {
	from, err := filepath.EvalSymlinks(dir)
	to, errTo := filepath.EvalSymlinks(path)
	name, errName := filepath.Rel(from, to)
	return err == nil && errTo == nil && errName == nil && filepath.IsLocal(name)
}

// fixedPart returns the directory before the first special character of a pattern.
func fixedPart(pattern string) string {
	at := strings.IndexAny(pattern, `*?[`)
	if at < 0 {
		return filepath.Dir(pattern)
	}
	dir, _ := filepath.Split(pattern[:at])
	return filepath.Clean(dir)
}
