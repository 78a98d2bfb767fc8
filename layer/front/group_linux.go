package front

import (
	"os/exec"
	"syscall"
)

// grouped has a command that is cancelled end with all that is in its process group.
func grouped(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
