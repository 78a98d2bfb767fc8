package local

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"tare/testbed"
	"tare/testbed/process"
)

// guardVariable marks a guard, and the cleaner that it becomes; 1 says that this one alone has been left in a user
// namespace of Tare's.
const guardVariable = "TARE_GUARD"

// guard is a shell that waits for the end of this process.
var guard struct {
	mu      sync.Mutex
	cleaner []string
	shell   *exec.Cmd // nil: none is there yet
	line    *os.File  // the end of a pipe that nobody else holds open
}

// isGuard says whether a process is a guard, or the cleaner that it has become.
func isGuard(pid int) bool {
	variables, _ := process.Environment(pid)
	return slices.ContainsFunc(variables, func(v string) bool { return strings.HasPrefix(v, guardVariable+"=") })
}

// Guard has a cleaner run when this process dies without Dismiss, for example by kill -9: a command that calls Clean and
// CleanTemporary, such as "tare clean". The direct children of this process die with it anyway; the cleaner finds what these have put
// into the background. It is there before the first program of this process: a waiting shell is all that it costs.
func Guard(cleaner ...string) {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	guard.cleaner = cleaner
}

// Trials says whether trials can run on this system: they can.
func Trials() error { return nil }

// raiseGuard starts the guard, if there is to be one and none is there.
func raiseGuard() error {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if guard.shell != nil || guard.cleaner == nil {
		return nil
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	defer func() { _ = reader.Close() }()
	// The pipe closes when the last holder of its other end dies. Nothing is ever
	// written to it, so read fails exactly then.
	cmd := exec.Command("/bin/sh", append([]string{"-c", `read -r line; exec "$@"`, "tare-guard"}, guard.cleaner...)...)
	cmd.Stdin = reader
	alone := "0"
	if ownUserNamespace() {
		alone = "1"
	}
	cmd.Env = append(os.Environ(), guardVariable+"="+alone)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // outlives the terminal
	if err := cmd.Start(); err != nil {
		_ = writer.Close()
		return fmt.Errorf("guard %s: %w", testbed.Quote(guard.cleaner), err)
	}
	commands.Beside(cmd.Process.Pid)
	guard.shell, guard.line = cmd, writer
	return nil
}

// Dismiss ends the guard without a clean-up.
func Dismiss() {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if guard.shell == nil {
		return
	}
	_ = guard.shell.Process.Kill()
	_ = guard.shell.Wait()
	_ = guard.line.Close()
	guard.shell = nil
}
