package runner

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"tare/testbed/process"
)

// asleep is how long the machine has been suspended since it was started: by
// that much the clock that counts suspension is ahead of the one that does not.
// On a busy machine this thread may have to wait between two readings, so the clock
// that does not count it is read before and after, and again if that took long.
func asleep() (d time.Duration) {
	var before, all, after unix.Timespec
	for range 100 {
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &before) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &all) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &after) != nil {
			return 0
		}
		d = time.Duration(all.Nano() - after.Nano())
		if after.Nano()-before.Nano() < time.Millisecond.Nanoseconds() {
			break
		}
	}
	return d
}

// notifyContinued sends when this process goes on after a stop. The stop itself
// cannot be seen.
func notifyContinued(c chan<- os.Signal) { signal.Notify(c, unix.SIGCONT) }

// processTimes is the CPU time that this process has used, and that of the
// programs that it has started and that have ended.
func processTimes() (own, children time.Duration, err error) {
	var self, ended unix.Rusage
	if err := errors.Join(unix.Getrusage(unix.RUSAGE_SELF, &self), unix.Getrusage(unix.RUSAGE_CHILDREN, &ended)); err != nil {
		return 0, 0, fmt.Errorf("getrusage: %w", err)
	}
	return cpu(self), cpu(ended) + process.Unseen(), nil
}

func cpu(r unix.Rusage) time.Duration {
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
