package agent

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
)

// markVariable is in the environment of every program, and names it. Descendants
// inherit it unless they clear it.
const markVariable = "TARE_PROGRAM"

// kin are the processes of one program at a moment, the leader included.
//
// A process belongs to a program by its session or group, by being a child of one
// that does, or by the mark in its environment, which is what is left of one that
// has put itself into the background. A dead one shows no mark any more, but may
// have been known before. Where the agent is the first process of a
// pod and no other program runs, everything that is nobody's is this program's.
type kin struct {
	all       map[int]proc.Stat // of the pod
	of        map[int]bool
	undecided bool // some process is in the middle of an exec and shows no mark
}

// family finds a program's processes. The caller holds server.processes.
func (p *program) family() kin {
	k := kin{all: proc.All(proc.Below("/")), of: map[int]bool{}}
	alone := p.server.first() && len(p.server.running) <= 1
	self := os.Getpid()
	for pid, s := range k.all {
		if pid == self || p.server.running[pid] != nil && pid != p.pid {
			continue
		}
		switch {
		case pid == p.pid, s.Session == p.pid, s.PGRP == p.pid:
			k.of[pid] = true
		case s.PPID == self && (alone || p.known[pid]):
			k.of[pid] = true
		case s.PPID == self && !s.Dead():
			mark, known := readMark(pid)
			k.of[pid] = mark == p.mark
			k.undecided = k.undecided || !known
		}
	}
	for grown := true; grown; { // children of children
		grown = false
		for pid, s := range k.all {
			if !k.of[pid] && k.of[s.PPID] && p.server.running[pid] == nil {
				k.of[pid], grown = true, true
			}
		}
	}
	p.known = k.of
	return k
}

// readMark reads the mark of a running process. It is not known for one that is
// in the middle of an exec, when it has no environment.
func readMark(pid int) (mark string, known bool) {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return "", true // not ours to read, or it has ended
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, []byte(markVariable+"=")); ok {
			return string(value), true
		}
	}
	return "", len(env) > 0
}

// endFamily kills and reaps what a leader that has ended left behind. Each that
// ends hands its children to the agent, so it goes on until nobody is left.
func (p *program) endFamily() error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		p.server.processes.Lock()
		living, undecided := p.endOnce()
		p.server.processes.Unlock()
		since := time.Since(begun)
		switch {
		case living == 0 && (!undecided || since > time.Second):
			return nil
		case since > endLimit:
			return fmt.Errorf("it ended, but process %d that it left behind could not be ended in %v", living, endLimit)
		}
	}
}

// endOnce does one pass, and gives one process that is still there, or 0.
func (p *program) endOnce() (living int, undecided bool) {
	k := p.family()
	self := os.Getpid()
	for pid := range k.of {
		if !k.of[pid] || pid == p.pid {
			continue
		}
		if s := k.all[pid]; !s.Dead() {
			_ = unix.Kill(pid, unix.SIGKILL)
			living = pid
		} else if s.PPID == self && !p.server.reapOrphan(pid, p) {
			living = pid
		}
	}
	return living, k.undecided
}

// cpu is the CPU time that the program has used so far: that of the living, of
// those they have waited for, and of the orphans that the agent has reaped.
func (p *program) cpu() time.Duration {
	p.server.processes.Lock()
	defer p.server.processes.Unlock()
	k := p.family()
	var used time.Duration
	for pid, is := range k.of {
		if is {
			used += k.all[pid].Clock() + k.all[pid].Reaped()
		}
	}
	for _, o := range p.orphans {
		used += time.Duration(o.Utime.Nano() + o.Stime.Nano())
	}
	return used
}
