// Package beside runs a load beside measurements.
package beside

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Start starts a program with its arguments, split at spaces; none where load is empty. The function
// that it gives ends the program and the children that it ends itself, and waits for that.
func Start(ctx context.Context, load string) (stop func(), err error) {
	args := strings.Fields(load)
	if len(args) == 0 {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its own children
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return func() { cancel(); _ = cmd.Wait() }, nil
}

// Named says what runs beside measurements, in Markdown.
func Named(load string) string {
	if load == "" {
		return "nothing that this program started"
	}
	return "`" + load + "`"
}
