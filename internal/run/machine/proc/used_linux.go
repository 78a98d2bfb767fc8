package proc

import (
	"cmp"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Peak determines the peak resident memory of a program: the largest of any of its processes.
//
// The kernel's own value (ru_maxrss) starts at the peak of this process, which forked the program. Only a larger value
// is therefore the program's own. The program's high-water marks (VmHWM) start anew, but vanish when a process ends.
// They must be read again and again while the program runs. They are a lower bound: a peak in the last moments of a
// small program is missed.
type Peak struct {
	exact  int64 // largest ru_maxrss above the peak of the process that started the program, in bytes
	marked int64 // largest peak memory that Look has read, in bytes
}

// Look reads the high-water mark of a living process.
func (k *Peak) Look(pid int) { k.marked = max(k.marked, highWater(pid)) }

// Ended records the peak memory of a reaped process: its ru_maxrss, in bytes. It ignores values up to the parent's peak
// (OwnPeak), from which a child's ru_maxrss starts.
func (k *Peak) Ended(maxrss, parent int64) {
	if maxrss > parent {
		k.exact = max(k.exact, maxrss)
	}
}

// Bytes returns the largest known peak, in bytes.
func (k *Peak) Bytes() int64 { return max(k.exact, k.marked) }

// OwnPeak returns an upper bound of the peak resident memory of this process, at which the ru_maxrss of a child starts.
// The kernel counts pages per CPU. A CPU may hold back up to a batch (percpu_counter_batch) of each of three kinds of
// pages: anonymous, file and shared.
func OwnPeak() int64 {
	own := highWater(os.Getpid())
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err == nil {
		own = max(own, ru.Maxrss*1024)
	}
	cpus := int64(runtime.NumCPU())
	return own + 3*max(32, 2*cpus)*cpus*int64(os.Getpagesize())
}

// highWater returns the peak resident memory of a living process in bytes; 0: unknown. A kernel without this peak
// (gVisor) gives the present resident memory.
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

// Clock returns the CPU time that all threads of the process have used so far, in nanoseconds of the kernel's clock for
// the process (clock_getcpuclockid(3)). If this clock cannot be read, as in gVisor, the time is a multiple of Tick.
func (s Stat) Clock() time.Duration {
	const schedClock = 2 // CPUCLOCK_SCHED in the kernel's posix-timers.h
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^s.PID<<3|schedClock), &ts); err == nil {
		return time.Duration(ts.Nano())
	}
	return s.Own()
}

// Proportional returns the resident memory of a process in bytes (PSS). A page that n processes share counts as 1/n of
// a page. The caller needs the right to trace the process.
func Proportional(pid int) (int64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	rollup, err := p.ProcSMapsRollup()
	return int64(rollup.Pss), err
}
