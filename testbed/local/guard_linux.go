package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"tare/testbed"
)

// guard is a shell that waits for the end of this process.
type guard struct {
	shell *exec.Cmd
	line  *os.File // the end of a pipe that nobody else holds open
}

// Guard has a cleaner run when this process dies without Close, for example by
// kill -9: a command that calls Clean, such as "tare clean". The direct children
// of this process die with it anyway; the cleaner finds what these have put into
// the background. Until then a waiting shell is all that it costs.
func (t *Testbed) Guard(cleaner ...string) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	defer func() { _ = reader.Close() }()
	// The pipe closes when the last holder of its other end dies. Nothing is ever
	// written to it, so read fails exactly then.
	cmd := exec.Command("/bin/sh", append([]string{"-c", `read -r line; exec "$@"`, "tare-guard"}, cleaner...)...)
	cmd.Stdin = reader
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // outlives the terminal
	if err := cmd.Start(); err != nil {
		_ = writer.Close()
		return fmt.Errorf("guard %s: %w", testbed.Quote(cleaner), err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.guard != nil {
		(&guard{cmd, writer}).dismiss()
		return errors.New("guard: the testbed is closed or has one already")
	}
	t.guard = &guard{cmd, writer}
	return nil
}

// dismiss ends the guard without a clean-up.
func (g *guard) dismiss() {
	_ = g.shell.Process.Kill()
	_ = g.shell.Wait()
	_ = g.line.Close()
}
