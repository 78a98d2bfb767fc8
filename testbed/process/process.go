// Package process keeps programs under test: it starts each as a child of this process,
// and ends it with all its descendants.
//
// Both testbeds use it, the local one in Tare itself and the one on Kubernetes in the
// agent of a pod, with the same limits. This process must be the reaper of its orphaned
// descendants (PR_SET_CHILD_SUBREAPER) or the first of its process id namespace: then
// whatever a program leaves behind becomes a child of this process. Whose it is, is told
// by the program's cgroup (Scopes), where this process may make one; else by its session
// and group, by the marks in its environment, and at last by there being no other program
// whose it could be.
package process

import (
	"io"
	"sync"
	"time"
)

// OutputDelay is how long the end of a program's output is waited for once the program
// and all its known descendants are gone.
const OutputDelay = 2 * time.Second

// EndLimit is how long a program's descendants may take to be gone once they are killed.
// A process that waits for a disk cannot be killed until that answers.
const EndLimit = 10 * time.Second

// LeftGrace is how long what a program has started may run on after the program has ended.
// Then it is killed, and told by Usage.Left.
const LeftGrace = 2 * time.Second

// OutputLimit is how much a program may write to one stream, in bytes. What writes more is
// killed.
const OutputLimit = 256 << 20

// Looks are the times between two looks at something that runs; the last is repeated.
type Looks []time.Duration

// Until looks again and again until done is closed. Begin comes first.
func (l Looks) Until(done <-chan struct{}, look func()) {
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

// looks are the times between two looks at the memory of a program and of depth generations
// of its descendants: many for one that ends soon, and so few for a long one that a trial is
// not disturbed. There is none at the start: what a program has then is not its peak.
var looks = Looks{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond,
	160 * time.Millisecond, 320 * time.Millisecond, 640 * time.Millisecond, 1280 * time.Millisecond,
	2560 * time.Millisecond, 5 * time.Second, 10 * time.Second}

const depth = 9

// TailSize is how much of a program's standard error an error carries, in bytes.
const TailSize = 4096

// Tail passes on what is written and keeps the last of it for error messages.
type Tail struct {
	To io.Writer // nil: nowhere

	mu   sync.Mutex
	last []byte
}

// Write takes the next part. Its error is that of To.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.last = append(t.last, b...)
	if cut := len(t.last) - TailSize; cut > 0 {
		t.last = append(t.last[:0], t.last[cut:]...)
	}
	t.mu.Unlock()
	if t.To == nil {
		return len(b), nil
	}
	return t.To.Write(b)
}

// String is what was written last; a nil tail kept nothing.
func (t *Tail) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
