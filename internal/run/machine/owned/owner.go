// Package owned names temporary directories, files and cgroups after this process, and marks the programs that it
// starts. So leftovers of a killed process can be recognised, and nothing else is removed. No other package of Tare
// removes directory trees.
package owned

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// Owner identifies a process until the next boot. A process id alone may be reused, or belong to another namespace.
type Owner struct {
	pid       int
	start     uint64 // start time in ticks since boot; 0 if the system has none
	namespace uint64 // inode of the process id namespace; 0 if the system has none
}

func (o Owner) String() string { return fmt.Sprintf("%d-%d-%d", o.pid, o.start, o.namespace) }

// Parse parses the result of String.
func Parse(text string) (o Owner, err error) {
	_, err = fmt.Sscanf(text, "%d-%d-%d", &o.pid, &o.start, &o.namespace)
	if err != nil || o.pid <= 0 || o.String() != text {
		return Owner{}, fmt.Errorf("%q does not name a process as PID-START-NAMESPACE", text)
	}
	return o, nil
}

// PID is the process id.
func (o Owner) PID() int { return o.pid }

// Orphaned reports whether the owner is surely dead. An owner in another process id namespace counts as alive, unless
// self sees all namespaces and that namespace is empty.
func (o Owner) Orphaned(self Owner) bool {
	if o.namespace != self.namespace {
		return self.namespace == initial && isEmpty(o.namespace)
	}
	return !o.alive()
}

// Name returns the beginning of the names that an owner's files, directories or cgroups of one kind have:
// tare-KIND-OWNER-.
func (o Owner) Name(kind string) string { return "tare-" + kind + "-" + o.String() + "-" }

var named = regexp.MustCompile(`^tare-([a-z]+)-([0-9]+-[0-9]+-[0-9]+)-.+$`)

// Of parses a name made with Name. It returns the owner and the kind.
func Of(name string) (o Owner, kind string, ok bool) {
	m := named.FindStringSubmatch(name)
	if m == nil {
		return o, "", false
	}
	o, err := Parse(m[2])
	return o, m[1], err == nil
}

// Dir makes a directory in the directory parent; "": in TMPDIR. The name begins with the kind and the owner, which is
// this process.
func Dir(parent, kind string) (string, error) {
	self, err := This()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, self.Name(kind)+"*")
}

// File makes a file in the directory parent; "": in TMPDIR. The name begins with the kind and the owner, which is this
// process, and ends with suffix.
func File(parent, kind, suffix string) (*os.File, error) {
	self, err := This()
	if err != nil {
		return nil, err
	}
	return os.CreateTemp(parent, self.Name(kind)+"*"+suffix)
}

// Remove removes a file, or a directory with its content, by its path. See RemoveIn.
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

// Leftovers lists this user's files and directories left by dead processes in TMPDIR, /tmp and the given directories.
func Leftovers(dirs ...string) (left []string, err error) {
	self, err := This()
	if err != nil {
		return nil, err
	}
	for _, dir := range append(slices.Clone(dirs), os.TempDir(), "/tmp") {
		if dir, err = filepath.Abs(dir); err != nil {
			return left, err
		}
		entries, _ := os.ReadDir(dir) // a directory that cannot be read counts as empty
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if o, _, ok := Of(e.Name()); ok && o.Orphaned(self) && belongsToUser(path) {
				left = append(left, path)
			}
		}
	}
	slices.Sort(left)
	return slices.Compact(left), nil
}

// Clean removes all that Leftovers lists, and returns the removed paths. The function before, if not nil, first ends
// all uses of a path, such as device mappings. The error names the paths that remain.
func Clean(dirs []string, before func(path string) error) (removed []string, err error) {
	left, err := Leftovers(dirs...)
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
