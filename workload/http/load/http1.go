package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// http1 is HTTP/1.1 on a connection: one request at a time, none in advance.
type http1 struct {
	link    *link
	conn    net.Conn
	parser  *responseParser
	written chan struct{} // closed when a large request is written; guarded by the lane's lock
}

// atOnce is the largest request that is written by whoever sends it. Larger ones have a
// goroutine of their own, for they may have to wait for the server to read them. It is the
// least that an empty send buffer takes.
const atOnce = 16 << 10

func newHTTP1(k *link, conn net.Conn) *http1 {
	return &http1{link: k, conn: conn, parser: new(responseParser)}
}

func (h *http1) write(_ *slot, q *encodedRequest, _ uint64, last bool) {
	request := q.keep
	if last {
		request = q.last
	}
	if len(request) <= atOnce {
		h.put(request)
		return
	}
	written := make(chan struct{})
	h.link.conn.mu.Lock()
	h.written = written
	h.link.conn.mu.Unlock()
	go func() {
		defer close(written)
		h.put(request)
	}()
}

// put writes a request. Where that fails the connection is broken, but there may still be an
// answer to read before its end, so only read tells how the request ended.
func (h *http1) put(request []byte) {
	if _, err := h.conn.Write(request); err != nil {
		h.link.conn.mu.Lock()
		h.link.retire()
		h.link.conn.mu.Unlock()
	}
}

// drop is not possible: HTTP/1.1 cannot take a request back.
func (h *http1) drop(*slot) bool { return false }

// errRetired ends a link that takes no more requests.
var errRetired = errors.New("the connection takes no more requests")

func (h *http1) read() error {
	if ok, err := h.link.conn.session.loops.read(h); ok {
		return err
	}
	for {
		n, err := h.conn.Read(h.parser.space())
		if err = h.received(n, err); err != nil {
			if errors.Is(err, errRetired) {
				awaitEnd(h.link.raw, h.conn)
			}
			return err
		}
	}
}

// took takes what was read from the connection, and the error with which reading ended. It
// gives the error with which the connection ends.
func (h *http1) received(n int, failed error) error {
	h.parser.added(n)
	resp, done, err := h.parser.next()
	if err == nil && !done && failed != nil {
		if errors.Is(failed, io.EOF) {
			resp, done, err = h.parser.end()
		} else {
			err = failed
		}
	}
	if err != nil {
		return err
	}
	if done {
		if err := h.complete(resp); err != nil {
			return err
		}
	}
	return failed
}

// answered ends a request. It is errRetired where the connection takes no other.
func (h *http1) complete(resp response) error {
	c := h.link.conn
	now := c.session.now()
	early := h.early(resp)
	sl := c.slots[0]
	c.mu.Lock()
	if !sl.busy || sl.link != h.link {
		c.mu.Unlock()
		return malformedf("an answer to no request")
	}
	o := c.session.requests[sl.due.request].outcome(resp)
	behind := h.parser.pending() > 0
	if behind && o.kind == "" {
		o = outcome{Malformed, "bytes behind the answer", resp.body}
	}
	if sl.givenUp != "" { // the connection is cut, but this had been read
		o = giveUp(sl.givenUp)
		o.received = resp.body
	}
	if resp.close || behind || early {
		h.link.retire()
	}
	retired := h.link.retired
	sl.busy = false
	c.mu.Unlock()
	sl.end(o, now)
	if retired {
		return errRetired
	}
	return nil
}

// early says whether an answer has come before its request was written. Where a request went
// well it surely is written, and its writer is given the time to say so.
func (h *http1) early(resp response) bool {
	h.link.conn.mu.Lock()
	written := h.written
	h.written = nil
	h.link.conn.mu.Unlock()
	if written == nil {
		return false
	}
	select {
	case <-written:
		return false
	default:
	}
	wait := 10 * time.Millisecond
	if resp.status >= 200 && resp.status <= 299 {
		wait = time.Second
	}
	select {
	case <-written:
		return false
	case <-time.After(wait):
		return true
	}
}

// judge says how a complete answer ends its request.
func (q *encodedRequest) outcome(resp response) outcome {
	switch {
	case resp.status < 200 || resp.status > 299:
		return outcome{Kind(fmt.Sprintf("status-%d", resp.status)), fmt.Sprintf("status %d", resp.status), resp.body}
	case q.answer >= 0 && resp.body != int64(q.answer):
		return outcome{Length, fmt.Sprintf("a body of %d bytes where %d were asked for", resp.body, q.answer), resp.body}
	}
	return outcome{received: resp.body}
}

// awaitEnd lets the server close a connection first, for a second at most: so the port that is
// taken for a minute after the end (TIME-WAIT) is the server's, and a load of new connections
// does not run out of ports.
func awaitEnd(raw net.Conn, r io.Reader) {
	_ = raw.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, r)
}
