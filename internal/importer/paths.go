package importer

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare/internal/run/journal"
)

// expand returns the paths for a user's path or pattern, in natural order. fixed is a pattern's directory before any
// special character; "" for a path.
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

// glob lists the paths that match a pattern, in which ** is any number of directories. With **, links, hidden and run
// directories are skipped.
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

// matchParts reports whether a pattern matches a path, both split at slashes. A ** stands for any number of parts. Only
// the last ** is tried again.
func matchParts(want, path []string) bool {
	w, last, tried := 0, -1, 0 // w: next part of want; last: last ** in want; tried: where its rest was tried
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

// inside reports whether a path stays within the directory dir after all links are followed.
func inside(dir, path string) bool {
	from, err := filepath.EvalSymlinks(dir)
	to, errTo := filepath.EvalSymlinks(path)
	name, errName := filepath.Rel(from, to)
	return err == nil && errTo == nil && errName == nil && filepath.IsLocal(name)
}

// fixedPart returns the directory that a pattern begins with, before its first special character.
func fixedPart(pattern string) string {
	at := strings.IndexAny(pattern, `*?[`)
	if at < 0 {
		return filepath.Dir(pattern)
	}
	dir, _ := filepath.Split(pattern[:at])
	return filepath.Clean(dir)
}

// byDirectory makes each directory an arm if the user named several without an arm. remark lists the arms. Files or
// named arms beside the directories are an error.
func byDirectory(sources []Source) (arms []Source, remark string, err error) {
	var unnamed []string
	for _, s := range sources {
		if s.Arm == "" {
			unnamed = append(unnamed, s.From...)
		} else {
			arms = append(arms, s)
		}
	}
	dirs, other := directories(unnamed)
	switch {
	case len(dirs) < 2:
		return sources, "", nil
	case other != "" || len(arms) > 0:
		return nil, "", misuse("as in --arm "+filepath.Base(dirs[0])+"="+dirs[0]+", or --arm NAME where all are of one arm",
			"which arm is %s, and which is %s?", dirs[0], cmp.Or(other, dirs[1]))
	}
	var names []string
	for _, dir := range dirs {
		full, err := filepath.Abs(dir) // the directory "." gets the name of its full path
		if err != nil {
			return nil, "", err
		}
		name := filepath.Base(full)
		if at := slices.Index(names, name); at >= 0 {
			return nil, "", misuse("as in --arm NAME="+dir+", or --arm NAME where both are of one arm",
				"two directories are called %s, %s and %s: which arms are they?", name, dirs[at], dir)
		}
		names = append(names, name)
		arms = append(arms, Source{Arm: name, From: []string{dir}})
	}
	return arms, fmt.Sprintf("each directory is an arm: %s; the baseline is %s (--arm NAME makes them one arm)", strings.Join(names, ", "), names[0]), nil
}

// directories returns the directories that the user named, directly or by a pattern. other is the first path that is no
// directory, or "".
func directories(from []string) (dirs []string, other string) {
	for _, at := range from {
		paths, fixed, err := expand(at)
		if err != nil {
			paths = []string{at}
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.IsDir() && (fixed == "" || inside(fixed, path)) {
				dirs = append(dirs, filepath.Clean(path))
			} else if other == "" {
				other = path
			}
		}
	}
	return dirs, other
}

var digits = regexp.MustCompile(`[0-9]+`)

// natural compares names by the numbers in them: run-9 comes before run-10. Names that differ only in leading
// zeros are compared byte by byte.
func natural(a, b string) int {
	return cmp.Or(strings.Compare(numbered(a), numbered(b)), strings.Compare(a, b))
}

// numbered puts the count of its digits before each number in a name: a7 becomes a00017. Sorted by these texts, a7
// comes before a10.
func numbered(name string) string {
	return digits.ReplaceAllStringFunc(name, func(number string) string {
		number = strings.TrimLeft(number, "0")
		return fmt.Sprintf("%04d%s", len(number), number)
	})
}
