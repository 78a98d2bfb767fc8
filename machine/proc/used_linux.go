package proc

import (
	"cmp"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Peak finds the peak resident memory of a program, the largest of any one process
// of it.
//
// The kernel's own figure (ru_maxrss) starts not at zero but at the peak of the
// process that forked the program, which is this one's. It is exact when it is larger
// than that, and says nothing otherwise. The high-water marks of the program's
// processes themselves (VmHWM) have no such floor, but are gone when the process
// ends; so they are to be looked at now and then while it runs. That is a lower
// bound: it misses a peak in the last moments of a small program.
type Peak struct {
	exact  int64 // largest ru_maxrss that was above the floor, bytes
	marked int64 // largest high-water mark seen, bytes
}

// Look takes the high-water mark of a living process.
func (k *Peak) Look(pid int) { k.marked = max(k.marked, highWater(pid)) }

// Ended takes the ru_maxrss of a process that was reaped, and the floor at or below
// which it says nothing, in bytes.
func (k *Peak) Ended(maxrss, floor int64) {
	if maxrss > floor {
		k.exact = max(k.exact, maxrss)
	}
}

// Bytes is the peak, as far as it is known.
func (k *Peak) Bytes() int64 { return max(k.exact, k.marked) }

// OwnPeak is the peak resident memory of this process, as much as exec can have taken
// it for. The kernel counts pages per CPU and adds the counts up roughly there, to
// within a batch (percpu_counter_batch) per CPU for each of the three kinds of pages.
func OwnPeak() int64 {
	own := highWater(os.Getpid())
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err == nil {
		own = max(own, ru.Maxrss*1024)
	}
	cpus := int64(runtime.NumCPU())
	return own + 3*max(32, 2*cpus)*cpus*int64(os.Getpagesize())
}

// highWater is the peak resident memory of a living process in bytes; what it has now
// where the kernel keeps no peak (gVisor); 0 if it cannot be told.
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

// Clock is the CPU time that all threads of the process have used by now. The
// kernel's per-process clock counts nanoseconds (clock_getcpuclockid(3)); where it
// cannot be read, as in gVisor, it is the ticks of the state.
func (s Stat) Clock() time.Duration {
	const schedClock = 2 // CPUCLOCK_SCHED in the kernel's posix-timers.h
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^s.PID<<3|schedClock), &ts); err == nil {
		return time.Duration(ts.Nano())
	}
	return s.Own()
}
