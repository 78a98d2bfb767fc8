package load

import (
	"sync"
	"time"
)

// lane is the place of one connection at a time. Its lock guards the slots and the links.
type lane struct {
	session *Session
	number  int
	slots   []*slot

	mu   sync.Mutex
	link *link // takes new requests; nil: the next one makes it
}

// slot carries one request at a time. It belongs to the run's ring while it is free, and to
// whoever took it from there until it is sent; then the lock of its lane guards it.
type slot struct {
	lane   *lane
	number int
	run    *run
	ticket ticket
	lag    time.Duration
	waited time.Duration
	sent   time.Duration // when it was sent, or the making of its connection began
	busy   bool
	turn   uint64 // counts requests, so that what belongs to an earlier one is recognised
	link   *link  // that carries it
	doomed Kind   // given up, for that reason
	stream stream // of HTTP/2
}

// send sends a request through a free slot, to which some connection was free since then.
func (sl *slot) send(r *run, t ticket, since time.Duration) {
	l, s := sl.lane, r.session
	l.mu.Lock()
	now := s.now()
	sl.run, sl.ticket, sl.sent, sl.busy, sl.doomed = r, t, now, true, ""
	sl.turn++
	sl.lag = now - max(t.intended, since)
	sl.waited = max(0, since-t.intended)
	if r.ended.Load() {
		sl.busy = false
		l.mu.Unlock()
		sl.end(outcome{kind: Unanswered, text: givenUp(Unanswered)}, now)
		return
	}
	l.put(sl)
}

// put sends the request of a slot on the link, or on a new one. It is called with the lock held,
// and lets go of it.
func (l *lane) put(sl *slot) {
	s := l.session
	k := l.link
	if k == nil {
		k = newLink(l)
		l.link = k
		s.links.Go(k.live)
	}
	sl.link = k
	k.uses++
	last := k.uses == s.conf.RequestsPerConnection
	if last {
		l.link = nil
		k.last = true
	}
	turn, o, wire := sl.turn, s.requests[sl.ticket.request], k.wire
	if wire == nil {
		k.waiting = append(k.waiting, sl)
	}
	l.mu.Unlock()
	if wire != nil {
		wire.write(sl, o, turn, last)
	}
}

// open makes the link, or is nil if there is one.
func (l *lane) open() *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.link != nil {
		return nil
	}
	l.link = newLink(l)
	l.session.links.Go(l.link.live)
	return l.link
}

// agreed says what the link has agreed on, if it is up.
func (l *lane) agreed() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.link == nil || l.link.wire == nil {
		return "", false
	}
	return l.link.agreed, true
}

// giveUp gives up all requests that were sent at that time or earlier.
func (l *lane) giveUp(why Kind, before time.Duration) {
	var ended []*slot
	l.mu.Lock()
	for _, sl := range l.slots {
		if !sl.busy || sl.sent > before || sl.doomed != "" {
			continue
		}
		sl.doomed = why
		if sl.link.drop(sl) {
			sl.busy = false
			ended = append(ended, sl)
		}
	}
	l.mu.Unlock()
	for _, sl := range ended {
		sl.end(outcome{kind: why, text: givenUp(why)}, l.session.now())
	}
}

// givenUp says why in words.
func givenUp(why Kind) string {
	if why == Timeout {
		return "no complete answer within the timeout"
	}
	return "no complete answer until the end of the drain"
}

// end counts how the request ended at that time, and frees the slot. The slot is no longer busy, and the
// caller holds no lock.
func (sl *slot) end(o outcome, now time.Duration) {
	r := sl.run
	r.books[sl.number%len(r.books)].book(sl, o, r.session.requests[sl.ticket.request].payload, now, r.from)
	r.freed(sl, now)
}
