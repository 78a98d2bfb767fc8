package agent

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// These are limits of one agent. Every program in the pod, and every user who may exec into the pod, can connect.
const (
	connLimit     = 64  // maximum number of connections, including broken ones not yet detected
	sessionsLimit = 16  // maximum number of sessions whose lease has not ended
	programsLimit = 250 // maximum number of programs that were started and not dropped
	// memoryLimit is the maximum memory in bytes for pending requests, responses, and programs' arguments.
	memoryLimit = 48 << 20
)

// An agent reserves this memory, in bytes, in addition to the bytes of a request.
const (
	requestCost = 4 << 10  // memory per pending request
	podCost     = 1 << 10  // memory per pod in a response with counters
	factsCost   = 64 << 10 // memory for the process that prints facts, and for its output
	programCost = 32 << 10 // memory per program: the end of its standard error, and goroutines
)

// quota is a resource of which callers can take a limited amount in total.
type quota struct {
	limit int64
	unit  string // unit for error messages, such as "bytes of memory"

	mu   sync.Mutex
	held int64 // amount taken and not freed
}

func (b *quota) init(limit int64, unit string) {
	b.limit, b.unit = cmp.Or(b.limit, limit), unit
}

type quotaError struct{ text string }

func (e *quotaError) Error() string { return e.text }

func (b *quota) take(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.held {
		return &quotaError{fmt.Sprintf("the agent of this pod has no more %s: %d in use, %d more requested, %d at most",
			b.unit, b.held, n, b.limit)}
	}
	b.held += n
	return nil
}

func (b *quota) free(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
}

// cost returns the memory in bytes that the response to q may need.
func cost(q *request) int64 {
	n := int64(requestCost)
	switch q.Op {
	case opFetch:
		n += chunkSize
	case opFacts:
		n += factsCost
	case opCounters:
		if q.CountersRequest != nil {
			n += podCost * int64(len(q.CountersRequest.Cgroups))
		}
	}
	return n
}

// cost returns how many bytes of the agent's memory a program holds until it is dropped.
func (o *startRequest) cost() int64 {
	n := int64(programCost)
	for _, list := range [][]string{o.Args, o.Env} {
		for _, text := range list {
			n += int64(len(text)) + 16 // 16 bytes are the header of a Go string
		}
	}
	return n
}

const refusalTimeout = 5 * time.Second

// sendRefusal sends the reason for a refusal and reads until the client closes the connection. If a socket is closed
// with unread bytes, the response may be lost.
func sendRefusal(conn net.Conn, why error) {
	frame, err := encode(response{Failure: failureOf(why)}, nil)
	if err != nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(refusalTimeout))
	if _, err := conn.Write(frame); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(conn, headLimit+bodyLimit))
}
