package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"tare/internal/run/machine"
	"tare/internal/run/machine/proc"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/process"
)

// replyTimeout is how long a client may take to read a response. The agent then closes the connection.
const replyTimeout = time.Minute

type serverConn struct {
	server  *Server
	conn    net.Conn
	session *serverSession // nil before hello

	writing sync.Mutex
}

func (s *Server) serveConn(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // when the connection ends, its requests stop waiting for programs
	c := &serverConn{server: s, conn: conn}
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	r := bufio.NewReader(conn)
	number, _, err := readGreeting(r)
	if err != nil {
		return
	}
	if _, err := io.WriteString(conn, greeting(s.Version)); err != nil || number != protocol {
		return // the client reports that the protocols differ
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
			handling.Wait() // the request that ended the session must still get its response
			return
		}
		handling.Go(func() {
			defer s.memory.free(held)
			c.reply(c.handle(ctx, q, body))
		})
	}
}

// next reads a request. It reserves held bytes of memory, which the caller must free. If too little memory is left,
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

// begin handles the first request of a connection. It reports whether the connection may be used.
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
		_ = c.conn.SetWriteDeadline(time.Now().Add(replyTimeout))
		_, err = c.conn.Write(frame)
	}
	if err != nil {
		_ = c.conn.Close()
	}
}

// handle carries out a request. piece is the body of the response.
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
		limit := time.NewTimer(timeout)
		defer limit.Stop()
		select {
		case <-p.done:
		case <-limit.C:
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

// counters reads the requested counters. It finds all cgroups first, so that all counters are read at nearly the same
// time.
func (s *Server) counters(q *CountersRequest) (Counters, error) {
	if q == nil {
		q = &CountersRequest{}
	}
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
		if got, ok := g.Read(); ok {
			c.Pods = append(c.Pods, got)
		}
	}
	return c, nil
}
