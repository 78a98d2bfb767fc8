// Package proc reads what Linux tells of processes: their state, parents, CPU time
// and memory, and the cgroup of this one. It serves the sampler of this machine and
// the testbeds that start programs. The files of /proc are read by
// prometheus/procfs; here stands what their numbers mean.
package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// Tick is the unit of CPU times and start times in /proc (USER_HZ), which is 100 Hz
// on every architecture that Tare is built for, whatever the kernel's own tick.
const Tick = 10 * time.Millisecond

// Flags of a process (include/linux/sched.h).
const (
	flagExiting      = 0x00000004
	flagKernelThread = 0x00200000
)

// Stat is what /proc/PID/stat said of a process at one moment. Its start time makes
// its id unique.
type Stat struct{ procfs.ProcStat }

// Dead says that the process has ended and only waits to be reaped. Its children are
// its parent's now.
func (s Stat) Dead() bool { return s.State == "Z" || s.State == "X" }

// Gone says that the process is dead or about to be: its memory and files may be gone
// already.
func (s Stat) Gone() bool { return s.Dead() || s.Flags&flagExiting != 0 }

// Kernel says that it is a thread of the kernel.
func (s Stat) Kernel() bool { return s.Flags&flagKernelThread != 0 }

// Own is the CPU time that all its threads have used, in whole ticks.
func (s Stat) Own() time.Duration { return time.Duration(s.UTime+s.STime) * Tick }

// Reaped is the CPU time of the children that it has waited for, in whole ticks.
func (s Stat) Reaped() time.Duration { return time.Duration(max(0, s.CUTime+s.CSTime)) * Tick }

// Below gives the directory proc below root. Where there is none, nothing can be read
// from it.
func Below(root string) procfs.FS {
	files, _ := procfs.NewFS(filepath.Join(root, "proc"))
	return files
}

// Field is a field of the text of /proc/PID/status; "" if it isn't there.
func Field(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			return string(bytes.TrimSpace(rest))
		}
	}
	return ""
}

// Read reads the state of a process of this machine.
func Read(pid int) (Stat, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return Stat{}, err
	}
	s, err := p.Stat()
	return Stat{s}, err
}

// All reads the state of all processes that can be seen, but of those that end
// meanwhile.
func All(files procfs.FS) map[int]Stat {
	processes, _ := files.AllProcs()
	all := make(map[int]Stat, len(processes))
	for _, p := range processes {
		if s, err := p.Stat(); err == nil {
			all[p.PID] = Stat{s}
		}
	}
	return all
}

// Children lists the children of a process below root. prometheus/procfs does not read
// the files that name them, /proc/PID/task/TID/children. Kernels without
// CONFIG_PROC_CHILDREN don't have these: then listed is false.
func Children(root string, pid int) (children []int, listed bool) {
	files, _ := filepath.Glob(filepath.Join(root, "proc", strconv.Itoa(pid), "task/*/children"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		listed = true
		for _, f := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(f); err == nil {
				children = append(children, child)
			}
		}
	}
	return children, listed
}

// Groups gives the cgroup of this process by controller, with that of version 2
// under "".
func Groups(files procfs.FS) map[string]string {
	groups := map[string]string{}
	self, err := files.Self()
	if err != nil {
		return groups
	}
	hierarchies, _ := self.Cgroups()
	for _, h := range hierarchies {
		if len(h.Controllers) == 0 {
			groups[""] = h.Path
		}
		for _, controller := range h.Controllers {
			groups[controller] = h.Path
		}
	}
	return groups
}
