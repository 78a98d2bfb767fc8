package local

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// clockTicks is the unit of CPU times in /proc/PID/stat, per second: USER_HZ,
// which Linux fixes at 100 for programs on every architecture that Go runs on.
const clockTicks = 100

// processClock is the CPU time that all threads of a process have used so far.
// The kernel's per-process clock counts nanoseconds (clock_getcpuclockid(3));
// where it can't be read, /proc/PID/stat counts ticks of 10 ms.
func processClock(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED in the kernel's posix-timers.h
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &ts); err == nil {
		return time.Duration(ts.Nano()), nil
	}
	stat, err := readStat(pid)
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(stat.ticks) * (time.Second / clockTicks), nil
}

// procStat is what this package needs of /proc/PID/stat.
type procStat struct {
	state  byte
	parent int
	group  int
	ticks  uint64 // user and system time
	start  uint64 // start time in ticks since boot: with the id, unique
}

// gone says that the process has ended and only waits to be reaped.
func (s procStat) gone() bool { return s.state == 'Z' || s.state == 'X' }

func readStat(pid int) (procStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, err
	}
	return parseStat(text)
}

// parseStat reads a line of /proc/PID/stat. The second field is the program's
// name in parentheses and may itself hold spaces and parentheses.
func parseStat(text []byte) (procStat, error) {
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < 20 {
		return procStat{}, fmt.Errorf("unexpected /proc/PID/stat: %q", text)
	}
	var s procStat
	var errs [5]error
	var user, system uint64
	s.state = fields[0][0]
	s.parent, errs[0] = strconv.Atoi(fields[1])
	s.group, errs[1] = strconv.Atoi(fields[2])
	user, errs[2] = strconv.ParseUint(fields[11], 10, 64)
	system, errs[3] = strconv.ParseUint(fields[12], 10, 64)
	s.start, errs[4] = strconv.ParseUint(fields[19], 10, 64)
	s.ticks = user + system
	for _, err := range errs {
		if err != nil {
			return procStat{}, fmt.Errorf("unexpected /proc/PID/stat: %q: %w", text, err)
		}
	}
	return s, nil
}

// peak finds the peak resident memory of a command, the largest of any one
// process of it.
//
// The kernel's own figure (ru_maxrss) starts not at zero but at the peak of the
// process that forked the command, which is Tare's. It is exact when it is
// larger than that, and says nothing otherwise. The high-water marks of the
// command's processes themselves (VmHWM) have no such floor, but are gone when
// the process ends; so they are looked at now and then while it runs. That is a
// lower bound: it misses a peak in the last moments of a small program.
type peak struct {
	exact  int64 // largest ru_maxrss that was above the floor, bytes
	marked int64 // largest high-water mark seen, bytes
}

// look takes the high-water marks of a process and its descendants.
func (k *peak) look(pid int) { k.marked = max(k.marked, highWater(pid, 0)) }

// watch looks until the process ends, in growing intervals, so that a long trial
// is not disturbed.
func (k *peak) watch(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		k.look(pid)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(wait.Milliseconds()))
		if n > 0 || (err != nil && err != unix.EINTR) {
			return
		}
	}
}

// ended takes the ru_maxrss of a process that was reaped, and the floor at or
// below which it says nothing, in bytes.
func (k *peak) ended(maxrss, floor int64) {
	if maxrss > floor {
		k.exact = max(k.exact, maxrss)
	}
}

// ownPeak is the peak resident memory of this process, as much as exec can have
// taken it for. The kernel counts pages per CPU and adds the counts up roughly
// there, to within a batch (percpu_counter_batch) per CPU for each of the three
// kinds of pages.
func ownPeak() int64 {
	cpus := int64(runtime.NumCPU())
	batch := max(32, 2*cpus)
	return statusBytes(os.Getpid(), "VmHWM:") + 3*batch*cpus*int64(os.Getpagesize())
}

func (k *peak) bytes() int64 { return max(k.exact, k.marked) }

// highWater is the largest VmHWM of a process and its living descendants.
func highWater(pid, depth int) int64 {
	top := statusBytes(pid, "VmHWM:")
	if depth > 8 {
		return top
	}
	children, _ := childrenOf(pid)
	for _, child := range children {
		top = max(top, highWater(child, depth+1))
	}
	return top
}

// statusBytes reads a size from /proc/PID/status; 0 if it isn't there.
func statusBytes(pid int, field string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(text), "\n"+field)
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	kB, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kB * 1024
}

// childrenOf lists the children of a process from /proc/PID/task/TID/children.
// Kernels without CONFIG_PROC_CHILDREN don't have these: then listed is false.
func childrenOf(pid int) (children []int, listed bool) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, f := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(f); err == nil {
				children = append(children, child)
			}
		}
	}
	return children, len(lists) > 0
}

// allProcesses lists the process ids that /proc shows.
func allProcesses() []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
