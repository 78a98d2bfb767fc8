// Package process keeps programs under test. It starts each program as a child of this process, and ends the program
// with all its descendants.
//
// The local testbed uses this package in Tare itself, and the testbed on Kubernetes, with equal limits, in the agent of
// a pod. This process must be the reaper of its orphaned descendants (PR_SET_CHILD_SUBREAPER), or the first process of
// its process id namespace.
//
// If this process may make cgroups, each process belongs to the program of its cgroup (Scopes). Otherwise it is
// assigned to a program by its session and group, by the marks in its environment, or because only one program runs.
package process

import (
	"io"
	"sync"
	"time"
)

// OutputDelay is how long a program's output may stay open when the program and its descendants have ended.
const OutputDelay = 2 * time.Second

// EndLimit is how long killed descendants may take to end. A process that waits for a disk ends only after the wait.
const EndLimit = 10 * time.Second

// leftGrace is how long descendants may run after the program's end. After leftGrace, Tare kills the descendants
// (Usage.Left).
const leftGrace = 2 * time.Second

// OutputLimit is the maximum size of one output stream, in bytes. A program that writes more is killed.
const OutputLimit = 256 << 20

// Intervals are the times between observations of a running process. The last interval repeats.
type Intervals []time.Duration

// Until calls the function look at the end of each interval, until the channel done is closed.
func (l Intervals) Until(done <-chan struct{}, look func()) {
	timer := time.NewTimer(l[0])
	defer timer.Stop()
	for i := 1; ; i++ {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		look()
		timer.Reset(l[min(i, len(l)-1)])
	}
}

// looks holds the pauses between readings of a program's memory: short at first, then long, so that the readings do not
// disturb a long trial.
var looks = Intervals{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond,
	160 * time.Millisecond, 320 * time.Millisecond, 640 * time.Millisecond, 1280 * time.Millisecond,
	2560 * time.Millisecond, 5 * time.Second, 10 * time.Second}

const generations = 9 // generations of descendants whose memory is read

// tailSize is how many bytes of the end of a program's standard error are kept for error messages.
const tailSize = 4096

// Tail passes on all bytes that are written to it. It keeps the last bytes for error messages.
type Tail struct {
	To io.Writer // receives the bytes that are passed on; nil: none are passed on

	mu   sync.Mutex
	last []byte
}

// Write keeps the last bytes, and passes all bytes on to To. It returns the error of To.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.last = append(t.last, b...)
	if cut := len(t.last) - tailSize; cut > 0 {
		t.last = append(t.last[:0], t.last[cut:]...)
	}
	t.mu.Unlock()
	if t.To == nil {
		return len(b), nil
	}
	return t.To.Write(b)
}

// String returns the last bytes that were written. For a nil Tail, it returns "".
func (t *Tail) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
