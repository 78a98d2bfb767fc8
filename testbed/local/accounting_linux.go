package local

import (
	"fmt"
	"os"
	"runtime"
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
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
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
