package journal

import (
	"errors"
	"os"
)

// Working says whether a process works on the run in a directory. Who asks holds the lock of
// a run that nobody works on for some microseconds: a session that begins just then is
// refused as if another one worked on it.
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
