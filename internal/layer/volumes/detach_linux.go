package volumes

import (
	"errors"

	"golang.org/x/sys/unix"
)

// detach unmounts the file system at a directory, in the mount namespace of the calling thread. If a program
// still uses the file system, it is unmounted when no program uses it any more.
func detach(at string) error {
	err := unix.Unmount(at, unix.MNT_DETACH)
	if errors.Is(err, unix.EINVAL) { // nothing is mounted at the directory
		return nil
	}
	return err
}
