package journal

import (
	"errors"
	"os"
)

// Working reports whether a process works on the run in a directory. To find out, it takes the lock of
// an unused run for some microseconds. A session that begins at that moment is refused as if another
// process worked on the run.
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
