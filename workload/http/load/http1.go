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
	answers *answers
	written chan struct{} // closed when a large request is written; guarded by the lane's lock
}

// atOnce is the largest request that is written by whoever sends it. Larger ones have a
// goroutine of their own, for they may have to wait for the server to read them. It is the
// least that an empty send buffer takes.
const atOnce = 16 << 10

func newHTTP1(k *link, conn net.Conn) *http1 {
	return &http1{link: k, conn: conn, answers: newAnswers()}
}

func (h *http1) write(_ *slot, o *outgoing, _ uint64, last bool) {
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

// put writes a request. Where that fails the connection is broken, but there may still be an
// answer to read before its end, so only read tells how the request ended.
func (h *http1) put(request []byte) {
	if _, err := h.conn.Write(request); err != nil {
		h.link.lane.mu.Lock()
		h.link.retire()
		h.link.lane.mu.Unlock()
	}
}

// drop is not possible: HTTP/1.1 cannot take a request back.
func (h *http1) drop(*slot) bool { return false }

// errLeft ends a connection that the generator leaves.
var errLeft = errors.New("the connection takes no more requests")

func (h *http1) read() error {
	if ok, err := h.link.lane.session.loops.read(h); ok {
		return err
	}
	for {
		n, err := h.conn.Read(h.answers.space())
		if err = h.took(n, err); err != nil {
			if errors.Is(err, errLeft) {
				awaitEnd(h.link.raw, h.conn)
			}
			return err
		}
	}
}

// took takes what was read from the connection, and the error with which reading ended. It
// gives the error with which the connection ends.
func (h *http1) took(n int, failed error) error {
	h.answers.added(n)
	a, done, err := h.answers.next()
	if err == nil && !done && failed != nil {
		if errors.Is(failed, io.EOF) {
			a, done, err = h.answers.end()
		} else {
			err = failed
		}
	}
	if err != nil {
		return err
	}
	if done {
		if err := h.answered(a); err != nil {
			return err
		}
	}
	return failed
}

// answered ends a request. It is errLeft where the connection takes no other.
func (h *http1) answered(a answer) error {
	l := h.link.lane
	now := l.session.now()
	early := h.early(a)
	sl := l.slots[0]
	l.mu.Lock()
	if !sl.busy || sl.link != h.link {
		l.mu.Unlock()
		return malformedf("an answer to no request")
	}
	o := judge(a, l.session.requests[sl.ticket.request])
	behind := h.answers.pending() > 0
	if behind && o.kind == "" {
		o = outcome{Malformed, "bytes behind the answer", a.body}
	}
	if sl.doomed != "" { // the connection is cut, but this had been read
		o = outcome{sl.doomed, givenUp(sl.doomed), a.body}
	}
	if a.close || behind || early {
		h.link.retire()
	}
	gone := h.link.last
	sl.busy = false
	l.mu.Unlock()
	sl.end(o, now)
	if gone {
		return errLeft
	}
	return nil
}

// early says whether an answer has come before its request was written. Where a request went
// well it surely is written, and its writer is given the time to say so.
func (h *http1) early(a answer) bool {
	h.link.lane.mu.Lock()
	written := h.written
	h.written = nil
	h.link.lane.mu.Unlock()
	if written == nil {
		return false
	}
	select {
	case <-written:
		return false
	default:
	}
	wait := 10 * time.Millisecond
	if a.status >= 200 && a.status <= 299 {
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
func judge(a answer, o *outgoing) outcome {
	switch {
	case a.status < 200 || a.status > 299:
		return outcome{status(a.status), fmt.Sprintf("status %d", a.status), a.body}
	case o.answer >= 0 && a.body != int64(o.answer):
		return outcome{Length, fmt.Sprintf("a body of %d bytes where %d were asked for", a.body, o.answer), a.body}
	}
	return outcome{received: a.body}
}

// awaitEnd lets the server close a connection first, for a second at most: so the port that is
// taken for a minute after the end (TIME-WAIT) is the server's, and a load of new connections
// does not run out of ports.
func awaitEnd(raw net.Conn, r io.Reader) {
	_ = raw.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, r)
}
