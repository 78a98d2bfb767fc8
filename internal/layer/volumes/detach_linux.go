package volumes

import (
	"errors"

	"golang.org/x/sys/unix"
)

// detach unmounts the file system at a directory, in the calling thread's mount namespace. A file system in use is
// unmounted when its last use ends.
func detach(at string) error {
	err := unix.Unmount(at, unix.MNT_DETACH)
	if errors.Is(err, unix.EINVAL) { // nothing is mounted at the directory
		return nil
	}
	return err
}
