package proc

import (
	"cmp"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Peak determines the peak resident memory of a program's largest process. ru_maxrss tells only peaks above this
// process's own. VmHWM is read while the program runs, and is a lower bound.
type Peak struct {
	exact  int64 // largest ru_maxrss above the peak of the process that started the program, in bytes
	marked int64 // largest peak memory that Look has read, in bytes
}

// Look reads the high-water mark of a living process.
func (k *Peak) Look(pid int) { k.marked = max(k.marked, highWater(pid)) }

// Ended records the ru_maxrss of a reaped process, in bytes. It ignores values up to the parent's peak (OwnPeak), from
// which ru_maxrss starts.
func (k *Peak) Ended(maxrss, parent int64) {
	if maxrss > parent {
		k.exact = max(k.exact, maxrss)
	}
}

// Bytes returns the largest known peak, in bytes.
func (k *Peak) Bytes() int64 { return max(k.exact, k.marked) }

// OwnPeak returns an upper bound of this process's peak resident memory, where a child's ru_maxrss starts. CPUs may
// hold back counts of three kinds of pages, up to percpu_counter_batch each.
func OwnPeak() int64 {
	own := highWater(os.Getpid())
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err == nil {
		own = max(own, ru.Maxrss*1024)
	}
	cpus := int64(runtime.NumCPU())
	return own + 3*max(32, 2*cpus)*cpus*int64(os.Getpagesize())
}

// highWater returns the peak resident memory of a living process in bytes; 0: unknown. In gVisor, it is the present
// memory.
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

// Clock returns the CPU time of all threads of the process so far, exact to nanoseconds (clock_getcpuclockid(3)). In
// gVisor, it is a multiple of Tick.
func (s Stat) Clock() time.Duration {
	const schedClock = 2 // CPUCLOCK_SCHED in the kernel's posix-timers.h
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^s.PID<<3|schedClock), &ts); err == nil {
		return time.Duration(ts.Nano())
	}
	return s.Own()
}

// Proportional returns the resident memory of a process in bytes (PSS): a page shared by n processes counts as 1/n. It
// needs the right to trace the process.
func Proportional(pid int) (int64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	rollup, err := p.ProcSMapsRollup()
	return int64(rollup.Pss), err
}
