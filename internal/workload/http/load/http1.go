package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// http1 implements wire for HTTP/1.1, with one request at a time (no pipelining).
type http1 struct {
	link    *link
	conn    net.Conn
	parser  *responseParser
	first   time.Duration // time at which the first byte of the latest response arrived; only the reader uses it
	written chan struct{} // closed when a large request has been written; guarded by the connection's lock
}

// atOnce is the size, in bytes, of the largest request that its sender writes itself: an empty send buffer holds it.
// Another goroutine writes larger ones.
const atOnce = 16 << 10

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

// put writes a request. A failed write does not end the request, whose response may have arrived before: the method
// read decides how it ended.
func (h *http1) put(request []byte) {
	if _, err := h.conn.Write(request); err != nil {
		h.link.conn.mu.Lock()
		h.link.retire()
		h.link.conn.mu.Unlock()
	}
}

// drop returns false: HTTP/1.1 cannot cancel a request.
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

// received parses the n bytes that a read returned with readErr. Its result is why the connection ends; nil: the
// connection goes on.
func (h *http1) received(n int, readErr error) error {
	begins := n > 0 && h.parser.state == nil
	if begins {
		h.first = h.link.conn.session.now()
	}
	h.parser.added(n)
	resp, done, err := h.parser.next()
	if err == nil && !done && readErr != nil {
		if errors.Is(readErr, io.EOF) {
			resp, done, err = h.parser.end()
		} else {
			err = readErr
		}
	}
	if err != nil {
		return err
	}
	if done {
		now := h.first
		if !begins {
			now = h.link.conn.session.now()
		}
		if err := h.complete(resp, now); err != nil {
			return err
		}
	}
	return readErr
}

// complete ends the request whose response was complete at the time now. It returns errRetired if the connection cannot
// carry another request.
func (h *http1) complete(resp response, now time.Duration) error {
	c := h.link.conn
	early := h.early(resp)
	sl := c.slots[0]
	c.mu.Lock()
	if !sl.busy || sl.link != h.link {
		c.mu.Unlock()
		return malformedf("a response without a request")
	}
	x := c.session.requests[sl.due.request].outcome(resp)
	sl.first = h.first
	behind := h.parser.pending() > 0
	if behind && x.Kind == "" {
		x.Kind, x.Text = Malformed, "bytes after the response"
	}
	if sl.givenUp != "" { // the request was given up when its response had already been read
		x = giveUp(sl.givenUp)
		x.BytesReceived = resp.body
	}
	if resp.close || behind || early {
		h.link.retire()
	}
	retired := h.link.retired
	sl.busy = false
	c.mu.Unlock()
	sl.end(x, now)
	if retired {
		return errRetired
	}
	return nil
}

// early reports whether the server answered a request that was not fully written. After an OK response, writing has a
// second to finish; otherwise 10 ms.
func (h *http1) early(resp response) bool {
	h.link.conn.mu.Lock()
	written := h.written
	h.written = nil
	h.link.conn.mu.Unlock()
	if written == nil {
		return false
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

func (q *encodedRequest) outcome(resp response) Exchange {
	x := Exchange{BytesReceived: resp.body}
	switch {
	case resp.status < 200 || resp.status > 299:
		x.Kind, x.Text = Kind(fmt.Sprintf("status-%d", resp.status)), fmt.Sprintf("status %d", resp.status)
	case q.answer >= 0 && resp.body != int64(q.answer):
		x.Kind, x.Text = length, fmt.Sprintf("a body of %d bytes where %d were asked for", resp.body, q.answer)
	}
	return x
}

// awaitEnd waits up to a second for the server to close the connection first. If the client closed first, its port
// would stay busy for a minute (TIME-WAIT), and a load could run out of ports.
func awaitEnd(raw net.Conn, r io.Reader) {
	_ = raw.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, r)
}
