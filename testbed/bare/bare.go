// Package bare starts programs on this machine with nothing around them: no
// cgroup, no network of their own. Probes and tests make sites of it.
package bare

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"tare/testbed"
	"tare/testbed/launcher"
)

// Start starts a command. On Linux it ends with the process that started it; its
// descendants need not.
func Start(ctx context.Context, cmd testbed.Command) (testbed.Process, error) {
	prepared, err := launcher.Prepare(cmd.Args, append(os.Environ(), cmd.Env...), cmd.Dir, cmd.Files)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	c := exec.CommandContext(ctx, prepared.Args[0], prepared.Args[1:]...)
	c.Env = append(os.Environ(), cmd.Env...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr
	c.SysProcAttr, c.ExtraFiles = tied(), prepared.Files
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: c, started: time.Now()}, nil
}

// process is a program on this machine.
type process struct {
	cmd     *exec.Cmd
	started time.Time
}

// Wait waits for the end.
func (p *process) Wait() (testbed.Usage, error) {
	err := p.cmd.Wait()
	usage := testbed.Usage{Wall: time.Since(p.started)}
	account(&usage, p.cmd.ProcessState)
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && err != nil {
		exit := &testbed.ExitError{Args: p.cmd.Args, Code: status.ExitStatus()}
		if status.Signaled() {
			exit.Signal = status.Signal().String()
		}
		err = exit
	}
	return usage, err
}

// Kill ends the program.
func (p *process) Kill() error { return p.cmd.Process.Kill() }

// CPU is not told.
func (p *process) CPU() (time.Duration, error) {
	return 0, errors.New("the CPU time is not counted while the program runs")
}

// Memory is not told.
func (p *process) Memory() (int64, error) {
	return 0, errors.New("the memory is not counted while the program runs")
}
