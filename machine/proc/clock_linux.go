package proc

import (
	"time"

	"golang.org/x/sys/unix"
)

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
