package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/run/machine/proc"
	"tare/internal/testbed"
)

// Program is a running testbed.Process: the leader of a process group, and all its descendants.
type Program struct {
	keeper *Keeper
	spec   Spec
	cmd    *exec.Cmd
	tail   *Tail // end of what the program wrote to standard error; nil if a file takes it
	scope  *Group
	pid    int
	begun  time.Time
	peak   proc.Peak

	// The keeper's lock guards the fields from exited to processes.
	exited    bool // set when the leader has ended; its id may be reused soon
	killed    bool // set when this process has killed the program
	spoilt    error
	orphans   []unix.Rusage
	processes map[int]bool // processes that the last reading found

	done chan struct{} // closed when all processes are gone and end is set
	end  end
}

type end struct {
	Usage  testbed.Usage
	CPU    time.Duration // result of Program.CPU when the program has ended
	Code   int           // exit status of the leader; -1 if a signal ended the leader
	Signal string        // name of the signal that ended the leader
	Tail   string        // end of the program's standard error
	Left   error         // error in ending the descendants that the leader left
	Spoilt error         // reason why the program was killed: too much output, or output that could not be kept
	// Lost is the reason why Code and Signal are unknown; nil: they are known. Held is set if a descendant still holds
	// the program's output open.
	Lost error
	Held bool

	output    error // error in reading the program's output
	cancelled error // reason why the context was done before the program ended
}

// fork starts the program and registers its process under the keeper's lock. Otherwise other code could reap the
// process as an orphan.
func (p *Program) fork() error {
	k := p.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return ErrClosed
	}
	p.begun = time.Now()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.pid = p.cmd.Process.Pid
	if stat, err := proc.Read(p.pid); err == nil {
		k.firstStart = cmp.Or(k.firstStart, stat.Starttime)
	}
	if k.running == nil {
		k.running = map[int]*Program{}
	}
	k.running[p.pid] = p
	return nil
}

func (p *Program) look(pid, generation int) {
	p.peak.Look(pid)
	if generation >= generations {
		return
	}
	children, _ := proc.Children("/", pid)
	for _, child := range children {
		p.look(child, generation+1)
	}
}

func (p *Program) follow(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { p.Signal() })
	exited := make(chan struct{})
	go func() {
		// WNOWAIT leaves the leader unreaped, so that its process id and group are not reused.
		for unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		p.end.Usage.Wall = time.Since(p.begun)
		close(exited)
	}()
	looks.Until(exited, func() { p.look(p.pid, 0) })
	stop()
	p.end.cancelled = context.Cause(ctx)
	p.finish()
	close(p.done)
}

func (p *Program) finish() {
	k := p.keeper
	k.mu.Lock()
	used, wasKilled := p.used(), p.killed
	p.exited = true
	k.mu.Unlock()

	if !wasKilled {
		p.end.Usage.Left = p.awaitLeftovers()
	}
	_ = unix.Kill(-p.pid, unix.SIGKILL) // the leader is not reaped yet, and so still holds the group's id
	if p.scope != nil {
		_ = p.scope.kill() // an error is ignored, since endFamily ends the remaining processes one by one
	}
	p.end.Left = p.endFamily()
	err := p.cmd.Wait()
	k.mu.Lock()
	delete(k.running, p.pid)
	p.end.Spoilt = p.spoilt
	k.mu.Unlock()
	var user, system time.Duration
	if p.scope != nil {
		user, system = p.scope.used()
		p.end.Left = cmp.Or(p.end.Left, p.scope.remove())
	}
	p.end.Tail = p.tail.String()
	p.end.Held = errors.Is(err, exec.ErrWaitDelay)
	if p.cmd.ProcessState == nil {
		p.end.Lost = err
		return
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.end.output = err
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		if p.end.Code = status.ExitStatus(); status.Signaled() {
			p.end.Signal = status.Signal().String()
		}
	}
	p.account()
	if missed := user + system - p.end.Usage.CPU(); missed > 0 {
		p.end.Usage.User, p.end.Usage.System = user, system
		unreported.Add(int64(missed))
	}
	p.end.CPU = max(used, p.end.Usage.CPU())
}

func (p *Program) account() {
	u := &p.end.Usage
	u.User, u.System = p.cmd.ProcessState.UserTime(), p.cmd.ProcessState.SystemTime()
	if used, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		p.peak.Ended(used.Maxrss*1024, proc.OwnPeak())
	}
	for _, o := range p.orphans {
		u.User += time.Duration(o.Utime.Nano())
		u.System += time.Duration(o.Stime.Nano())
		p.peak.Ended(o.Maxrss*1024, 0)
	}
	u.MaxRSS = p.peak.Bytes()
}

// Signal kills the program, and reports whether it did. If the leader has ended, Signal does nothing, since another
// process may have its id by now.
func (p *Program) Signal() bool {
	p.keeper.mu.Lock()
	defer p.keeper.mu.Unlock()
	if p.exited {
		return false
	}
	p.killed = true
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	if p.scope != nil {
		_ = p.scope.kill()
	}
	return true
}

func (p *Program) spoil(why error) {
	p.keeper.mu.Lock()
	p.spoilt = cmp.Or(p.spoilt, why)
	p.keeper.mu.Unlock()
	p.Signal()
}

type limitedWriter struct {
	name string // "stdout", "stderr"
	to   io.Writer
	size int64
	of   *Program
}

func (b *limitedWriter) Write(text []byte) (n int, err error) {
	limit := cmp.Or(b.of.keeper.OutputLimit, OutputLimit)
	if b.size += int64(len(text)); b.size > limit {
		err = fmt.Errorf("it was killed because it wrote more than %d bytes to %s", limit, b.name)
	} else if n, err = b.to.Write(text); err != nil {
		err = fmt.Errorf("it was killed because its %s could not be kept: %w", b.name, err)
	}
	if err != nil {
		b.of.spoil(err)
	}
	return n, err
}

// Done returns a channel that is closed when the program and all its descendants are gone.
func (p *Program) Done() <-chan struct{} { return p.done }

// End waits until the program and all its descendants are gone, and returns how they ended.
func (p *Program) End() end {
	<-p.done
	return p.end
}

// Wait waits until the program has ended. It returns an error if the program failed.
func (p *Program) Wait() (testbed.Usage, error) {
	end := p.End()
	why := cmp.Or(end.Spoilt, end.Lost)
	switch {
	case why != nil:
	case end.Signal != "" && end.cancelled != nil:
		why = end.cancelled
	case end.Code != 0:
		return end.Usage, &testbed.ExitError{Args: p.spec.Args, Code: end.Code, Signal: end.Signal, Stderr: end.Tail}
	case end.Held:
		why = errors.New("it ended, but something that it started still holds its output open")
	default:
		why = end.output
	}
	if why != nil {
		why = fmt.Errorf("%s: %w", testbed.Quote(p.spec.Args), why)
	}
	return end.Usage, why
}

// Kill ends the program and its descendants and waits until they are gone.
func (p *Program) Kill() error {
	p.Signal()
	<-p.done
	return nil
}

// CPU returns the CPU time of all processes of the program so far. The scheduler counts this time in nanoseconds.
func (p *Program) CPU() (time.Duration, error) {
	p.keeper.mu.Lock()
	if !p.exited {
		defer p.keeper.mu.Unlock()
		return p.used(), nil
	}
	p.keeper.mu.Unlock()
	return p.End().CPU, nil
}

// Memory returns the present resident memory of all processes of the program, in bytes.
func (p *Program) Memory() (int64, error) {
	return p.sum(func(_ int, stat proc.Stat) (int64, error) { return int64(stat.ResidentMemory()), nil })
}

// Proportional returns the program's present resident memory in bytes. A page shared by several processes is divided
// among them (PSS).
func (p *Program) Proportional() (int64, error) {
	return p.sum(func(pid int, stat proc.Stat) (int64, error) {
		if stat.Gone() {
			return 0, nil
		}
		return proc.Proportional(pid)
	})
}

// sum adds up the memory of all processes of the program. It returns 0 if the leader has ended.
func (p *Program) sum(memory func(pid int, stat proc.Stat) (int64, error)) (total int64, err error) {
	p.keeper.mu.Lock()
	defer p.keeper.mu.Unlock()
	if p.exited {
		return 0, nil
	}
	f := p.family()
	for pid, stat := range f.all {
		if !f.of[pid] {
			continue
		}
		one, err := memory(pid, stat)
		if err != nil {
			return 0, err
		}
		total += one
	}
	return total, nil
}

// Begun returns the time of the program's fork.
func (p *Program) Begun() time.Time { return p.begun }

// used returns the CPU time of all processes of the program. The caller holds keeper.mu, and has not reaped the leader
// yet.
func (p *Program) used() time.Duration {
	var used time.Duration
	f := p.family()
	for pid, stat := range f.all {
		if f.of[pid] {
			used += stat.Clock() + stat.Reaped()
		}
	}
	for _, o := range p.orphans {
		used += time.Duration(o.Utime.Nano() + o.Stime.Nano())
	}
	if p.scope != nil {
		user, system := p.scope.used()
		used = max(used, user+system)
	}
	return used
}
