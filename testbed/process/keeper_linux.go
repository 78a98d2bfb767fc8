package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
)

// ErrClosed is what Start gives once the keeper is closed.
var ErrClosed = errors.New("no more programs are started: everything is ending")

// Keeper keeps the programs of this process. There is one for all of them, since an
// orphan is handed to the process as a whole and must not be taken for another
// program's. Its fields are set before the first Start.
type Keeper struct {
	// First says that this is the first process of a process id namespace in which it alone
	// starts programs: every orphan is a program's.
	First bool
	// Scopes keep each program in a cgroup; nil where none can be made. Then a program's
	// processes are found by their descent, their sessions and groups, and the marks in
	// their environment.
	Scopes *Scopes
	// OutputLimit is in place of the constant of this name; 0: that.
	OutputLimit int64

	mu      sync.Mutex
	closed  bool
	born    uint64           // start of the first program, in ticks since the machine's start
	beside  map[int]bool     // children of this process that no program has started
	running map[int]*Program // by the process ids of the leaders, which are not reaped yet
}

// Order is a program to be started.
type Order struct {
	Path   string // of the file
	Args   []string
	Env    []string // all of it, with Mark
	Dir    string
	Stdin  io.Reader
	Stdout io.Writer // at most OutputLimit, and so is Stderr, unless they are files
	Stderr io.Writer
	Files  []*os.File // descriptors 3 and on
	// Name is that of its cgroup, which no other on the machine has.
	Name string
	// Within is the group that its cgroup is in; nil: this process's own cgroup.
	Within *Group
	// Mark are the variables in Env that no other program has. Descendants inherit them
	// unless they clear theirs.
	Mark []string
	// Helper says that it leaves no processes behind.
	Helper bool
	// By is who has it started: see Running.
	By any
	// Attributes make it the leader of a process group of its own, at least.
	Attributes *syscall.SysProcAttr
	// Fork calls start where and when the program is to be forked; nil: here and now.
	Fork func(start func() error) error
}

// Start starts a program, and kills it when the context is done.
func (k *Keeper) Start(ctx context.Context, o Order) (*Program, error) {
	p := &Program{keeper: k, args: o.Args, mark: o.Mark, by: o.By, helper: o.Helper, done: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path: o.Path, Args: o.Args, Env: o.Env, Dir: o.Dir, Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr,
		WaitDelay: OutputDelay, SysProcAttr: o.Attributes, ExtraFiles: o.Files,
	}
	if _, isFile := o.Stdout.(*os.File); !isFile && o.Stdout != nil {
		p.cmd.Stdout = &bounded{name: "stdout", to: o.Stdout, of: p}
	}
	if _, isFile := o.Stderr.(*os.File); !isFile {
		p.tail = &Tail{To: o.Stderr}
		p.cmd.Stderr = p.tail
		if o.Stderr != nil {
			p.cmd.Stderr = &bounded{name: "stderr", to: p.tail, of: p}
		}
	}
	// Input that is no file is fed through a pipe by a goroutine of its own, so that
	// waiting for the program never waits for its input.
	var feed io.WriteCloser
	if _, isFile := o.Stdin.(*os.File); !isFile && o.Stdin != nil {
		var err error
		p.cmd.Stdin = nil
		if feed, err = p.cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	fork := o.Fork
	if fork == nil {
		fork = func(start func() error) error { return start() }
	}
	if k.Scopes != nil {
		var err error
		if p.scope, err = k.Scopes.open(o.Within, o.Name); err != nil {
			return nil, fmt.Errorf("make its cgroup: %w", err)
		}
		attributes := *o.Attributes
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(p.scope.dir.Fd())
		p.cmd.SysProcAttr = &attributes
	}
	if err := fork(p.fork); err != nil {
		if p.scope != nil {
			_ = p.scope.remove()
		}
		if feed != nil {
			_ = feed.Close()
		}
		return nil, err
	}
	if feed != nil {
		go func() {
			_, _ = io.Copy(feed, o.Stdin) // ends with EPIPE when the program does
			_ = feed.Close()
		}()
	}
	go p.follow(ctx)
	return p, nil
}

// Beside tells of a child of this process, in a group of its own, that is no program's.
func (k *Keeper) Beside(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.beside == nil {
		k.beside = map[int]bool{}
	}
	k.beside[pid] = true
}

// Running lists the programs that run; with by, those that it has had started.
func (k *Keeper) Running(by any) []*Program {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []*Program
	for _, p := range k.running {
		if by == nil || p.by == by {
			all = append(all, p)
		}
	}
	return all
}

// Close lets nothing more be started.
func (k *Keeper) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
}

// Reap reaps orphans of the programs as they end, until the context is done; the first
// process of a namespace reaps all. Nothing happens between ends.
func (k *Keeper) Reap(ctx context.Context) {
	ended := make(chan os.Signal, 1) // one is enough: every pass sees all that have ended
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			k.reapPass()
		}
	}
}

func (k *Keeper) reapPass() {
	k.mu.Lock()
	defer k.mu.Unlock()
	self := os.Getpid()
	for pid, stat := range descendants() {
		if stat.PPID != self || !stat.Dead() || k.running[pid] != nil {
			continue
		}
		if p := k.ownerOf(pid, stat); p != nil || k.First {
			reap(pid, p)
		}
	}
}

// ownerOf gives the running program that a dead process belonged to, or nil where that
// cannot be told any more.
func (k *Keeper) ownerOf(pid int, dead proc.Stat) *Program {
	for _, p := range k.running {
		if p.known[pid] || k.First && p.alone() || p.scope != nil && p.scope.has(pid) {
			return p
		}
	}
	if p := k.running[dead.Session]; p != nil {
		return p
	}
	return k.running[dead.PGRP]
}

// reap reaps a dead child, and accounts for it with its program if that is known. It
// says whether the child is gone. The caller holds the keeper's lock.
func reap(pid int, of *Program) bool {
	var used unix.Rusage
	for {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, &used)
		if err == unix.EINTR {
			continue
		}
		if err != nil || got != pid {
			return err == unix.ECHILD
		}
		if of != nil {
			of.orphans = append(of.orphans, used)
		}
		return true
	}
}
