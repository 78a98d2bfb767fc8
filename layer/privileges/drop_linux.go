package privileges

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// drop takes capabilities from this thread, and has nothing that it starts get them again.
func drop(d dropped) error {
	for i := range 64 {
		if d.Capabilities&(1<<i) == 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(i), 0, 0, 0)
		if errors.Is(err, unix.EPERM) && unix.Geteuid() != 0 { // who has none needs no bound
			err = nil
		}
		if err != nil && !errors.Is(err, unix.EINVAL) { // which the kernel does not know
			return fmt.Errorf("drop capability %d from the bounding set: %w", i, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear the ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	for i := range data {
		rest := ^uint32(d.Capabilities >> (32 * i))
		data[i].Effective &= rest
		data[i].Permitted &= rest
		data[i].Inheritable &= rest
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// noNewPrivs sets the flag.
func noNewPrivs(struct{}) error {
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
