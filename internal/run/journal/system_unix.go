//go:build unix

package journal

import (
	"errors"
	"os"
	"syscall"
)

// Errors that prevent a file from being written.
const (
	errNoSpace  = syscall.ENOSPC
	errQuota    = syscall.EDQUOT
	errTooLarge = syscall.EFBIG
	errReadOnly = syscall.EROFS
)

// errLocked is the error of lock if another process holds the lock.
const errLocked = syscall.EWOULDBLOCK

// lock locks an open file, without waiting, until the file is closed.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// syncClose syncs and closes a directory. It ignores the error EINVAL of file systems that cannot sync directories.
func syncClose(d *os.File) error {
	err := d.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
