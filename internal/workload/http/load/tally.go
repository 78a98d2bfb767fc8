package load

import (
	"sync"
	"time"
)

// tally is a part of a span's result. A span has several tallies, so that its connections do not all wait for
// one lock.
type tally struct {
	mu     sync.Mutex
	result *Result
	_      [48]byte // puts the locks of neighbouring tallies on different cache lines
}

// add counts a request that has ended. Begin is the start of the measured time.
func (b *tally) add(x Exchange, begin time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.result.Add(x, begin)
}

// connected counts a new connection.
func (b *tally) connected(agreed string, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.result.Handshakes[agreed]++
	b.result.Connect.Record(took)
}
