package proc

import (
	"cmp"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Peak determines the peak resident memory of a program: the largest of any single process.
//
// The kernel's own value (ru_maxrss) starts at the peak of this process, which forked the program. Only a larger
// value is the program's own. The high-water marks of the program's processes (VmHWM) do not start at that peak,
// but vanish when a process ends. They must therefore be read repeatedly while the program runs. They give a
// lower bound, which misses a peak in the last moments of a small program.
type Peak struct {
	exact  int64 // largest ru_maxrss that exceeded the peak of this process, in bytes
	marked int64 // largest high-water mark read, in bytes
}

// Look reads the high-water mark of a living process.
func (k *Peak) Look(pid int) { k.marked = max(k.marked, highWater(pid)) }

// Ended takes the ru_maxrss of a reaped process, in bytes. It ignores values up to the parent's peak (OwnPeak).
func (k *Peak) Ended(maxrss, parent int64) {
	if maxrss > parent {
		k.exact = max(k.exact, maxrss)
	}
}

// Bytes is the largest known peak.
func (k *Peak) Bytes() int64 { return max(k.exact, k.marked) }

// OwnPeak is an upper bound of the peak resident memory of this process. At exec, a child's ru_maxrss starts
// at this peak. The kernel counts pages per CPU, and each CPU may hold back up to a batch
// (percpu_counter_batch) of each of the three kinds of pages: anonymous, file and shared.
func OwnPeak() int64 {
	own := highWater(os.Getpid())
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err == nil {
		own = max(own, ru.Maxrss*1024)
	}
	cpus := int64(runtime.NumCPU())
	return own + 3*max(32, 2*cpus)*cpus*int64(os.Getpagesize())
}

// highWater returns the peak resident memory of a living process in bytes. If the kernel keeps no peak (gVisor),
// it returns the present resident memory; 0: unknown.
func highWater(pid int) int64 {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	status, err := p.NewStatus()
	if err != nil {
		return 0
	}
	return int64(cmp.Or(status.VmHWM, status.VmRSS))
}

// Clock returns the CPU time used so far by all threads of the process. The kernel's per-process clock
// (clock_getcpuclockid(3)) counts nanoseconds. If the clock cannot be read, as in gVisor, the result is a
// number of ticks.
func (s Stat) Clock() time.Duration {
	const schedClock = 2 // CPUCLOCK_SCHED in the kernel's posix-timers.h
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^s.PID<<3|schedClock), &ts); err == nil {
		return time.Duration(ts.Nano())
	}
	return s.Own()
}

// Proportional returns the resident memory of a process in bytes (PSS). A page shared by several
// processes counts for each of them in equal parts. The caller needs the right to trace the process.
func Proportional(pid int) (int64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	rollup, err := p.ProcSMapsRollup()
	return int64(rollup.Pss), err
}
