package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// link is one network connection, from its dial to its end.
type link struct {
	conn    *connection
	ctx     context.Context // context of the dial; it is cancelled when the dial is over
	cancel  context.CancelFunc
	dialled chan struct{} // closed when the dial has ended

	// The lock of the client's connection guards the fields from here on.
	waiting  []*slot // slots whose requests are sent when the dial has ended
	requests int     // number of requests so far
	retired  bool    // the link takes no more requests
	wire     wire    // nil: not dialled yet
	raw      net.Conn
	agreed   string // TLS version, cipher and protocol in use
}

// wire speaks one protocol on a network connection.
type wire interface {
	// write sends q, the request of the slot with the number turn. It does nothing if the slot has a later request.
	// last: the connection's last request. The method read returns its errors.
	write(sl *slot, q *encodedRequest, turn uint64, last bool)
	// read reads responses until the network connection ends, and returns the cause of the end. Requests still under
	// way fail with this error.
	read() error
	// drop cancels one request. It returns false if only closing the connection can cancel the request. The
	// caller holds the connection's lock.
	drop(sl *slot) bool
}

func newLink(c *connection) *link {
	ctx, cancel := context.WithTimeout(c.session.ctx, c.session.conf.Timeout)
	return &link{conn: c, ctx: ctx, cancel: cancel, dialled: make(chan struct{})}
}

// failure is an error with the kind under which it is counted.
type failure struct {
	kind Kind
	err  error
}

func (e *failure) Error() string { return e.err.Error() }
func (e *failure) Unwrap() error { return e.err }

func malformedf(format string, args ...any) error {
	return &failure{Malformed, fmt.Errorf(format, args...)}
}

// connectionOutcome returns the outcome of a request whose connection failed with the error err.
func connectionOutcome(err error) Exchange {
	x := Exchange{Kind: Closed, Text: err.Error()}
	if f, ok := errors.AsType[*failure](err); ok {
		x.Kind, x.Text = f.kind, f.Error()
	} else if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		x.Text = "the connection was closed before the answer was complete"
	}
	// Servers with TLS 1.3 refuse a client's certificate after the handshake, by a TLS alert: a "remote error".
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		x.Kind, x.Text = handshake, err.Error()
	}
	return x
}

// live dials, sends the waiting requests, and reads until the connection ends.
func (k *link) live() {
	c := k.conn
	s := c.session
	began := s.now()
	network, err := k.dial()
	k.cancel()
	if err != nil {
		close(k.dialled)
		if r := s.run.Load(); r != nil && r.arrivals == nil {
			time.Sleep(time.Millisecond) // without the pause, a closed loop would dial all the time while no server listens
		}
		k.ended(err)
		return
	}
	if r := s.run.Load(); r != nil {
		r.tallies[0].connected(k.agreed, s.now()-began)
	}
	var w wire
	if s.conf.Protocol == HTTP1 {
		w = &http1{link: k, conn: network, parser: new(responseParser)}
	} else {
		w = newHTTP2(k, network)
	}
	c.mu.Lock()
	k.wire = w
	waiting, last := k.waiting, k.retired
	k.waiting = nil
	turns, requests := make([]uint64, len(waiting)), make([]*encodedRequest, len(waiting))
	for i, sl := range waiting {
		turns[i], requests[i] = sl.turn, s.requests[sl.due.request]
	}
	c.mu.Unlock()
	close(k.dialled)
	defer context.AfterFunc(s.ctx, func() { _ = k.raw.Close() })()
	for i, sl := range waiting {
		w.write(sl, requests[i], turns[i], last && i == len(waiting)-1)
	}
	err = w.read()
	_ = k.raw.Close()
	k.ended(err)
}

func (k *link) dial() (net.Conn, error) {
	s := k.conn.session
	var d net.Dialer
	raw, err := d.DialContext(k.ctx, "tcp", s.address)
	if err != nil {
		return nil, &failure{k.kind(err, Dial), err}
	}
	if raw, err = s.loops.detach(raw); err != nil {
		return nil, &failure{Dial, err}
	}
	k.conn.mu.Lock()
	k.raw = raw
	k.conn.mu.Unlock()
	if s.tls == nil {
		k.agreed = "clear"
		return raw, nil
	}
	conn := tls.Client(raw, s.tls)
	if err := conn.HandshakeContext(k.ctx); err != nil {
		_ = raw.Close()
		return nil, &failure{k.kind(err, handshake), err}
	}
	state := conn.ConnectionState()
	k.agreed = agreed(state)
	if want := s.tls.NextProtos[0]; state.NegotiatedProtocol != want && (want == "h2" || state.NegotiatedProtocol != "") {
		_ = raw.Close()
		return nil, &failure{handshake, fmt.Errorf("ALPN: the server chose %q and not %q", state.NegotiatedProtocol, want)}
	}
	return conn, nil
}

// kind returns Timeout if the dial failed because its time was over. Otherwise it returns the given kind.
func (k *link) kind(err error, otherwise Kind) Kind {
	if k.ctx.Err() == context.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return Timeout
	}
	return otherwise
}

// agreed returns the TLS version, cipher, key exchange and protocol in use, and the URI names in the server's
// certificate.
func agreed(state tls.ConnectionState) string {
	parts := []string{tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite)}
	if state.CurveID != 0 {
		parts = append(parts, state.CurveID.String())
	}
	if state.NegotiatedProtocol != "" {
		parts = append(parts, state.NegotiatedProtocol)
	}
	if len(state.PeerCertificates) > 0 {
		for _, uri := range state.PeerCertificates[0].URIs {
			parts = append(parts, uri.String())
		}
	}
	return strings.Join(parts, ", ")
}

// drop cancels one request. If the protocol cannot, it closes the connection with all requests, and returns false. The
// caller holds the connection's lock.
func (k *link) drop(sl *slot) bool {
	if k.wire != nil && k.wire.drop(sl) {
		return true
	}
	k.cut()
	return false
}

// cut closes the network connection, or stops its dial. The caller holds the connection's lock.
func (k *link) cut() {
	if k.conn.link == k {
		k.conn.link = nil
	}
	k.cancel()
	if k.raw != nil {
		_ = k.raw.Close()
	}
}

// retire makes the link take no more requests. The caller holds the connection's lock.
func (k *link) retire() {
	k.retired = true
	if k.conn.link == k {
		k.conn.link = nil
	}
}

func (k *link) ended(err error) {
	var left []*slot
	var why []Exchange
	k.conn.mu.Lock()
	k.retire()
	for _, sl := range k.conn.slots {
		if sl.busy && sl.link == k {
			x := connectionOutcome(err)
			if sl.givenUp != "" {
				x = giveUp(sl.givenUp)
			}
			sl.busy = false
			left, why = append(left, sl), append(why, x)
		}
	}
	k.conn.mu.Unlock()
	for i, sl := range left {
		sl.end(why[i], k.conn.session.now())
	}
}

// connection is one of the connections that a session keeps at a time. A connection has one link after
// another. Each link is one network connection.
type connection struct {
	session *session
	number  int
	slots   []*slot

	mu   sync.Mutex // guards the slots in use and the links
	link *link      // link that takes new requests; nil: the next request makes a link
}

// slot carries one request at a time. A free slot waits in the ring of an activeSpan. During a request, the
// connection's lock guards the slot.
type slot struct {
	conn    *connection
	number  int
	run     *activeSpan
	due     due
	free    time.Duration // time at which a connection became free for the request
	sent    time.Duration // time at which the request was sent, or dialling for it began
	first   time.Duration // time at which the first byte of the response arrived
	busy    bool
	turn    uint64 // number of the slot's current request; a late event with a lower number is ignored
	link    *link  // link that carries the request
	givenUp Kind   // kind of error under which the request was given up; "": it was not given up
	stream  stream // state of an HTTP/2 request
}

// send sends a request through a free slot. The argument since is the time from which on the slot was free for it.
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

// put sends a slot's request on the current link, or lets it wait while this link dials. The caller holds the lock,
// which put releases.
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

// giveUp gives up all requests of the connection that were sent at the time before, or earlier. They count as errors of
// the kind why.
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

// end records the outcome of the slot's request and frees the slot. It must be called without a lock, and while the
// slot is not busy.
func (sl *slot) end(x Exchange, now time.Duration) {
	r := sl.run
	q := r.session.requests[sl.due.request]
	x.Name, x.Paced, x.BytesSent = q.name, r.arrivals != nil, int64(q.payload)
	x.Due, x.Free, x.Sent, x.First, x.Last = sl.due.intended, sl.free, sl.sent, sl.first, now
	r.tallies[sl.number%len(r.tallies)].add(x, r.begin)
	r.freed(sl, now)
}
