package machine

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"tare/internal/run/machine/proc"
)

// process is a process that does not belong to Tare, at one moment.
type process struct {
	name   string // command name (comm)
	start  uint64 // start time, which makes the process id unique
	parent int
	used   time.Duration // CPU time, including children that the process has waited for
}

// others returns all visible processes except kernel threads and the tree below self.
func others(all map[int]proc.Stat, self int) map[int]process {
	list := make(map[int]process, len(all))
	for pid, p := range all {
		if !p.Kernel() && !inTree(all, pid, self) {
			list[pid] = process{p.Comm, p.Starttime, p.PPID, p.Own() + p.Reaped()}
		}
	}
	return list
}

// inTree reports whether a process is root or a descendant of root.
func inTree(all map[int]proc.Stat, pid, root int) bool {
	for range all { // a process has at most as many ancestors as there are processes
		if pid == root {
			return true
		}
		p, ok := all[pid]
		if !ok {
			return false
		}
		pid = p.PPID
	}
	return false
}

// total is the CPU time of processes. The CPU time of an ended process moves to the parent that waits
// for it. Hence the growth of total between two readings includes ended processes, also those that began
// after the first reading. Only the time of children whose parent does not wait for them is lost.
func total(processes map[int]process) (sum time.Duration) {
	for _, p := range processes {
		sum += p.used
	}
	return sum
}

// byName returns the growth of CPU time between two readings, by the processes' names. CPU time that a
// process had used before the first reading does not count as growth of its parent.
func byName(before, after map[int]process) map[string]time.Duration {
	grown := make(map[int]time.Duration, len(after))
	for pid, p := range after {
		grown[pid] = p.used
	}
	for pid, p := range before {
		grown[survivor(before, after, pid)] -= p.used
	}
	names := map[string]time.Duration{}
	for pid, d := range grown {
		if p, is := after[pid]; is && d > 0 {
			names[p.name] += d
		}
	}
	return names
}

// survivor returns the process that now holds the CPU time which a process had used at the first reading. The
// survivor is the process itself, or its nearest ancestor that still runs.
func survivor(before, after map[int]process, pid int) int {
	for range before { // a process has at most as many ancestors as there are processes
		p, known := before[pid]
		if !known || after[pid].start == p.start {
			break
		}
		pid = p.parent
	}
	return pid
}

// Program is a program that does not belong to Tare. CPU is its CPU time as a share of the machine's capacity.
type Program struct {
	Name string
	CPU  float64
}

const (
	mostPrograms = 3    // maximum number of programs that busiest lists
	leastShare   = 0.01 // minimum share of a listed program
)

func busiest(names map[string]time.Duration, share func(time.Duration) float64) (list []Program) {
	for name, used := range names {
		if p := (Program{name, share(used)}); p.CPU >= leastShare {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Program) int { return cmp.Or(cmp.Compare(b.CPU, a.CPU), strings.Compare(a.Name, b.Name)) })
	return list[:min(len(list), mostPrograms)]
}

// Busiest lists the programs that used most CPU time, except Tare's own: "chromium 31.2%, go 8.0%"; "" if unknown.
func (c Conditions) Busiest() string {
	var names []string
	for _, p := range c.Programs {
		names = append(names, fmt.Sprintf("%s %.1f%%", p.Name, p.CPU*100))
	}
	return strings.Join(names, ", ")
}

func addTimes(a, b map[string]time.Duration) map[string]time.Duration {
	sum := maps.Clone(a)
	for name, used := range b {
		if sum == nil {
			sum = map[string]time.Duration{}
		}
		sum[name] += used
	}
	return sum
}

const kthreadd = 2 // the parent of all other kernel threads

// kernelTimes returns the CPU time of each kernel thread by process id. The map is empty if kernel threads are not
// visible.
//
// Threads for softirqs, such as ksoftirqd/0, are excluded. Their work is part of the machine's softirq time,
// not its system time (account_system_time in the kernel's sched/cputime.c), and would count twice.
func kernelTimes(files procfs.FS, all map[int]proc.Stat) map[int]time.Duration {
	times := map[int]time.Duration{}
	if all[kthreadd].Comm != "kthreadd" {
		return times
	}
	for pid, stat := range all {
		if pid != kthreadd && stat.PPID != kthreadd || strings.HasPrefix(stat.Comm, "ksoftirqd/") {
			continue
		}
		if p, err := files.Proc(pid); err == nil { // an error: the thread has ended
			if used, err := p.Schedstat(); err == nil && used.RunningNanoseconds <= math.MaxInt64 {
				times[pid] = time.Duration(used.RunningNanoseconds)
			}
		}
	}
	return times
}

// threadTime returns the CPU time used by kernel threads between two readings. A new thread counts in
// full. A thread that has ended, or whose process id was reused, does not count.
func threadTime(before, after map[int]time.Duration) time.Duration {
	var sum time.Duration
	for pid, t := range after {
		sum += max(0, t-before[pid])
	}
	return sum
}
