package process

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/run/machine/proc"
	"tare/internal/text/safetext"
)

// family holds the processes of one program at one moment, including the leader.
//
// A process belongs to the program of its cgroup or, without cgroups, of its session, group, parent, or the mark in its
// environment. If just one program runs, any other child of this process belongs to it. A dead process belongs to the
// program that an earlier reading has found.
type family struct {
	all       map[int]proc.Stat // all descendants of this process
	of        map[int]bool
	abandoned []int         // dead children of this process whose program is unknown
	unsettled time.Duration // an environment may be empty for up to this time only because of an exec or an exit
}

func descendants() map[int]proc.Stat {
	level, listed := proc.Children("/", os.Getpid())
	if !listed {
		return proc.All(proc.Below("/"))
	}
	all := map[int]proc.Stat{}
	for len(level) > 0 {
		var next []int
		for _, pid := range level {
			if stat, err := proc.Read(pid); err == nil {
				all[pid] = stat
				children, _ := proc.Children("/", pid)
				next = append(next, children...)
			}
		}
		level = next
	}
	return all
}

func (p *Program) family() family {
	f := family{all: descendants(), of: map[int]bool{}}
	running := p.keeper.running
	alone := p.onlyProgram()
	self, group := os.Getpid(), unix.Getpgrp()
	if p.scope != nil {
		for _, pid := range p.scope.Processes() {
			f.of[pid] = true
		}
	}
	for pid, s := range f.all {
		if pid == self || running[pid] != nil && pid != p.pid {
			continue
		}
		switch {
		case f.of[pid]:
		case pid == p.pid, s.Session == p.pid, s.PGRP == p.pid:
			f.of[pid] = true
		case s.PPID != self:
		case alone && (p.keeper.First || p.keeper.mayBeOurs(s)) || p.processes[pid] || p.scope != nil && s.Dead() && p.scope.has(pid):
			f.of[pid] = true
		case s.Dead():
			// A dead child in this process's group, or in a group of its own, may belong to no program. Other code
			// reaps such a child.
			if s.PGRP != group && s.PGRP != pid && running[s.PGRP] == nil {
				f.abandoned = append(f.abandoned, pid)
			}
		default:
			env, unsettled := Environment(pid)
			f.of[pid] = !slices.ContainsFunc(p.spec.Mark, func(v string) bool { return !slices.Contains(env, v) })
			f.unsettled = max(f.unsettled, unsettled)
		}
	}
	for grown := true; grown; { // add all descendants of the processes that are known to be the program's
		grown = false
		for pid, s := range f.all {
			if !f.of[pid] && f.of[s.PPID] && running[pid] == nil {
				f.of[pid], grown = true, true
			}
		}
	}
	p.processes = f.of
	return f
}

// onlyProgram reports whether p is the only running program apart from helpers. Every orphan then comes from p. The
// caller must hold the keeper's lock.
func (p *Program) onlyProgram() bool {
	for _, other := range p.keeper.running {
		if other != p && !other.spec.Helper {
			return false
		}
	}
	return true
}

// mayBeOurs reports whether an orphan may come from a program, and not from this process itself. The caller holds k.mu.
func (k *Keeper) mayBeOurs(s proc.Stat) bool {
	return s.PGRP != unix.Getpgrp() && s.Starttime >= k.firstStart && !k.beside[s.PID]
}

// An exec hides the variables of a process for a short time. After these limits, an environment that looks empty counts
// as really empty.
const (
	execLimit      = 2 * time.Second       // limit for a process without arguments: it may be in an exec, or it may be ending
	variablesLimit = 50 * time.Millisecond // limit for a process with arguments, whose variables must appear soon
)

// Environment reads the variables of a process. If it finds no variables, an exec may still hide them, for up to
// unsettled.
func Environment(pid int) (variables []string, unsettled time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(text) > 0 {
		return strings.Split(string(text), "\x00"), 0
	}
	stat, err := proc.Read(pid)
	if err != nil || stat.Dead() || stat.Kernel() {
		return nil, 0
	}
	if arguments, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); len(arguments) > 0 {
		return nil, variablesLimit
	}
	return nil, execLimit
}

// awaitLeftovers waits until the leader's descendants have ended, but no longer than leftGrace. It returns the names of
// the descendants that still run.
func (p *Program) awaitLeftovers() (names []string) {
	for begun, pause := time.Now(), time.Millisecond; ; pause *= 2 {
		p.keeper.mu.Lock()
		f := p.family()
		p.keeper.mu.Unlock()
		names = nil
		for pid, s := range f.all {
			if f.of[pid] && pid != p.pid && !s.Gone() {
				names = append(names, name(pid, s))
			}
		}
		left := leftGrace - time.Since(begun)
		if len(names) == 0 || left <= 0 {
			slices.Sort(names)
			return names
		}
		time.Sleep(min(pause, left))
	}
}

func name(pid int, s proc.Stat) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Fields(safetext.Head(strings.ReplaceAll(string(text), "\x00", " "), 200))
	if len(words) == 0 {
		return "[" + s.Comm + "]"
	}
	return strings.Join(words, " ")
}

// endFamily kills and reaps the processes that a leader has left. It ends after two searches that find none, since
// killed processes pass on children.
func (p *Program) endFamily() error {
	quiet := 0
	for begun := time.Now(); ; {
		p.keeper.mu.Lock()
		living, reaped, unsettled := p.endPass()
		p.keeper.mu.Unlock()
		since := time.Since(begun)
		switch {
		case living == 0 && since > EndLimit:
			return nil
		case since > EndLimit:
			return fmt.Errorf("it ended, but process %d that it left behind could not be ended in %v", living, EndLimit)
		case living == 0 && !reaped && since >= unsettled:
			if quiet++; quiet == 2 {
				return nil
			}
			continue
		}
		quiet = 0
		time.Sleep(time.Millisecond)
	}
}

// endPass kills and reaps the leader's descendants once. If one still exists, living is its process id, and otherwise
// 0.
func (p *Program) endPass() (living int, reaped bool, unsettled time.Duration) {
	f := p.family()
	self := os.Getpid()
	for pid, s := range f.all {
		switch {
		case !f.of[pid] || pid == p.pid:
		case !s.Dead():
			_ = unix.Kill(pid, unix.SIGKILL)
			living = pid
		case s.PPID != self || !reap(pid, p):
			living = pid
		default:
			reaped = true
		}
	}
	for _, pid := range f.abandoned {
		reaped = reap(pid, nil) || reaped
	}
	return living, reaped, f.unsettled
}
