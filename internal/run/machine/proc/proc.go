// Package proc reads the state, parents, CPU time, memory and cgroups of Linux processes, for the sampler and for
// testbeds. It interprets numbers that prometheus/procfs reads from /proc.
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

// Tick is the unit of CPU times and start times in /proc (USER_HZ), on every architecture of Tare. The kernel's own
// tick may differ.
const Tick = 10 * time.Millisecond

// Flags of a process (include/linux/sched.h).
const (
	flagExiting      = 0x00000004
	flagKernelThread = 0x00200000
)

// Stat is the content of /proc/PID/stat at one moment. The start time makes its process id unique.
type Stat struct{ procfs.ProcStat }

// Dead reports whether the process has ended and only waits to be reaped. Such a process has no children.
func (s Stat) Dead() bool { return s.State == "Z" || s.State == "X" }

// Gone reports whether the process is dead or ending: its memory and files may not exist any more.
func (s Stat) Gone() bool { return s.Dead() || s.Flags&flagExiting != 0 }

// Kernel reports whether the process is a kernel thread.
func (s Stat) Kernel() bool { return s.Flags&flagKernelThread != 0 }

// Own returns the CPU time of all threads of the process, a multiple of Tick.
func (s Stat) Own() time.Duration { return time.Duration(s.UTime+s.STime) * Tick }

// Reaped returns the CPU time of all ended children for which the process has waited. This time is a multiple of Tick.
func (s Stat) Reaped() time.Duration { return time.Duration(max(0, s.CUTime+s.CSTime)) * Tick }

// Below opens the directory proc below root. If it does not exist, every read fails.
func Below(root string) procfs.FS {
	files, _ := procfs.NewFS(filepath.Join(root, "proc"))
	return files
}

// Field returns a field of the text of /proc/PID/status; "" if it is missing.
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

// All reads the state of all visible processes, by process id. Processes that end meanwhile are omitted.
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

// Children reads the children of a process from /proc/PID/task/TID/children. listed is false if the kernel lacks these
// files (CONFIG_PROC_CHILDREN).
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

// Groups returns the cgroup of this process by controller. The group of version 2 has the key "".
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
