package runner

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testbed/process"
)

// asleep returns how long the machine has been suspended since its start: CLOCK_BOOTTIME minus CLOCK_MONOTONIC. Slow
// readings are repeated.
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

// notifyContinued makes c receive a signal when this process continues after a stop. The stop itself cannot be
// observed.
func notifyContinued(c chan<- os.Signal) { signal.Notify(c, unix.SIGCONT) }

// processTimes returns the CPU time of this process, and of its children that have ended.
func processTimes() (own, children time.Duration, err error) {
	var self, ended unix.Rusage
	if err := errors.Join(unix.Getrusage(unix.RUSAGE_SELF, &self), unix.Getrusage(unix.RUSAGE_CHILDREN, &ended)); err != nil {
		return 0, 0, fmt.Errorf("getrusage: %w", err)
	}
	return cpu(self), cpu(ended) + process.Unreported(), nil
}

func cpu(r unix.Rusage) time.Duration {
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
