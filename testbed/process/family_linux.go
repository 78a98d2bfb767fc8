package process

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
	"tare/safetext"
)

// family are the processes of one program at a moment, the leader included.
//
// A process belongs to a program by its cgroup, where it has one; by its
// session or group, by being a child of one that does, or by the mark in its environment,
// which is what is left of one that has put itself into the background. What has left all of these
// is a child of this process, and belongs to the last program that runs. A dead one shows
// no mark any more, but may have been known before.
type family struct {
	all       map[int]proc.Stat // of this process
	of        map[int]bool
	abandoned []int // dead children of this process that descended from one of its programs
	// unsettled is how long it takes until a process shows its mark that is in the middle
	// of an exec, or is a zombie that is about to end; 0: there is none.
	unsettled time.Duration
}

// descendants reads the state of all descendants of this process. Those of programs are
// among them, since their orphans come to this process.
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

// family finds a program's processes. The caller holds the keeper's lock.
func (p *Program) family() family {
	f := family{all: descendants(), of: map[int]bool{}}
	running := p.keeper.running
	alone := p.alone()
	self, group := os.Getpid(), unix.Getpgrp()
	if p.scope != nil {
		for _, pid := range p.scope.processes() {
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
		case alone && (p.keeper.First || p.keeper.mayHaveLeft(s)) || p.known[pid] || p.scope != nil && s.Dead() && p.scope.has(pid):
			f.of[pid] = true
		case s.Dead():
			// What this program starts in the ordinary way is in its group or leads its own,
			// and is left to whoever waits for it.
			if s.PGRP != group && s.PGRP != pid && running[s.PGRP] == nil {
				f.abandoned = append(f.abandoned, pid)
			}
		default:
			env, unsettled := Environment(pid)
			f.of[pid] = !slices.ContainsFunc(p.mark, func(v string) bool { return !slices.Contains(env, v) })
			f.unsettled = max(f.unsettled, unsettled)
		}
	}
	for grown := true; grown; { // children of children
		grown = false
		for pid, s := range f.all {
			if !f.of[pid] && f.of[s.PPID] && running[pid] == nil {
				f.of[pid], grown = true, true
			}
		}
	}
	p.known = f.of
	return f
}

// alone says whether no other program runs that may start processes. Then an orphan that
// is nobody's is this program's. The caller holds the keeper's lock.
func (p *Program) alone() bool {
	for _, other := range p.keeper.running {
		if other != p && !other.helper {
			return false
		}
	}
	return true
}

// mayHaveLeft says whether an orphan may be a program's: this process has not started
// it itself, which it does in its own group or tells by Beside. A program may have left it that has ended
// while others ran. The caller holds the keeper's lock.
func (k *Keeper) mayHaveLeft(s proc.Stat) bool {
	return s.PGRP != unix.Getpgrp() && s.Starttime >= k.born && !k.beside[s.PID]
}

// How long a process may have neither arguments nor variables before that is taken for
// what it is, and not for the middle of an exec or of an exit; and how long it may have
// arguments but no variables, which are set a moment later.
const (
	execLimit      = 2 * time.Second
	variablesLimit = 50 * time.Millisecond
)

// Environment reads the variables of a process. While a process executes a new program
// there is a moment in which it has none, which on a busy machine may last: unsettled is
// how long it may be until an empty environment is the truth.
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

// outlasting waits until what a leader that has ended has started is gone as well, and
// after LeftGrace names what is still there.
func (p *Program) outlasting() (names []string) {
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
		left := LeftGrace - time.Since(begun)
		if len(names) == 0 || left <= 0 {
			slices.Sort(names)
			return names
		}
		time.Sleep(min(pause, left))
	}
}

// name is the command line of a process, or its beginning.
func name(pid int, s proc.Stat) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Fields(safetext.Head(strings.ReplaceAll(string(text), "\x00", " "), 200))
	if len(words) == 0 {
		return "[" + s.Comm + "]"
	}
	return strings.Join(words, " ")
}

// endFamily kills and reaps what a leader that has ended left behind. Each that ends hands
// its children to this process, so it goes on until nothing was found twice.
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

// endPass does one pass. It gives one process that is still there, or 0, and says whether
// any was reaped.
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
