//go:build !linux

package owned

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// This names this process.
func This() (Owner, error) { return Owner{pid: os.Getpid()}, nil }

// alive says whether a process of that number runs.
func (o Owner) alive() bool {
	p, err := os.FindProcess(o.pid)
	return err == nil && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// There are no namespaces.
const initial = 0

func ended(uint64) bool { return false }

// mine: temporary directories are a user's own.
func mine(string) bool { return true }

// RemoveIn removes what a directory has under a name, with all that is in it.
func RemoveIn(dir *os.File, name string) error { return os.RemoveAll(filepath.Join(dir.Name(), name)) }
