package local

import (
	"sync"

	"golang.org/x/sys/unix"
)

// commands are the running commands of all testbeds of this process. They are
// kept for the process as a whole because so are children: an orphan is handed
// to the process, and must not be taken for a command of another testbed.
var commands registry

type registry struct {
	mu       sync.Mutex
	byPID    map[int]*process
	testbeds int
	serial   int
}

func (r *registry) nextTestbed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.testbeds++
	return r.testbeds
}

func (r *registry) nextSerial() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serial++
	return r.serial
}

func (r *registry) add(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byPID == nil {
		r.byPID = map[int]*process{}
	}
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

// endOrphans kills and reaps the descendants that a command left behind when
// its leader ended. They are our children now, because this process is their
// sub-reaper, also if they left the process group. Each that ends may hand us
// its own children, so it goes on until there are none. It gives what they used.
func endOrphans(p *process) []unix.Rusage {
	var used []unix.Rusage
	for {
		found := 0
		for _, pid := range ownChildren() {
			belongs, abandoned := orphanOf(p, pid)
			if !belongs && !abandoned {
				continue
			}
			var ru unix.Rusage
			_ = unix.Kill(pid, unix.SIGKILL)
			if !reap(pid, &ru) {
				continue
			}
			found++
			if belongs {
				used = append(used, ru)
			}
		}
		if found == 0 {
			return used
		}
	}
}

// orphanOf says whether a child of ours belongs to that command; and if that
// can't be told, whether it is at least an ended orphan of some command.
//
// An ended process no longer shows its environment. It is told by its process
// group: the command's own, or one that neither we nor the process itself lead,
// which is where a process gets that puts itself into the background by forking
// twice. A child that this program started in the ordinary way is in our group
// or leads its own, and is left to whoever waits for it.
func orphanOf(p *process, pid int) (belongs, abandoned bool) {
	if commands.has(pid) {
		return false, false
	}
	if m, ok := readMarker(pid); ok {
		return m == p.marker, false
	}
	stat, err := readStat(pid)
	if err != nil || !stat.gone() {
		return false, false
	}
	if stat.group == p.pid {
		return true, false
	}
	return false, stat.group != unix.Getpgrp() && stat.group != pid && !commands.has(stat.group)
}

// ownChildren lists the children of this process.
func ownChildren() []int {
	self := unix.Getpid()
	children, listed := childrenOf(self)
	if listed {
		return children
	}
	for _, pid := range allProcesses() {
		if s, err := readStat(pid); err == nil && s.parent == self {
			children = append(children, pid)
		}
	}
	return children
}

// reap waits for a child that has been killed.
func reap(pid int, ru *unix.Rusage) bool {
	for {
		got, err := unix.Wait4(pid, nil, 0, ru)
		if err != unix.EINTR {
			return err == nil && got == pid
		}
	}
}
