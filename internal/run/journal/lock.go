package journal

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// LockedError reports that another process is writing the run directory.
type LockedError struct {
	Dir string
	PID int // 0 if unknown
}

// Error names the process that holds the lock.
func (e *LockedError) Error() string {
	by := "another process"
	if e.PID > 0 {
		by = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("run %s is being written by %s: wait for it to end, or stop it", e.Dir, by)
}

func lockDir(dir string) (*os.Root, *os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	lock, err := takeLock(root, dir)
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, lock, nil
}

// takeLock takes the exclusive lock of a run directory. The system releases it when this process ends, even if programs
// that Tare started go on.
func takeLock(root *os.Root, dir string) (*os.File, error) {
	f, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o666)
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
	// The process id in the lock file is only for the error message of another process. Even without it, for example on
	// a full disk, the lock is valid.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

func holder(f *os.File) int {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	return pid
}

// Working reports whether a process works on the run in a directory. It tries the lock for microseconds: a session that
// begins then is refused.
func Working(dir string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	f, err := openFile(root, lockFile, maxLine)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(lock(f), errLocked)
}
