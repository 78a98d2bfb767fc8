// Package process keeps programs under test: it starts each as a child of this process, and ends it with all
// its descendants.
//
// Both testbeds use it with the same limits: the local one in Tare itself, and the one on Kubernetes in the
// agent of a pod. This process must be the reaper of its orphaned descendants (PR_SET_CHILD_SUBREAPER) or the
// first of its process id namespace. All leftover processes then become its children. If this process may
// make cgroups, a process belongs to the program of its cgroup (Scopes). Otherwise it is assigned by session
// and group, by the marks in its environment, or because only one program runs.
package process

import (
	"io"
	"sync"
	"time"
)

// OutputDelay is the maximum wait for the end of a program's output, after the program and its known
// descendants have ended.
const OutputDelay = 2 * time.Second

// EndLimit is the maximum wait for the end of a program's descendants after they are killed. A process
// that waits for a disk cannot be killed before the disk answers.
const EndLimit = 10 * time.Second

// leftGrace is the time for which a program's descendants may run after its end. Then they are killed
// and listed in Usage.Left.
const leftGrace = 2 * time.Second

// OutputLimit is the maximum size of one output stream, in bytes. A program that writes more is killed.
const OutputLimit = 256 << 20

// Intervals are the intervals between observations of a running process. The last interval repeats.
type Intervals []time.Duration

// Until calls look repeatedly, after each interval, until done is closed.
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

// looks are the intervals between readings of the memory of a program and of some generations of
// descendants. A short program is read often, and a long one seldom, so that a trial is not disturbed.
// There is no reading at the start, since the memory has not reached its peak.
var looks = Intervals{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond,
	160 * time.Millisecond, 320 * time.Millisecond, 640 * time.Millisecond, 1280 * time.Millisecond,
	2560 * time.Millisecond, 5 * time.Second, 10 * time.Second}

const generations = 9

// tailSize is the size of the part of a program's standard error in an error message, in bytes.
const tailSize = 4096

// Tail passes on everything written to it, and keeps the last part for error messages.
type Tail struct {
	To io.Writer // nil: output is not passed on

	mu   sync.Mutex
	last []byte
}

// Write writes the next part. An error is from To.
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

// String returns the last part written. It is "" for a nil Tail.
func (t *Tail) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
