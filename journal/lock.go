package journal

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// LockedError is a run directory that another process is writing.
type LockedError struct {
	Dir string
	PID int // 0 if it cannot be told
}

// Error names the process that holds the directory.
func (e *LockedError) Error() string {
	by := "another process"
	if e.PID > 0 {
		by = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("run %s is being written by %s: wait for it to end, or stop it", e.Dir, by)
}

// takeLock takes the exclusive lock of a run directory. It is a lock on an
// open file: the system releases it when this process ends, however it ends, so
// that no stale lock can be left. Programs that Tare starts do not inherit it.
func takeLock(root *os.Root, dir string) (*os.File, error) {
	f, err := root.OpenFile(LockFile, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot lock run %s: %w", dir, err)
	}
	if err := lock(f); err != nil {
		defer f.Close()
		if errors.Is(err, errLocked) {
			return nil, &LockedError{Dir: dir, PID: holder(f)}
		}
		return nil, fmt.Errorf("cannot lock run %s: %w", dir, err)
	}
	// The process id serves the other's error message only. On a full disk it
	// cannot be written, which is no reason to refuse the lock.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

func holder(f *os.File) int {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		return 0
	}
	return pid
}
