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

	"tare/machine"
	"tare/machine/proc"
	"tare/testbed"
	"tare/testbed/kube/agent/cgroup"
	"tare/testbed/process"
)

// replyDelay is how long a client may take to read an answer. One that was stopped for
// longer connects again.
const replyDelay = time.Minute

// conversation is one connection from the agent's side.
type conversation struct {
	server *Server
	conn   net.Conn
	tenant *tenant // nil before hello

	writing sync.Mutex
}

// greetingDelay is how long a new connection may take to say whose it is.
const greetingDelay = 30 * time.Second

// converse answers requests until the connection ends.
func (s *Server) converse(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // those who wait for programs on its behalf
	c := &conversation{server: s, conn: conn}
	_ = conn.SetReadDeadline(time.Now().Add(greetingDelay))
	r := bufio.NewReader(conn)
	number, _, err := readGreeting(r)
	if err != nil {
		return
	}
	if _, err := io.WriteString(conn, greeting(s.Version)); err != nil || number != protocol {
		return // the client says what is wrong
	}
	var answering sync.WaitGroup
	for {
		q, body, held, err := c.next(r)
		if err != nil {
			if bound := (*boundError)(nil); errors.As(err, &bound) {
				c.refuse(bound)
			}
			return
		}
		if c.tenant == nil {
			begun := c.begin(q)
			s.memory.free(held)
			if !begun {
				return
			}
			_ = conn.SetReadDeadline(time.Time{})
			continue
		}
		if !c.tenant.touch() {
			s.memory.free(held)
			answering.Wait() // the session has ended; what asked for that is still to be answered
			return
		}
		answering.Go(func() {
			defer s.memory.free(held)
			c.reply(c.answer(ctx, q, body))
		})
	}
}

// next reads a request, and holds memory for it and for its answer: the caller frees it.
// It is a *boundError where there is none.
func (c *conversation) next(r io.Reader) (q *request, body []byte, held int64, err error) {
	take := func(n int64) error {
		err := c.server.memory.take(n)
		if err == nil {
			held += n
		}
		return err
	}
	q = &request{}
	body, err = decodeWithin(r, q, take)
	if err == nil {
		err = take(cost(q))
	}
	if err != nil {
		c.server.memory.free(held)
	}
	return q, body, held, err
}

// refuse ends the connection and says why.
func (c *conversation) refuse(why error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	refusal(c.conn, why)
}

// begin takes the first request, which says whose connection it is.
func (c *conversation) begin(q *request) bool {
	var err error
	if q.Op != opHello {
		err = fmt.Errorf("%.80q before hello", string(q.Op))
	} else {
		c.tenant, err = c.server.tenant(q.Hello)
	}
	if err != nil {
		c.reply(response{ID: q.ID, Failure: failureOf(err)}, nil)
		return false
	}
	c.reply(response{ID: q.ID}, nil)
	return true
}

// reply sends an answer. One that cannot be sent is asked for again by whoever
// wants it, over another connection.
func (c *conversation) reply(r response, body []byte) {
	frame, err := encode(r, body)
	if err != nil {
		frame, err = encode(response{ID: r.ID, Failure: failureOf(err)}, nil)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err == nil {
		_ = c.conn.SetWriteDeadline(time.Now().Add(replyDelay))
		_, err = c.conn.Write(frame)
	}
	if err != nil {
		_ = c.conn.Close()
	}
}

// answer does what a request asks for.
func (c *conversation) answer(ctx context.Context, q *request, body []byte) (r response, piece []byte) {
	r.ID = q.ID
	var err error
	switch q.Op {
	case opPing:
	case opStart:
		_, err = c.tenant.start(q.Program, q.Start, body)
	case opDrop:
		c.tenant.drop(q.Program)
	case opBye:
		c.tenant.leave("it was killed because Tare has ended its session")
	case opFacts:
		var facts Facts
		facts, err = c.server.facts(ctx)
		r.Facts = &facts
	case opCounters:
		var counters Counters
		if counters, err = c.server.counters(q.Question); err == nil && q.Question != nil {
			err = c.tenant.follow(q.Question, &counters)
		}
		r.Counters = &counters
	case opWait, opKill, opCPU, opFetch:
		var p *program
		if p, err = c.tenant.program(q.Program); err == nil {
			piece, err = p.answer(ctx, q, &r)
		}
	default:
		err = fmt.Errorf("the agent knows no request %.80q", string(q.Op))
	}
	r.Failure = failureOf(err)
	return r, piece
}

var errEnding = &failure{Kind: notKnown, Text: "the agent is ending"}

// answer does what a request asks of a program that was started.
func (p *program) answer(ctx context.Context, q *request, r *response) (piece []byte, err error) {
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
		limit := time.NewTimer(process.EndLimit + process.OutputDelay)
		defer limit.Stop()
		select {
		case <-p.done:
		case <-limit.C:
			return nil, fmt.Errorf("killed, but not gone after %v: does it wait for a disk that does not answer?", process.EndLimit+process.OutputDelay)
		case <-ctx.Done():
			return nil, errEnding
		}
	case opCPU:
		r.CPU, _ = p.kept.CPU()
		r.Memory, _ = p.kept.Memory()
	case opFetch:
		return p.fetch(q.Fetch)
	}
	return nil, nil
}

// fetch reads a piece of an output of a program. Of one that goes on it is what there is so
// far, which may be nothing.
func (p *program) fetch(o *fetchOrder) ([]byte, error) {
	if o == nil {
		return nil, fmt.Errorf("fetch: without an order")
	}
	captures := map[string]*capture{"stdout": p.stdout, "stderr": p.stderr}
	c := captures[o.Stream]
	if c == nil || c.file == nil {
		return nil, fmt.Errorf("fetch: the program's %.20q is not kept", o.Stream)
	}
	size := c.size.Load()
	if o.Offset < 0 || o.Offset > size {
		return nil, fmt.Errorf("fetch: %d is not in an output of %d bytes", o.Offset, size)
	}
	piece := make([]byte, min(chunkSize, size-o.Offset))
	n, err := c.file.ReadAt(piece, o.Offset)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return piece[:n], nil
}

// podsLimit is how many pods one Question may name.
const podsLimit = 10000

// counters reads what a Question asks for. Cgroups are found first, so that all
// counters are of one moment as nearly as can be.
func (s *Server) counters(q *Question) (Counters, error) {
	if q == nil {
		q = &Question{}
	}
	if len(q.Cgroups) > podsLimit {
		return Counters{}, fmt.Errorf("counters: %d pods are asked for, %d at once are the most", len(q.Cgroups), podsLimit)
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
	c.Network, _ = testbed.ReadNetwork(testbed.ResourceNetwork) // nothing is known of it in some sandboxes
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
