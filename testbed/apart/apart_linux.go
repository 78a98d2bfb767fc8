// Package apart lets tests run apart from the other processes of the machine.
//
// Some tests ask which processes a dead Tare has left behind, and end them. What
// another Tare on the machine leaves, or a test of another package, must not
// answer, and must not be ended by them.
package apart

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// variable says to the test program that it runs apart.
const variable = "TARE_TEST_APART"

// Rerun runs this test program again, with the same arguments, in a process id
// namespace of its own, and gives its exit code. It does not, and says so, where
// the program runs apart already, or where it has not the rights of root to.
func Rerun() (code int, done bool) {
	if os.Geteuid() != 0 || os.Getenv(variable) != "" || exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run() != nil {
		return 0, false
	}
	self, err := os.Executable()
	if err != nil {
		return 0, false
	}
	// The shell is the namespace's first process: it takes over orphans, and lets
	// them go when they end.
	args := append([]string{"--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", `"$@"; exit $?`, "sh", self}, os.Args[1:]...)
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), variable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	runtime.LockOSThread() // the death of the thread that starts it would end it as well
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGQUIT) // the program inside gets them, too
	err = cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		fmt.Fprintln(os.Stderr, "run apart:", err)
		return 1, true
	}
	return cmd.ProcessState.ExitCode(), true
}
