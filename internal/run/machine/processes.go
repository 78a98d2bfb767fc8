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
	start  uint64 // start time; a reused process id has another one
	parent int
	used   time.Duration // CPU time, including children that the process has waited for
}

// others returns all visible processes except kernel threads, the process self and its descendants.
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
	for range all { // at most one step per process: more steps would mean that parents form a loop
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

// total returns the CPU time of processes. An ended process's time is in that of the parent that waited for it, and
// lost without such a parent.
func total(processes map[int]process) (sum time.Duration) {
	for _, p := range processes {
		sum += p.used
	}
	return sum
}

// byName returns by how much CPU time grew between two readings, by program name. The time of an ended process counts
// for its parent.
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

// survivor returns the process that holds a process's CPU time at the second reading: itself, or its nearest ancestor
// that still runs.
func survivor(before, after map[int]process, pid int) int {
	for range before { // a chain of parents that is longer than the number of processes would be a loop
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
	mostPrograms = 3    // largest number of programs in Conditions.Programs
	leastShare   = 0.01 // smallest CPU share with which a program is listed
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

// Busiest lists the programs that used most CPU time, except Tare's own, such as "chromium 31.2%, go 8.0%"; "": none is
// known.
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

const kthreadd = 2 // kthreadd, the parent of all other kernel threads

// kernelTimes returns the CPU time of each visible kernel thread by process id. ksoftirqd is left out: its work is
// softirq time (account_system_time).
func kernelTimes(files procfs.FS, all map[int]proc.Stat) map[int]time.Duration {
	times := map[int]time.Duration{}
	if all[kthreadd].Comm != "kthreadd" {
		return times
	}
	for pid, stat := range all {
		if pid != kthreadd && stat.PPID != kthreadd || strings.HasPrefix(stat.Comm, "ksoftirqd/") {
			continue
		}
		if p, err := files.Proc(pid); err == nil { // an error means that the thread has ended
			if used, err := p.Schedstat(); err == nil && used.RunningNanoseconds <= math.MaxInt64 {
				times[pid] = time.Duration(used.RunningNanoseconds)
			}
		}
	}
	return times
}

// threadTime returns the CPU time of kernel threads between two readings. New threads count in full, and ended threads
// do not count.
func threadTime(before, after map[int]time.Duration) time.Duration {
	var sum time.Duration
	for pid, t := range after {
		sum += max(0, t-before[pid])
	}
	return sum
}
