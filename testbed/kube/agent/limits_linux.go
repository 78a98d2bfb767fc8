package agent

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Bounds on what one agent can be made to hold, by all of its connections together.
// Whoever may exec into the pod, and every program in it, may speak to the agent.
const (
	connLimit     = 64       // connections; a session has one, and old ones that nobody has noticed to be dead
	sessionsLimit = 16       // sessions of clients that were heard of within their lease
	programsLimit = 250      // programs that were started and not dropped
	memoryLimit   = 48 << 20 // bytes of requests under way, with their answers, and of what programs were started with
)

// What an agent counts as held for one thing, beside the bytes that came with it.
const (
	requestCost = 4 << 10  // a request under way
	podCost     = 1 << 10  // a pod in an answer with counters
	factsCost   = 64 << 10 // a program that tells the facts, with its output
	programCost = 32 << 10 // a program: what it said last, and what follows it
)

// budget is an amount of something of which a part can be held. Its zero value has none.
type budget struct {
	limit int64
	what  string // "bytes of memory", for the error

	mu   sync.Mutex
	held int64
}

// bound sets the bounds that are not set.
func (s *Server) bound() {
	for _, b := range []struct {
		of    *budget
		limit int64
		what  string
	}{{&s.memory, memoryLimit, "bytes of memory"}, {&s.store, StoreLimit, "bytes for outputs"}, {&s.started, programsLimit, "room for programs"}} {
		if b.of.limit == 0 {
			b.of.limit = b.limit
		}
		b.of.what = b.what
	}
}

// boundError says that a bound is reached.
type boundError struct{ text string }

func (e *boundError) Error() string { return e.text }

// take holds n more, or is a *boundError.
func (b *budget) take(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.held {
		return &boundError{fmt.Sprintf("the agent of this pod has no more %s: %d are held, %d more were asked for, and %d are the most", b.what, b.held, n, b.limit)}
	}
	b.held += n
	return nil
}

// free gives n back.
func (b *budget) free(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
}

// cost is what answering a request may take beside what came with it.
func cost(q *request) int64 {
	n := int64(requestCost)
	switch q.Op {
	case opFetch:
		n += chunkSize
	case opFacts:
		n += factsCost
	case opCounters:
		if q.Question != nil {
			n += podCost * int64(len(q.Question.Cgroups))
		}
	}
	return n
}

// cost is what a program holds of the agent's memory until it is dropped.
func (o *startOrder) cost() int64 {
	n := int64(programCost)
	for _, list := range [][]string{o.Args, o.Env} {
		for _, text := range list {
			n += int64(len(text)) + 16 // a string's head
		}
	}
	return n
}

// refusalDelay is how long a client that is turned away may take to read why.
const refusalDelay = 5 * time.Second

// refusal ends a connection and says why. It reads on until the client has ended it too:
// what is closed with something unread may take away the answer.
func refusal(conn net.Conn, why error) {
	frame, err := encode(response{Failure: failureOf(why)}, nil)
	if err != nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(refusalDelay))
	if _, err := conn.Write(frame); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(conn, headLimit+bodyLimit))
}
