// Package fit says whether the machine is fit to judge a test of real time, and waits without a limit of its own.
//
// A test of real time asserts how long something takes, how much is done in a time, or that something is done before a
// limit. While other programs use the processors, such an assertion says nothing. These tests are named TestRealTime…,
// run one after the other after all others (.ci/test), and begin with
//
//	m := fit.Machine(t)
//
// They make assertions about time with m: on an unfit machine, a failure becomes a skip with the reason. They make all
// other assertions with t.
package fit

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// What a machine may do that is fit to judge, while a test runs.
const (
	mostLate    = 20 * time.Millisecond // how late a sleeper wakes
	mostWaiting = 0.2                   // share of the time in which a task waits for a processor
	mostStolen  = 0.02                  // share of the processors' time that goes to other virtual machines
)

// Machine watches, until the test ends, whether the machine is too busy for the test.
func Machine(t testing.TB) testing.TB {
	t.Helper()
	w := &watched{TB: t, begun: look(), stop: make(chan struct{})}
	w.sleeper.Go(w.sleep)
	t.Cleanup(w.end)
	return w
}

// watched is a test on a machine that is watched.
type watched struct {
	testing.TB
	begun   counters
	sleeper sync.WaitGroup
	stop    chan struct{}

	mu   sync.Mutex
	late time.Duration // the longest so far
}

// counters are readings of the machine's counters at one time.
type counters struct {
	at                     time.Time
	waiting                time.Duration // time in which a task waited for a processor; 0: the kernel does not report it
	processors, stolenTime float64       // in ticks
}

// sleep notes by how much a sleep of a moment is too long.
func (w *watched) sleep() {
	const moment = 2 * time.Millisecond
	for {
		begun := time.Now()
		select {
		case <-w.stop:
			return
		case <-time.After(moment):
		}
		late := time.Since(begun) - moment
		w.mu.Lock()
		w.late = max(w.late, late)
		w.mu.Unlock()
	}
}

func (w *watched) end() {
	close(w.stop)
	w.sleeper.Wait()
}

// unfit says why the machine has been unfit for measurements so far; "": it has been fit.
func (w *watched) unfit() string {
	w.mu.Lock()
	late := w.late
	w.mu.Unlock()
	now := look()
	waiting := float64(now.waiting-w.begun.waiting) / float64(now.at.Sub(w.begun.at))
	stolen := (now.stolenTime - w.begun.stolenTime) / max(now.processors-w.begun.processors, 1)
	switch {
	case late > mostLate:
		return fmt.Sprintf("a sleeper woke %v late, and at most %v are fit", late.Round(time.Millisecond), mostLate)
	case waiting > mostWaiting:
		return fmt.Sprintf("in %.0f %% of the time a task waited for a processor, and at most %.0f %% are fit", 100*waiting, 100*mostWaiting)
	case stolen > mostStolen:
		return fmt.Sprintf("%.0f %% of the processors' time went to other virtual machines, and at most %.0f %% are fit", 100*stolen, 100*mostStolen)
	}
	return ""
}

// refuse skips the test on a machine that was unfit to judge it.
func (w *watched) refuse(failure string) {
	w.Helper()
	if why := w.unfit(); why != "" {
		w.Skipf("the machine was unfit to judge: %s. It would have failed with: %s", why, failure)
	}
}

// Error fails the test, or skips it if the machine was unfit. The methods below do the same.
func (w *watched) Error(args ...any) {
	w.Helper()
	w.refuse(fmt.Sprint(args...))
	w.TB.Error(args...)
}

// Errorf is Error with a format.
func (w *watched) Errorf(format string, args ...any) {
	w.Helper()
	w.refuse(fmt.Sprintf(format, args...))
	w.TB.Errorf(format, args...)
}

// Fatal ends the test.
func (w *watched) Fatal(args ...any) {
	w.Helper()
	w.refuse(fmt.Sprint(args...))
	w.TB.Fatal(args...)
}

// Fatalf is Fatal with a format.
func (w *watched) Fatalf(format string, args ...any) {
	w.Helper()
	w.refuse(fmt.Sprintf(format, args...))
	w.TB.Fatalf(format, args...)
}
