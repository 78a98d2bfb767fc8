package machine

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// processTimes sums the CPU time of all processes but kernel threads and the
// tree below self, as far as they can be seen from here. A process that ends
// hands its time on to the parent that waits for it, so the sum keeps what it
// has used: between two readings it grows by what such processes used, also by
// those that began and ended in between. Only the time of children that their
// parent does not wait for is lost.
func processTimes(sys fs.FS, self int) time.Duration {
	entries, err := fs.ReadDir(sys, "proc")
	if err != nil {
		return 0
	}
	all := map[int]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := fs.ReadFile(sys, path.Join("proc", e.Name(), "stat"))
		if err != nil {
			continue // gone
		}
		if p, ok := parseProcess(string(data)); ok {
			all[pid] = p
		}
	}
	var sum time.Duration
	for pid, p := range all {
		if !p.kernel && !below(all, pid, self) {
			sum += p.used
		}
	}
	return sum
}

// process is what /proc/PID/stat says of a process.
type process struct {
	parent int
	kernel bool          // a kernel thread
	used   time.Duration // by all its threads and by the children it has waited for
}

// Fields of /proc/PID/stat behind the program's name, counted from 0 (proc(5)
// counts from 3), and the flag of kernel threads (PF_KTHREAD).
const (
	statParent   = 1
	statFlags    = 6
	statUsed     = 11 // utime, stime, cutime, cstime
	kernelThread = 0x00200000
)

// parseProcess reads /proc/PID/stat. The name of the program stands in brackets
// and may itself contain brackets.
func parseProcess(stat string) (process, bool) {
	_, rest, ok := cutLast(stat, ')')
	f := strings.Fields(rest)
	if !ok || len(f) < statUsed+4 {
		return process{}, false
	}
	parent, err := strconv.Atoi(f[statParent])
	if err != nil || parent < 0 {
		return process{}, false
	}
	flags, err := strconv.ParseUint(f[statFlags], 10, 64)
	if err != nil {
		return process{}, false
	}
	p := process{parent: parent, kernel: flags&kernelThread != 0}
	for _, field := range f[statUsed : statUsed+4] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil || ticks < 0 || ticks > 1<<40 {
			return process{}, false
		}
		p.used += time.Duration(ticks) * tick
	}
	return p, true
}

// below says whether a process is root or a descendant of it.
func below(all map[int]process, pid, root int) bool {
	for range all { // no longer than a chain can be
		if pid == root {
			return true
		}
		p, ok := all[pid]
		if !ok {
			return false
		}
		pid = p.parent
	}
	return false
}
