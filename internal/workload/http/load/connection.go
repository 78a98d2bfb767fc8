package load

import (
	"sync"
	"time"
)

// connection is one of the connections that a session keeps at a time. A connection has one link after
// another. Each link is one network connection.
type connection struct {
	session *session
	number  int
	slots   []*slot

	mu   sync.Mutex // guards the slots in use and the links
	link *link      // takes new requests; nil: the next request makes a link
}

// slot carries one request at a time. A free slot is in the ring of its activeSpan. The goroutine that sends
// the slot's next request takes the slot from the ring. Once the request is sent, the connection's lock
// guards the slot.
type slot struct {
	conn    *connection
	number  int
	run     *activeSpan
	due     due
	free    time.Duration // time from which a connection was free for the request
	sent    time.Duration // time at which the request was sent, or dialling for it began
	first   time.Duration // time at which the first byte of the response arrived
	busy    bool
	turn    uint64 // counts the slot's requests, so that work for an earlier request is recognised
	link    *link  // carries the request
	givenUp Kind   // kind of error under which the request was given up; "": it was not given up
	stream  stream // state of an HTTP/2 request
}

// send sends a request through a free slot. The argument since is the time at which a slot became free for the
// request.
func (sl *slot) send(r *activeSpan, d due, since time.Duration) {
	c := sl.conn
	c.mu.Lock()
	now := r.session.now()
	sl.run, sl.due, sl.free, sl.sent, sl.first, sl.busy, sl.givenUp = r, d, since, now, 0, true, ""
	sl.turn++
	if r.ended.Load() {
		sl.busy = false
		c.mu.Unlock()
		sl.end(giveUp(Unanswered), now)
		return
	}
	c.put(sl)
}

// put sends a slot's request on the open link, or on a new link. The caller holds the lock; put releases it.
func (c *connection) put(sl *slot) {
	k := c.current()
	sl.link = k
	k.requests++
	last := k.requests == c.session.conf.RequestsPerConnection
	if last {
		k.retire()
	}
	turn, q, wire := sl.turn, c.session.requests[sl.due.request], k.wire
	if wire == nil {
		k.waiting = append(k.waiting, sl)
	}
	c.mu.Unlock()
	if wire != nil {
		wire.write(sl, q, turn, last)
	}
}

// current returns the link that takes new requests. If the connection has no such link, current makes one.
// The caller holds the lock.
func (c *connection) current() *link {
	if c.link == nil {
		c.link = newLink(c)
		c.session.links.Go(c.link.live)
	}
	return c.link
}

func (c *connection) agreed() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil || c.link.wire == nil {
		return "", false
	}
	return c.link.agreed, true
}

// giveUp gives up all requests of the connection that were sent up to the time in the argument before. The
// argument why is the kind of error under which these requests count.
func (c *connection) giveUp(why Kind, before time.Duration) {
	var ended []*slot
	c.mu.Lock()
	for _, sl := range c.slots {
		if !sl.busy || sl.sent > before || sl.givenUp != "" {
			continue
		}
		sl.givenUp = why
		if sl.link.drop(sl) {
			sl.busy = false
			ended = append(ended, sl)
		}
	}
	c.mu.Unlock()
	for _, sl := range ended {
		sl.end(giveUp(why), c.session.now())
	}
}

func giveUp(why Kind) Exchange {
	if why == Timeout {
		return Exchange{Kind: why, Text: "no complete answer within the timeout"}
	}
	return Exchange{Kind: why, Text: "no complete answer until the end of the drain"}
}

// end completes the outcome of the slot's request, counts the request and frees the slot. The slot is not
// busy, and the caller holds no lock.
func (sl *slot) end(x Exchange, now time.Duration) {
	r := sl.run
	q := r.session.requests[sl.due.request]
	x.Name, x.Paced, x.BytesSent = q.name, r.arrivals != nil, int64(q.payload)
	x.Due, x.Free, x.Sent, x.First, x.Last = sl.due.intended, sl.free, sl.sent, sl.first, now
	r.tallies[sl.number%len(r.tallies)].add(x, r.begin)
	r.freed(sl, now)
}
