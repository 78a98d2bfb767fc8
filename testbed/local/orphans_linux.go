package local

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"tare/machine/proc"
)

// commands are the running commands of all testbeds of this process. They are
// kept for the process as a whole because so are children: an orphan is handed
// to the process, and must not be taken for a command of another testbed.
var commands = registry{byPID: map[int]*process{}}

type registry struct {
	testbeds, serials atomic.Int64 // the numbers given last

	mu    sync.Mutex
	byPID map[int]*process
}

func (r *registry) add(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byPID[p.pid] = p
}

func (r *registry) remove(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byPID, p.pid)
}

func (r *registry) has(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.byPID[pid]
	return ok
}

// of lists the running commands of one testbed.
func (r *registry) of(t *Testbed) []*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*process
	for _, p := range r.byPID {
		if p.bed == t {
			all = append(all, p)
		}
	}
	return all
}

// endLimit is how long a process may take from the beginning of its exit to its
// end before it is no longer waited for.
const endLimit = 2 * time.Second

// endOrphans kills and reaps the descendants that a command left behind when
// its leader ended. They are our children now, because this process is their
// sub-reaper, also if they left the process group. Each that ends hands us its
// own children, so it goes on until nothing changes any more. It gives what
// they used.
func endOrphans(p *process) []unix.Rusage {
	var used []unix.Rusage
	var before []int
	for begun := time.Now(); ; {
		children := ownChildren()
		changing := !slices.Equal(children, before)
		for _, pid := range children {
			switch relation(p, pid) {
			case unrelated:
				continue
			case ending:
				changing = true
				time.Sleep(time.Millisecond)
				continue
			case related:
				var ru unix.Rusage
				if kill(pid, &ru) {
					used = append(used, ru)
				}
			case abandoned:
				kill(pid, &unix.Rusage{})
			}
			changing = true
		}
		if !changing || time.Since(begun) > endLimit {
			return used
		}
		before = children
	}
}

// kin is what a child of ours is to a command.
type kin int

const (
	unrelated kin = iota
	related       // it descends from the command
	abandoned     // it is dead, and descended from one of our commands
	ending        // it is about to be dead: then its children will be ours
)

// relation says whether a child of ours descends from that command.
//
// A dead process no longer shows its environment. It is told by its process
// group: the command's own, or one that neither we nor the process itself lead,
// which is where a process gets that puts itself into the background by forking
// twice. A child that this program started in the ordinary way is in our group
// or leads its own, and is left to whoever waits for it.
func relation(p *process, pid int) kin {
	if commands.has(pid) {
		return unrelated
	}
	if m, ok := readMarker(pid); ok {
		if m == p.marker {
			return related
		}
		return unrelated
	}
	stat, err := proc.Read(pid)
	switch {
	case err != nil || !stat.Gone():
		return unrelated
	case stat.PGRP == p.pid:
		return related
	case !stat.Dead():
		return ending
	case stat.PGRP != unix.Getpgrp() && stat.PGRP != pid && !commands.has(stat.PGRP):
		return abandoned
	}
	return unrelated
}

// ownChildren lists the children of this process.
func ownChildren() []int {
	self := unix.Getpid()
	children, listed := proc.Children("/", self)
	if listed {
		return children
	}
	processes, _ := procfs.AllProcs()
	for _, p := range processes {
		if s, err := p.Stat(); err == nil && s.PPID == self {
			children = append(children, p.PID)
		}
	}
	return children
}

// kill ends and reaps a child.
func kill(pid int, ru *unix.Rusage) bool {
	_ = unix.Kill(pid, unix.SIGKILL)
	for {
		got, err := unix.Wait4(pid, nil, 0, ru)
		if err != unix.EINTR {
			return err == nil && got == pid
		}
	}
}
