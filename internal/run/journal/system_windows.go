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

// lock locks a file until it is closed, without waiting. It locks one byte far behind the process id: Windows forbids
// reading locked bytes.
func lock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: math.MaxInt32}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
}

// syncClose closes a directory. Windows cannot sync a directory, but NTFS itself keeps a journal of its entries.
func syncClose(d *os.File) error { return d.Close() }
