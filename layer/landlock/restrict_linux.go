package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	rights "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// using is what the first rule allows everywhere: all but to make and to remove files.
const using = landlock.AccessFSSet(rights.AccessFSExecute | rights.AccessFSReadFile | rights.AccessFSReadDir |
	rights.AccessFSWriteFile | rights.AccessFSTruncate | rights.AccessFSIoctlDev)

// unused are the files that the rules are for that no program needs. They are on every system.
const unused = "/proc/sys"

// restrict puts up the ruleset.
func restrict(p parameters) error {
	if p.Rules == 0 {
		return nil
	}
	if v, err := rights.LandlockGetABIVersion(); err != nil || v < 1 {
		return fmt.Errorf("this kernel has no Landlock, or does not allow it here: %w", err)
	}
	rules := []landlock.Rule{landlock.PathAccess(using, "/")}
	for _, dir := range p.Writable {
		rules = append(rules, landlock.RWDirs(dir).WithIoctlDev())
	}
	more, err := files(unused, p.Rules-len(rules))
	if err != nil {
		return err
	}
	for _, name := range more {
		rules = append(rules, landlock.PathAccess(rights.AccessFSReadFile, name))
	}
	return landlock.V5.BestEffort().RestrictPaths(rules...) // with all rights of V5 that the kernel has
}

// files lists so many files below a directory.
func files(below string, n int) ([]string, error) {
	var names []string
	err := filepath.WalkDir(below, func(path string, _ fs.DirEntry, err error) error {
		switch {
		case len(names) >= n:
			return fs.SkipAll
		case err == nil:
			names = append(names, path)
		case errors.Is(err, fs.ErrPermission):
			return nil
		}
		return err
	})
	if err == nil && len(names) < max(n, 0) {
		err = fmt.Errorf("there are only %d files below %s", len(names), below)
	}
	return names, err
}
