package local

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// UserNamespaceVariable is set in a Tare that has entered a user namespace.
const UserNamespaceVariable = "TARE_USER_NAMESPACE"

// explain adds what the user can do about an error of setting up a network.
func explain(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%w: this takes root or a user namespace (see tare doctor)", err)
	}
	return err
}

// NeedsUserNamespace says that this process lacks the rights to set up a
// network, which it would have inside a user namespace of its own.
func NeedsUserNamespace() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return true
	}
	const needed = 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_SYS_ADMIN
	return data[0].Effective&needed != needed
}
