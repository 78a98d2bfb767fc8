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

	"tare/internal/run/machine/proc"
)

// ErrClosed is the error that Start returns once the keeper is closed.
var ErrClosed = errors.New("no more programs are started: everything is ending")

// Keeper starts and ends all programs of this process. A process must have only one, since another could take its
// orphans. Exported fields must be set before the first Start.
type Keeper struct {
	// First is set if this process is the first of its PID namespace. This process is then the parent of all orphans in
	// the namespace.
	First       bool
	Scopes      *Scopes // maker of a cgroup for each program; nil if cgroups cannot be made
	OutputLimit int64   // limit in bytes; 0: the constant OutputLimit applies

	mu         sync.Mutex
	closed     bool
	firstStart uint64           // start of the first program, in ticks since boot
	beside     map[int]bool     // ids of this process's children that belong to no program
	running    map[int]*Program // programs by the process id of their leader, until the leader is reaped
}

// Spec describes a program to start.
type Spec struct {
	Path   string
	Args   []string
	Env    []string // the complete environment, including Mark
	Dir    string
	Stdin  io.Reader
	Stdout io.Writer // standard output; limited to OutputLimit, unless it is a file
	Stderr io.Writer
	Files  []*os.File // files that the program gets as descriptors 3, 4 and so on
	Name   string     // name of the program's cgroup, unique on the machine
	Within *Group     // group that contains the program's cgroup; nil: the cgroup of this process contains it
	Mark   []string   // variables of Env that no other program has; descendants inherit them
	Helper bool       // set if the program leaves no processes behind
	By     any        // owner of the program, see Running
	// Attributes are the process attributes. They must make the program the leader of a process group.
	Attributes *syscall.SysProcAttr
	// Fork calls start, which starts the program. Fork chooses the time and the thread for this. If Fork is nil, the
	// program starts at once.
	Fork func(start func() error) error
}

// Start starts a program. The program is killed when the context is done.
func (k *Keeper) Start(ctx context.Context, o Spec) (*Program, error) {
	p := &Program{keeper: k, spec: o, done: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path: o.Path, Args: o.Args, Env: o.Env, Dir: o.Dir, Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr,
		WaitDelay: OutputDelay, SysProcAttr: o.Attributes, ExtraFiles: o.Files,
	}
	if _, isFile := o.Stdout.(*os.File); !isFile && o.Stdout != nil {
		p.cmd.Stdout = &limitedWriter{name: "stdout", to: o.Stdout, of: p}
	}
	if _, isFile := o.Stderr.(*os.File); !isFile {
		p.tail = &Tail{To: o.Stderr}
		p.cmd.Stderr = p.tail
		if o.Stderr != nil {
			p.cmd.Stderr = &limitedWriter{name: "stderr", to: p.tail, of: p}
		}
	}
	// If the input is not a file, a goroutine copies it. Waiting for the program then never waits for the input.
	var feed io.WriteCloser
	if _, isFile := o.Stdin.(*os.File); !isFile && o.Stdin != nil {
		var err error
		p.cmd.Stdin = nil
		if feed, err = p.cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	if o.Fork == nil {
		o.Fork = func(start func() error) error { return start() }
	}
	if k.Scopes != nil {
		var err error
		if p.scope, err = k.Scopes.Group(o.Within, o.Name); err != nil {
			return nil, fmt.Errorf("make its cgroup: %w", err)
		}
		attributes := *o.Attributes
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(p.scope.dir.Fd())
		p.cmd.SysProcAttr = &attributes
	}
	if err := o.Fork(p.fork); err != nil {
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
			_, _ = io.Copy(feed, o.Stdin) // the copy ends with EPIPE when the program ends
			_ = feed.Close()
		}()
	}
	go p.follow(ctx)
	return p, nil
}

// Beside registers a child of this process that belongs to no program. The child must have its own process group.
func (k *Keeper) Beside(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.beside == nil {
		k.beside = map[int]bool{}
	}
	k.beside[pid] = true
}

// Running lists the running programs of an owner. With by = nil, it lists the running programs of all owners.
func (k *Keeper) Running(by any) []*Program {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []*Program
	for _, p := range k.running {
		if by == nil || p.spec.By == by {
			all = append(all, p)
		}
	}
	return all
}

// Close prevents further programs from being started.
func (k *Keeper) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
}

// Reap reaps (waits for) the programs' orphans until ctx is done. If First is set, it reaps all orphans, whoever
// started them.
func (k *Keeper) Reap(ctx context.Context) {
	ended := make(chan os.Signal, 1) // room for one signal is enough, since each pass finds all ended processes
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

// ownerOf returns the running program to which a dead process belonged; nil if unknown.
func (k *Keeper) ownerOf(pid int, dead proc.Stat) *Program {
	for _, p := range k.running {
		if p.processes[pid] || k.First && p.onlyProgram() || p.scope != nil && p.scope.has(pid) {
			return p
		}
	}
	if p := k.running[dead.Session]; p != nil {
		return p
	}
	return k.running[dead.PGRP]
}

// reap takes a dead child from the kernel. If owner is not nil, the child's usage counts for owner. The result is true
// if the child is gone.
func reap(pid int, owner *Program) bool {
	var used unix.Rusage
	for {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, &used)
		if err == unix.EINTR {
			continue
		}
		if err != nil || got != pid {
			return err == unix.ECHILD
		}
		if owner != nil {
			owner.orphans = append(owner.orphans, used)
		}
		return true
	}
}
