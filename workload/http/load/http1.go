package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"time"
)

// http1 is HTTP/1.1 on a connection: one request at a time, none in advance.
type http1 struct {
	link    *link
	conn    net.Conn
	br      *bufio.Reader
	written chan struct{} // closed when a large request is written; guarded by the lane's lock
}

// atOnce is the largest request that is written by whoever sends it. Larger ones have a
// goroutine of their own, for they may have to wait for the server to read them. It is the
// least that an empty send buffer takes.
const atOnce = 16 << 10

// readBuffer holds an answer's longest line.
const readBuffer = 16 << 10

func newHTTP1(k *link, conn net.Conn) *http1 {
	return &http1{link: k, conn: conn, br: bufio.NewReaderSize(conn, readBuffer)}
}

func (h *http1) write(sl *slot, _ uint64, last bool) {
	o := h.link.lane.session.requests[sl.ticket.request]
	request := o.keep
	if last {
		request = o.last
	}
	if len(request) <= atOnce {
		h.put(request)
		return
	}
	written := make(chan struct{})
	h.link.lane.mu.Lock()
	h.written = written
	h.link.lane.mu.Unlock()
	go func() {
		defer close(written)
		h.put(request)
	}()
}

// put writes a request. Where that fails there may still be an answer to read, so only the
// other direction tells how it ended.
func (h *http1) put(request []byte) {
	if _, err := h.conn.Write(request); err != nil {
		h.link.lane.mu.Lock()
		h.link.retire()
		h.link.lane.mu.Unlock()
		_ = h.link.raw.SetReadDeadline(time.Now().Add(time.Second))
	}
}

// drop is not possible: HTTP/1.1 cannot take a request back.
func (h *http1) drop(*slot) bool { return false }

func (h *http1) read() error {
	l := h.link.lane
	for {
		if _, err := h.br.Peek(1); err != nil {
			return err
		}
		a, err := readAnswer(h.br)
		if err != nil {
			return err
		}
		now := l.session.now()
		sl := l.slots[0]
		l.mu.Lock()
		if !sl.busy || sl.link != h.link {
			l.mu.Unlock()
			return malformedf("bytes that answer no request")
		}
		o := judge(a, l.session.requests[sl.ticket.request])
		if h.br.Buffered() > 0 && o.kind == "" {
			o = outcome{Malformed, "bytes behind the answer", a.body}
		}
		if a.close || h.br.Buffered() > 0 {
			h.link.retire()
		}
		gone, written := h.link.last, h.written
		h.written = nil
		if sl.doomed != "" { // the connection is cut, but this had been read
			o = outcome{sl.doomed, givenUp(sl.doomed), a.body}
		}
		if written != nil && !done(written) { // answered before it was asked in full
			h.link.retire()
			gone = true
		}
		sl.busy = false
		l.mu.Unlock()
		sl.end(o, now)
		if gone {
			return h.leave(a.close)
		}
	}
}

// done says whether a request is written, and gives its writer a moment to say so.
func done(written <-chan struct{}) bool {
	select {
	case <-written:
		return true
	case <-time.After(10 * time.Millisecond):
		return false
	}
}

// judge says how a complete answer ends its request.
func judge(a answer, o *outgoing) outcome {
	switch {
	case a.status < 200 || a.status > 299:
		return outcome{status(a.status), fmt.Sprintf("status %d", a.status), a.body}
	case o.answer >= 0 && a.body != int64(o.answer):
		return outcome{Length, fmt.Sprintf("a body of %d bytes where %d were asked for", a.body, o.answer), a.body}
	}
	return outcome{received: a.body}
}

// leave lets the server close a connection first where it said that it will: so the port that
// is taken for a minute after the end (TIME-WAIT) is the server's, and a load of new
// connections does not run out of ports.
func (h *http1) leave(closing bool) error {
	if closing {
		awaitEnd(h.link.raw, h.br)
	}
	return io.EOF
}

// awaitEnd reads until the other side has closed, for a second at most.
func awaitEnd(raw net.Conn, r io.Reader) {
	_ = raw.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, r)
}
