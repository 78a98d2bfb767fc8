package machine

import (
	"time"

	"tare/machine/proc"
)

// processTimes sums the CPU time of all processes but kernel threads and the
// tree below self, as far as they can be seen from here. A process that ends
// hands its time on to the parent that waits for it, so the sum keeps what it
// has used: between two readings it grows by what such processes used, also by
// those that began and ended in between. Only the time of children that their
// parent does not wait for is lost.
func processTimes(all map[int]proc.Stat, self int) time.Duration {
	var sum time.Duration
	for pid, p := range all {
		if !p.Kernel() && !below(all, pid, self) {
			sum += p.Own() + p.Reaped()
		}
	}
	return sum
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
