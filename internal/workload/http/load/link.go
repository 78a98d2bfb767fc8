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
	"time"
)

// link is one network connection, from its dial to its end.
type link struct {
	conn    *connection
	ctx     context.Context // ends with the dial
	cancel  context.CancelFunc
	dialled chan struct{} // closed when the dial has ended

	// The connection's lock guards these fields.
	waiting  []*slot // slots whose requests wait for the dial
	requests int     // number of requests so far
	retired  bool    // the link takes no more requests
	wire     wire    // nil: not dialled yet
	raw      net.Conn
	agreed   string // TLS version, cipher and protocol in use
}

// wire speaks one protocol on a network connection.
type wire interface {
	// write sends a slot's request, unless the slot already has a later turn. The argument last marks the last
	// request of the network connection. If writing fails, read returns the error.
	write(sl *slot, q *encodedRequest, turn uint64, last bool)
	// read reads responses, and ends the requests that they answer, until the network connection ends. The
	// error is the cause of that end. Requests still under way fail with this error.
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

// connectionOutcome returns how requests end when their connection fails.
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
			time.Sleep(time.Millisecond) // a closed loop would dial without pause while no server listens
		}
		k.ended(err)
		return
	}
	if r := s.run.Load(); r != nil {
		r.tallies[0].connected(k.agreed, s.now()-began)
	}
	var w wire
	if s.conf.Protocol == HTTP1 {
		w = newHTTP1(k, network)
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

// kind returns the kind of an error of the dial: Timeout if the dial's time was over, otherwise the given
// kind.
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

// drop cancels one request. It returns false if the request ends later, with its connection. The caller holds
// the connection's lock.
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
