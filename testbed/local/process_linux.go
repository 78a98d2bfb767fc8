package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
	"tare/testbed"
)

// outputDelay is how long the end of a command's output is waited for once the
// command and all its known descendants are gone.
const outputDelay = 2 * time.Second

// process is a running command: the leader of a process group of its own.
type process struct {
	bed    *Testbed
	args   []string
	marker marker
	cmd    *exec.Cmd
	pid    int
	begun  time.Time
	stderr *tail // the last of its standard error; nil when it goes to a file
	peak   proc.Peak

	mu     sync.Mutex
	exited bool          // the leader has ended; its id may soon be another's
	used   time.Duration // CPU time at its end

	done  chan struct{} // closed when all is gone and the two below are set
	usage testbed.Usage
	err   error
}

// start forks a command on a place's thread.
func (t *Testbed) start(ctx context.Context, place *thread, c testbed.Command) (*process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(c.Args) == 0 {
		return nil, errors.New("start: no command given")
	}
	m := marker{owner: t.owner, bed: t.number, serial: int(commands.serials.Add(1))}
	p := &process{bed: t, args: c.Args, marker: m, done: make(chan struct{})}
	stdin, err := p.prepare(c)
	if err != nil {
		return nil, err
	}
	if err := place.do(p.fork); err != nil {
		if stdin != nil {
			_ = stdin.Close()
		}
		return nil, fmt.Errorf("start %s: %w", testbed.Quote(c.Args), err)
	}
	if stdin != nil {
		go func() {
			_, _ = io.Copy(stdin, c.Stdin) // ends with EPIPE when the command does
			_ = stdin.Close()
		}()
	}
	stop := context.AfterFunc(ctx, func() { p.signal() })
	go func() {
		p.await()
		stop()
		p.finish(ctx)
		close(p.done)
	}()
	return p, nil
}

// prepare makes the exec.Cmd. Standard input other than a file is given back as
// a pipe to be fed, so that waiting for the command never waits for its input.
func (p *process) prepare(c testbed.Command) (stdin io.WriteCloser, err error) {
	env := environment(c.Env, p.marker)
	program, err := lookUp(c.Args[0], c.Dir, env)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: program, Args: c.Args, Env: env, Dir: c.Dir, Stdout: c.Stdout, WaitDelay: outputDelay}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if file, ok := c.Stderr.(*os.File); ok {
		cmd.Stderr = file
	} else {
		p.stderr = &tail{to: c.Stderr}
		cmd.Stderr = p.stderr
	}
	p.cmd = cmd
	switch in := c.Stdin.(type) {
	case nil:
	case *os.File:
		cmd.Stdin = in
	default:
		return cmd.StdinPipe()
	}
	return nil, nil
}

// fork starts the command and notes it, unless the testbed is being closed.
// Both happen under the lock so that Close misses none.
func (p *process) fork() error {
	p.bed.mu.Lock()
	defer p.bed.mu.Unlock()
	if p.bed.closed {
		return errStopped
	}
	p.begun = time.Now()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.pid = p.cmd.Process.Pid
	lookAtMemory(&p.peak, p.pid, 0)
	commands.add(p)
	return nil
}

// await returns when the leader has ended. It is not reaped yet, so its process
// id and group still belong to it.
func (p *process) await() {
	watchMemory(&p.peak, p.pid)
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	p.usage.Wall = time.Since(p.begun)
}

// finish ends what the leader left behind, reaps everything and accounts for it.
func (p *process) finish(ctx context.Context) {
	p.mu.Lock()
	p.exited = true
	used, clockErr := processClock(p.pid)
	p.mu.Unlock()

	_ = unix.Kill(-p.pid, unix.SIGKILL) // its own zombie keeps the group's id from being reused
	orphans := endOrphans(p)
	err := p.cmd.Wait()
	commands.remove(p)

	state := p.cmd.ProcessState
	if state != nil {
		p.account(state, orphans)
	}
	if clockErr != nil {
		used = p.usage.CPU()
	}
	p.mu.Lock()
	p.used = used
	p.mu.Unlock()
	p.err = p.verdict(ctx, state, err)
}

// account adds up what the leader, the descendants it waited for, and the
// orphans used.
func (p *process) account(state *os.ProcessState, orphans []unix.Rusage) {
	p.usage.User, p.usage.System = state.UserTime(), state.SystemTime()
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		p.peak.Ended(ru.Maxrss*1024, proc.OwnPeak())
	}
	for _, ru := range orphans {
		p.usage.User += time.Duration(ru.Utime.Nano())
		p.usage.System += time.Duration(ru.Stime.Nano())
		p.peak.Ended(ru.Maxrss*1024, 0)
	}
	p.usage.MaxRSS = p.peak.Bytes()
}

// verdict says how the command ended.
func (p *process) verdict(ctx context.Context, state *os.ProcessState, waitErr error) error {
	if state == nil {
		return fmt.Errorf("%s: %w", testbed.Quote(p.args), waitErr)
	}
	status, _ := state.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() && ctx.Err() != nil:
		return fmt.Errorf("%s: %w", testbed.Quote(p.args), context.Cause(ctx))
	case status.Signaled():
		return &testbed.ExitError{Args: p.args, Code: -1, Signal: status.Signal().String(), Stderr: p.stderr.String()}
	case status.ExitStatus() != 0:
		return &testbed.ExitError{Args: p.args, Code: status.ExitStatus(), Stderr: p.stderr.String()}
	case errors.Is(waitErr, exec.ErrWaitDelay):
		return fmt.Errorf("%s: it ended, but something that it started still holds its output open", testbed.Quote(p.args))
	case waitErr != nil:
		return fmt.Errorf("%s: %w", testbed.Quote(p.args), waitErr)
	}
	return nil
}

// signal kills the process group unless its leader has ended already: then its
// id may belong to another, and finish is ending the rest anyway.
func (p *process) signal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.exited {
		_ = unix.Kill(-p.pid, unix.SIGKILL)
	}
}

// Wait waits for the end of the command and of all its descendants.
func (p *process) Wait() (testbed.Usage, error) {
	<-p.done
	return p.usage, p.err
}

// Kill ends the command and its descendants and waits until they are gone.
func (p *process) Kill() error {
	p.signal()
	<-p.done
	return nil
}

// CPU is the CPU time of all threads of the command itself, in nanoseconds as
// the scheduler counts it; after its end, what it had used then.
func (p *process) CPU() (time.Duration, error) {
	p.mu.Lock()
	exited := p.exited
	if !exited {
		defer p.mu.Unlock()
		return processClock(p.pid)
	}
	p.mu.Unlock()
	<-p.done
	return p.used, nil
}
