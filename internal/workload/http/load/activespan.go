package load

import (
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/workload/http/pause"
)

// due is one request and its intended time, at which it should be sent.
type due struct {
	intended time.Duration // intended time, from which the latency counts
	request  int           // index into the list of kinds of requests
}

// activeSpan is one span under way. Its times count from the start of the session.
type activeSpan struct {
	session    *session
	span       Span
	begin, end time.Duration // begin and end of the measured time
	last       time.Duration // end of the drain; until then, responses still count
	tallies    []tally
	wake       chan struct{} // tells the method pace that a slot is free again
	done       chan struct{} // closed when no request is under way and none will follow

	mu        sync.Mutex
	arrivals  *arrivals // when each request is due; nil in a closed loop
	mix       *mix
	next      due
	more      bool    // set if the request in the field next is still to be sent
	free      []*slot // ring buffer of slots; from index first on, n of them are free
	first, n  int
	freeSince time.Duration
	underWay  int
	over      bool // set when no more requests are sent

	ended atomic.Bool // no more requests are sent, and requests under way are given up
}

func newActiveSpan(s *session, span Span) *activeSpan {
	random := rand.New(rand.NewPCG(span.Seed, 0x7461_7265))
	begin := s.now()
	if !span.Start.IsZero() {
		begin = span.Start.Sub(s.began) // all clients of a load begin at this moment
	}
	r := &activeSpan{
		session: s, span: span,
		begin: begin, end: begin + span.Duration, last: begin + span.Duration + cmp.Or(span.Drain, s.conf.Timeout),
		tallies: make([]tally, min(runtime.GOMAXPROCS(0), 8)),
		wake:    make(chan struct{}, 1), done: make(chan struct{}),
		mix: newMix(s.conf.Requests, random), freeSince: begin, more: true,
	}
	for i := range r.tallies {
		r.tallies[i].result = NewResult()
	}
	for _, c := range s.connections {
		if agreed, up := c.agreed(); up {
			r.tallies[0].result.Handshakes[agreed]++
		}
	}
	if span.Rate == 0 {
		return r
	}
	r.arrivals = newArrivals(span, random)
	r.free, r.n = append(r.free, s.slots...), len(s.slots)
	r.draw()
	return r
}

func (r *activeSpan) draw() {
	at := r.begin + r.arrivals.next()
	r.next = due{intended: at, request: r.mix.draw()}
	r.more = at < r.end
}

func (r *activeSpan) do(ctx context.Context) (*Result, error) {
	expiring, stop := context.WithCancel(ctx)
	var expirer sync.WaitGroup
	expirer.Go(func() { r.expire(expiring) })
	defer expirer.Wait()
	defer stop()

	last := time.NewTimer(r.last - r.session.now())
	defer last.Stop()
	if r.arrivals != nil {
		if err := r.pace(ctx, last.C); err != nil {
			r.finish()
			return nil, err
		}
	} else {
		r.startWorkers()
	}
	if r.session.now() < r.last {
		select {
		case <-r.done:
		case <-last.C:
		case <-ctx.Done():
		}
	}
	r.finish()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r.result(), nil
}

func (r *activeSpan) startWorkers() {
	now := r.session.now()
	r.mu.Lock()
	r.underWay = r.span.Workers
	all := make([]due, r.span.Workers)
	for i := range all {
		all[i] = due{intended: now, request: r.mix.draw()}
	}
	r.mu.Unlock()
	for i, t := range all {
		r.session.slots[i].send(r, t, now)
	}
}

// pace sends each due request if a slot is free; otherwise the method freed sends it later. pace returns when all
// requests are sent or the drain ends.
func (r *activeSpan) pace(ctx context.Context, last <-chan time.Time) error {
	timer, err := pause.NewTimer()
	if err != nil {
		return err
	}
	defer timer.Close()
	defer context.AfterFunc(ctx, timer.Close)()
	for ctx.Err() == nil {
		now := r.session.now()
		if now > r.last {
			return nil
		}
		r.mu.Lock()
		if !r.more {
			r.closeIfDone()
			r.mu.Unlock()
			return nil
		}
		if r.n == 0 {
			r.mu.Unlock()
			select {
			case <-r.wake:
			case <-ctx.Done():
			case <-last:
				return nil
			}
			continue
		}
		if wait := r.next.intended - now; wait > 0 {
			r.mu.Unlock()
			timer.Wait(wait)
			continue
		}
		t, since, sl := r.next, r.freeSince, r.free[r.first]
		r.first, r.n = (r.first+1)%len(r.free), r.n-1
		r.underWay++
		r.draw()
		r.mu.Unlock()
		sl.send(r, t, since)
	}
	return nil
}

// freed frees a slot whose request has ended. If another request is due, as in a closed loop, freed sends it through
// the slot at once.
func (r *activeSpan) freed(sl *slot, now time.Duration) {
	r.mu.Lock()
	r.underWay--
	t, since, send := due{}, now, false
	switch {
	case r.over:
	case r.arrivals == nil:
		if r.more = now < r.end; r.more {
			t, send = due{intended: now, request: r.mix.draw()}, true
		}
	case r.more && r.next.intended <= now:
		if r.n > 0 {
			since = r.freeSince // a slot was free when it fell due, so pace should have sent the request
		}
		t, send = r.next, true
		r.draw()
	default:
		if r.n == 0 {
			r.freeSince = now
			select {
			case r.wake <- struct{}{}:
			default:
			}
		}
		r.free[(r.first+r.n)%len(r.free)] = sl
		r.n++
	}
	if send {
		r.underWay++
	} else {
		r.closeIfDone()
	}
	r.mu.Unlock()
	if send {
		sl.send(r, t, since)
	}
}

// closeIfDone closes the channel done if no request is under way and no further request will be sent. The caller holds
// the lock.
func (r *activeSpan) closeIfDone() {
	if r.underWay > 0 || r.more && !r.over {
		return
	}
	select {
	case <-r.done:
	default:
		close(r.done)
	}
}

// finish ends the span. It stops sending, gives up requests that are under way, and counts the requests that were not
// sent.
func (r *activeSpan) finish() {
	r.mu.Lock()
	r.over = true
	now := r.session.now()
	if r.arrivals != nil {
		for r.more {
			r.tallies[0].add(Exchange{Name: r.session.requests[r.next.request].name, Due: r.next.intended, Last: now, Kind: Unanswered,
				Text: "not sent: no connection was free until the end of the drain"}, r.begin)
			r.draw()
		}
	}
	r.closeIfDone()
	r.mu.Unlock()
	r.ended.Store(true) // senders see this and stop; requests that are already under way are given up below
	for _, c := range r.session.connections {
		c.giveUp(Unanswered, now)
	}
	<-r.done
}

// expire gives up requests that are under way for longer than the timeout.
func (r *activeSpan) expire(ctx context.Context) {
	timeout := r.session.conf.Timeout
	tick := time.NewTicker(min(max(timeout/20, time.Millisecond), 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := r.session.now() - timeout
		for _, c := range r.session.connections {
			c.giveUp(Timeout, before)
		}
	}
}

func (r *activeSpan) result() *Result {
	var parts []*Result
	for i := range r.tallies {
		b := &r.tallies[i]
		b.mu.Lock()
		defer b.mu.Unlock()
		parts = append(parts, b.result)
	}
	sum := Merge(parts...)
	sum.Duration = r.span.Duration
	sum.Elapsed = max(sum.Elapsed, sum.Duration)
	sum.Closed = r.arrivals == nil
	return sum
}

// tally holds a part of a span's result. A span has several tallies, so that its connections do not all wait for one
// lock.
type tally struct {
	mu     sync.Mutex
	result *Result
	_      [48]byte // padding: the locks of two tallies lie on different cache lines
}

// add counts a request that has ended. The measured time starts at begin.
func (b *tally) add(x Exchange, begin time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.result.Add(x, begin)
}

func (b *tally) connected(agreed string, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.result.Handshakes[agreed]++
	b.result.Connect.Record(took)
}
