package journal

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// Reasons for which a record cannot be written.
const (
	errNoSpace  = windows.ERROR_DISK_FULL
	errQuota    = windows.ERROR_DISK_QUOTA_EXCEEDED
	errTooLarge = windows.ERROR_FILE_TOO_LARGE
	errReadOnly = windows.ERROR_WRITE_PROTECT
)

// errLocked is the error of lock where another process has the lock.
const errLocked = windows.ERROR_LOCK_VIOLATION

// lock locks an open file, without waiting, until it is closed. Locks of Windows
// keep others from reading what is locked: it is one byte far behind the process
// id that the file holds.
func lock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: math.MaxInt32}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
}

// syncClose closes a directory. Windows syncs none: NTFS keeps a journal of its
// entries.
func syncClose(d *os.File) error { return d.Close() }
