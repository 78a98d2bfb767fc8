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
	names  []string // names of the kinds of requests
	_      [16]byte // puts the locks of neighbouring tallies on different cache lines
}

// outcome is how one request ended.
type outcome struct {
	kind     Kind   // "": OK
	text     string // the error
	received int64  // bytes of the body
}

// count counts a request that has ended. Begin is the start of the measured time.
func (b *tally) count(sl *slot, o outcome, sent int, now, begin time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.result
	b.add(sl.due, o, now, begin)
	r.BytesSent += int64(sent)
	r.BytesReceived += o.received
	if sl.run.arrivals != nil {
		r.Lag.Record(sl.lag)
		r.Waited.Record(sl.waited)
	}
}

// unsent counts a request that was never sent, since no connection was free.
func (b *tally) unsent(d due, now, begin time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(d, outcome{kind: Unanswered, text: "not sent: no connection was free until the end of the drain"}, now, begin)
}

// add adds a request to the result. The caller holds the lock.
func (b *tally) add(d due, o outcome, now, begin time.Duration) {
	b.result.Count(o.kind, o.text, now-d.intended, now-begin)
	if name := b.names[d.request]; o.kind == "" && name != "" {
		b.result.named(name).Record(now - d.intended)
	}
}

// connected counts a new connection.
func (b *tally) connected(agreed string, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.result.Handshakes[agreed]++
	b.result.Connect.Record(took)
}
