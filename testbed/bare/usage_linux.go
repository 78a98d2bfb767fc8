package bare

import (
	"os"
	"syscall"

	"tare/testbed"
)

// tied ends a program with the process that starts it.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// account adds what a program that has ended used.
func account(usage *testbed.Usage, ended *os.ProcessState) {
	usage.User, usage.System = ended.UserTime(), ended.SystemTime()
	if r, ok := ended.SysUsage().(*syscall.Rusage); ok {
		usage.MaxRSS = r.Maxrss << 10
	}
}
