package journal

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// Errors that prevent a file from being written.
const (
	errNoSpace  = windows.ERROR_DISK_FULL
	errQuota    = windows.ERROR_DISK_QUOTA_EXCEEDED
	errTooLarge = windows.ERROR_FILE_TOO_LARGE
	errReadOnly = windows.ERROR_WRITE_PROTECT
)

// errLocked is the error of lock if another process holds the lock.
const errLocked = windows.ERROR_LOCK_VIOLATION

// lock locks an open file until the file is closed. It does not wait. On Windows, nobody can read locked bytes. lock
// therefore locks a single byte far behind the process id, and the id stays readable.
func lock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: math.MaxInt32}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
}

// syncClose closes a directory. Windows cannot sync a directory, but NTFS itself keeps a journal of its entries.
func syncClose(d *os.File) error { return d.Close() }
