package agent

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"tare/internal/run/machine"
	"tare/internal/run/machine/proc"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/process"
)

type serverConn struct {
	server  *Server
	conn    net.Conn
	session *serverSession // nil before the request hello

	writing sync.Mutex
}

func (s *Server) serveConn(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // once the connection has ended, its requests must not wait for programs any longer
	c := &serverConn{server: s, conn: conn}
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	r := bufio.NewReader(conn)
	number, _, err := readGreeting(r)
	if err != nil {
		return
	}
	if _, err := io.WriteString(conn, greeting(s.Version)); err != nil || number != protocol {
		return // if the protocols differ, the client returns the error
	}
	var handling sync.WaitGroup
	for {
		q, body, held, err := c.next(r)
		if err != nil {
			if bound := (*quotaError)(nil); errors.As(err, &bound) {
				c.writing.Lock()
				defer c.writing.Unlock()
				sendRefusal(conn, bound)
			}
			return
		}
		if c.session == nil {
			begun := c.begin(q)
			s.memory.free(held)
			if !begun {
				return
			}
			_ = conn.SetReadDeadline(time.Time{})
			continue
		}
		if !c.session.renewLease() {
			s.memory.free(held)
			handling.Wait() // a request has ended the session; its response is sent before the connection ends
			return
		}
		handling.Go(func() {
			defer s.memory.free(held)
			c.reply(c.handle(ctx, q, body))
		})
	}
}

// next reads a request and reserves memory for it. After success, the caller frees the held bytes. If memory is short,
// the error is a *quotaError.
func (c *serverConn) next(r io.Reader) (q *request, body []byte, held int64, err error) {
	take := func(n int64) error {
		err := c.server.memory.take(n)
		if err == nil {
			held += n
		}
		return err
	}
	q = &request{}
	body, err = decode(r, q, take)
	if err == nil {
		err = take(cost(q))
	}
	if err != nil {
		c.server.memory.free(held)
	}
	return q, body, held, err
}

func (c *serverConn) begin(q *request) bool {
	err := fmt.Errorf("%.80q before hello", string(q.Op))
	if q.Op == opHello {
		c.session, err = c.server.session(q.Hello)
	}
	c.reply(response{ID: q.ID, Failure: failureOf(err)}, nil)
	return err == nil
}

// reply sends a response. If this fails, the client repeats its request over another connection.
func (c *serverConn) reply(r response, body []byte) {
	frame, err := encode(r, body)
	if err != nil {
		frame, err = encode(response{ID: r.ID, Failure: failureOf(err)}, nil)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err == nil {
		_ = c.conn.SetWriteDeadline(time.Now().Add(time.Minute))
		_, err = c.conn.Write(frame)
	}
	if err != nil {
		_ = c.conn.Close()
	}
}

// handle carries out a request and returns the response. The result piece is the response's body.
func (c *serverConn) handle(ctx context.Context, q *request, body []byte) (r response, piece []byte) {
	r.ID = q.ID
	var err error
	switch q.Op {
	case opPing:
	case opStart:
		err = c.session.start(q.Program, q.Start, body)
	case opDrop:
		c.session.drop(q.Program)
	case opBye:
		c.session.end("it was killed because Tare has ended its session")
	case opFacts:
		var facts Facts
		facts, err = c.server.facts(ctx)
		r.Facts = &facts
	case opCounters:
		var counters Counters
		if counters, err = c.server.counters(q.CountersRequest); err == nil && q.CountersRequest != nil {
			err = c.session.follow(q.CountersRequest, &counters)
		}
		r.Counters = &counters
	case opWait, opKill, opCPU, opFetch:
		var p *program
		if p, err = c.session.program(q.Program); err == nil {
			piece, err = p.handle(ctx, q, &r)
		}
	default:
		err = fmt.Errorf("the agent knows no request %.80q", string(q.Op))
	}
	r.Failure = failureOf(err)
	return r, piece
}

var errEnding = &failure{Kind: notKnown, Text: "the agent is ending"}

func (p *program) handle(ctx context.Context, q *request, r *response) (piece []byte, err error) {
	switch q.Op {
	case opWait:
		select {
		case <-p.done:
			r.End = &p.end
		case <-ctx.Done():
			return nil, errEnding
		}
	case opKill:
		p.stop("")
		const timeout = process.EndLimit + process.OutputDelay
		select {
		case <-p.done:
		case <-time.After(timeout):
			return nil, fmt.Errorf("killed, but not gone after %v: does it wait for a disk that does not answer?", timeout)
		case <-ctx.Done():
			return nil, errEnding
		}
	case opCPU:
		r.CPU, _ = p.process.CPU()
		r.Memory, _ = p.process.Memory()
	case opFetch:
		return p.fetch(q.Fetch)
	}
	return nil, nil
}

// fetch reads a piece of a program's output. The piece may be empty while the program runs.
func (p *program) fetch(o *fetchRequest) ([]byte, error) {
	if o == nil {
		return nil, fmt.Errorf("fetch: the request names no output")
	}
	captures := map[string]*capture{"stdout": p.stdout, "stderr": p.stderr}
	c := captures[o.Stream]
	if c == nil || c.file == nil {
		return nil, fmt.Errorf("fetch: the program's %.20q is not kept", o.Stream)
	}
	size := c.size.Load()
	if o.Offset < 0 || o.Offset > size {
		return nil, fmt.Errorf("fetch: the offset %d is outside the output of %d bytes", o.Offset, size)
	}
	piece := make([]byte, min(chunkSize, size-o.Offset))
	n, err := c.file.ReadAt(piece, o.Offset)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return piece[:n], nil
}

const podsLimit = 10000

// counters reads the requested counters. It finds all cgroups first, to read all counters at nearly the same time.
func (s *Server) counters(q *CountersRequest) (Counters, error) {
	q = cmp.Or(q, &CountersRequest{})
	if len(q.Cgroups) > podsLimit {
		return Counters{}, fmt.Errorf("counters: the request names %d pods; the maximum is %d", len(q.Cgroups), podsLimit)
	}
	for _, uid := range q.Cgroups {
		if !cgroup.ValidUID.MatchString(uid) {
			return Counters{}, fmt.Errorf("counters: %.80q is not the UID of a pod", uid)
		}
	}
	var pods []cgroup.Group
	if q.Root != "" {
		pods = s.pods.Find(q.Root, q.Cgroups)
	}
	root := os.DirFS("/")
	own := cgroup.Own(root, proc.Groups(proc.Below("/")))

	totals, err := machine.ReadTotals("/", time.Now)
	if err != nil {
		return Counters{}, fmt.Errorf("counters: %w", err)
	}
	c := Counters{Totals: totals, BootID: plain(readText(root, "proc/sys/kernel/random/boot_id"))}
	c.Network, _ = testbed.ReadNetwork(testbed.ResourceNetwork) // some sandboxes have no network counters
	if q.Root != "" {
		c.Grouped = cgroup.Grouped(os.DirFS(q.Root))
	}
	if got, ok := own.Read(); ok {
		c.Own = &got
	}
	for _, g := range pods {
		read := g.Read
		if slices.Contains(q.Quotas, g.Pod()) {
			read = g.ReadQuotas
		}
		if got, ok := read(); ok {
			c.Pods = append(c.Pods, got)
		}
	}
	return c, nil
}

// The limits protect an agent: every program in the pod, and every user who may exec into the pod, can connect to it.
const (
	connLimit     = 64  // maximum number of connections, including broken ones not yet detected
	sessionsLimit = 16  // maximum number of sessions whose lease has not ended
	programsLimit = 250 // maximum number of started programs that no client has dropped yet
	// memoryLimit is the maximum memory in bytes for pending requests, responses, and programs' arguments.
	memoryLimit = 48 << 20
)

// An agent reserves memory for a request: the bytes of the request itself, and in addition these amounts, in bytes.
const (
	requestCost = 4 << 10  // memory per pending request
	podCost     = 1 << 10  // memory per pod in a response with counters
	factsCost   = 64 << 10 // memory for the process that prints facts, and for its output
	programCost = 32 << 10 // memory per program: for its goroutines and the kept end of its standard error
)

type quota struct {
	limit int64
	unit  string // unit for error messages, such as "bytes of memory"

	mu   sync.Mutex
	held int64 // number of units that are in use now
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

// sendRefusal sends the reason for a refusal. It then reads until the client closes the connection: closing with unread
// bytes may lose the response.
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
