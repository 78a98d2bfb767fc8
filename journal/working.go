package journal

import (
	"errors"
	"os"
)

// Working reports whether a process works on the run in a directory. The check itself holds a free lock
// for some microseconds. A session that begins at that moment is refused as if another one held the
// lock.
func Working(dir string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	f, err := openFile(root, LockFile, maxLine)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(lock(f), errLocked)
}
