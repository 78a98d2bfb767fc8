package pause

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// sleep waits in the kernel until a point of the monotonic clock, so that signals (the runtime
// of Go preempts by them) do not prolong it.
func sleep(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The slack is the thread's; one nanosecond is the least (prctl(2)).
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		time.Sleep(d)
		return
	}
	until := unix.NsecToTimespec(now.Nano() + int64(d))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) == unix.EINTR {
		continue
	}
}
