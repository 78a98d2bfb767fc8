package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/machine/proc"
)

// process is a process of others at one moment.
type process struct {
	name   string // as it calls itself
	start  uint64 // makes its id unique
	parent int
	used   time.Duration // CPU time, that of the children included that it has waited for
}

// others are all processes but kernel threads and the tree below self, as far as they can be seen
// from here.
func others(all map[int]proc.Stat, self int) map[int]process {
	list := make(map[int]process, len(all))
	for pid, p := range all {
		if !p.Kernel() && !below(all, pid, self) {
			list[pid] = process{p.Comm, p.Starttime, p.PPID, p.Own() + p.Reaped()}
		}
	}
	return list
}

// below says whether a process is root or a descendant of it.
func below(all map[int]proc.Stat, pid, root int) bool {
	for range all { // no longer than a chain can be
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

// total is the CPU time of processes. A process that ends hands its time on to the parent that
// waits for it, so the sum keeps what it has used: between two readings it grows by what
// such processes used, also by those that began and ended in between. Only the time of children that
// their parent does not wait for is lost.
func total(processes map[int]process) (sum time.Duration) {
	for _, p := range processes {
		sum += p.used
	}
	return sum
}

// byName is by what the CPU time of processes grew between two readings, by their names. What a
// process had used at the first one and has handed on since is not its parent's growth.
func byName(before, after map[int]process) map[string]time.Duration {
	grown := make(map[int]time.Duration, len(after))
	for pid, p := range after {
		grown[pid] = p.used
	}
	for pid, p := range before {
		grown[heir(before, after, pid)] -= p.used
	}
	names := map[string]time.Duration{}
	for pid, d := range grown {
		if p, is := after[pid]; is && d > 0 {
			names[p.name] += d
		}
	}
	return names
}

// heir is the process that has what a process of the first reading had used: itself, or the nearest above it that has not
// ended since.
func heir(before, after map[int]process, pid int) int {
	for range before { // no longer than a chain can be
		p, known := before[pid]
		if !known || after[pid].start == p.start {
			break
		}
		pid = p.parent
	}
	return pid
}

// Program is a program of others, and the CPU time that it used as a share of the machine's.
type Program struct {
	Name string
	CPU  float64
}

// The programs that are named, and the least share of one.
const (
	mostPrograms = 3
	leastShare   = 0.01
)

// busiest are the programs that used most.
func busiest(names map[string]time.Duration, share func(time.Duration) float64) (list []Program) {
	for name, used := range names {
		if p := (Program{name, share(used)}); p.CPU >= leastShare {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Program) int { return cmp.Or(cmp.Compare(b.CPU, a.CPU), strings.Compare(a.Name, b.Name)) })
	return list[:min(len(list), mostPrograms)]
}

// Busiest names the programs of others that used most CPU time: "chromium 31.2%, go 8.0%"; "" where
// that is not known.
func (c Conditions) Busiest() string {
	var names []string
	for _, p := range c.Programs {
		names = append(names, fmt.Sprintf("%s %.1f%%", p.Name, p.CPU*100))
	}
	return strings.Join(names, ", ")
}

// plus adds two maps of CPU times.
func plus(a, b map[string]time.Duration) map[string]time.Duration {
	sum := maps.Clone(a)
	for name, used := range b {
		if sum == nil {
			sum = map[string]time.Duration{}
		}
		sum[name] += used
	}
	return sum
}
