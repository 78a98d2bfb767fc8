//go:build !linux

package owned

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// This returns the owner for this process.
func This() (Owner, error) { return Owner{pid: os.Getpid()}, nil }

func (o Owner) alive() bool {
	p, err := os.FindProcess(o.pid)
	return err == nil && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// Only Linux has process id namespaces.
const initial = 0

func isEmpty(uint64) bool { return false }

// belongsToUser returns true: on this system, temporary directories belong to one user.
func belongsToUser(string) bool { return true }

// RemoveIn removes a file, or a directory with its content, from dir.
func RemoveIn(dir *os.File, name string) error { return os.RemoveAll(filepath.Join(dir.Name(), name)) }
