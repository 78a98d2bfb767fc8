//go:build unix

package journal

import (
	"errors"
	"os"
	"syscall"
)

// Reasons for which a record cannot be written.
const (
	errNoSpace  = syscall.ENOSPC
	errQuota    = syscall.EDQUOT
	errTooLarge = syscall.EFBIG
	errReadOnly = syscall.EROFS
)

// errLocked is the error of lock where another process has the lock.
const errLocked = syscall.EWOULDBLOCK

// lock locks an open file, without waiting, until it is closed.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// syncClose syncs a directory and closes it. Some file systems cannot sync
// directories and say EINVAL: there is nothing more to be done there.
func syncClose(d *os.File) error {
	err := d.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
