package cli_test

import (
	"os"
	"os/exec"
	"syscall"
)

// canUnshare reports whether network namespaces can be made here, as root or in a user namespace.
func canUnshare() bool {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	return cmd.Run() == nil
}
