package importer

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// byDirectory makes one arm of each directory if the user named several and no arm. As one arm they would be a
// single sample, although the user made them to be compared. The remark tells the user about these arms.
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

// directories returns the directories among the named paths, including those of a pattern that matches
// directories only. other is the first path that is no directory.
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
