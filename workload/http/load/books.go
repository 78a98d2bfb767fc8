package load

import (
	"sync"
	"time"
)

// books are a share of a run's result: several of them keep the connections from waiting for
// each other.
type books struct {
	mu     sync.Mutex
	result *Result
	names  []string // of the requests
	_      [16]byte // keeps neighbours' locks off one cache line
}

// outcome is how one request ended.
type outcome struct {
	kind     Kind // "" is OK
	text     string
	received int64 // bytes of the body
}

// book counts a request that has ended.
func (b *books) book(sl *slot, o outcome, sent int, now, from time.Duration) {
	t := sl.ticket
	if !t.counted {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.result
	b.end(b.names[t.request], o, now-t.intended, now-from)
	r.BytesSent += int64(sent)
	r.BytesReceived += o.received
	if sl.run.arrivals != nil {
		r.Lag.Record(sl.lag)
		r.Waited.Record(sl.waited)
	}
}

// unsent counts a request that no connection was free for until the end.
func (b *books) unsent(t ticket, now, from time.Duration) {
	if !t.counted {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end(b.names[t.request], outcome{kind: Unanswered, text: "not sent: no connection was free until the end of the drain"}, now-t.intended, now-from)
}

// end counts how one ended. It is called with the lock held.
func (b *books) end(name string, o outcome, latency, elapsed time.Duration) {
	b.result.End(o.kind, o.text, latency, elapsed)
	if o.kind == "" && name != "" {
		b.result.named(name).Record(latency)
	}
}

// connected counts a connection that was made.
func (b *books) connected(agreed string, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.result.Handshakes[agreed]++
	b.result.Connect.Record(took)
}
