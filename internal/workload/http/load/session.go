// Package load generates HTTP load and measures response times: HTTP/1.1, HTTP/2 (over TLS with ALPN, or without TLS
// with prior knowledge) and gRPC unary calls.
//
// # What is measured
//
// In an open loop every request has an intended time, from a constant or a Poisson process. The intended time does not
// depend on the server. The latency counts from the intended time to the last byte of the response. If the server
// stalls, all requests that fall due during the stall have a longer latency. A closed loop sends no requests during a
// stall, and therefore does not see the wait of the requests due. This error is called coordinated omission (G. Tene,
// How NOT to Measure Latency, 2013).
//
// The time to first byte also counts from the intended time, and ends with the first byte of the response.
//
// A closed loop has a number of workers. Each worker sends its next request when its last response is complete. The
// latency counts from the time of sending. Closed loops exist for comparison with other tools that have them.
//
// Two parts of an open loop's latency are also recorded by themselves. Waited is the time for which a request was due,
// but all connections were busy. The cause of Waited is the server, or too few connections. Lag is the time by which
// the generator was late although a connection was free. If Lag is not small compared with the latency, the result does
// not describe the server.
//
// Every request that falls due within the measured time ends exactly once: as OK, or as an error of one kind.
//
// # How it works
//
// One goroutine, the pacer, sleeps until the next request is due (package pause). The pacer writes the request to the
// connection that has been free for longest. Each connection has a goroutine that reads. On Linux, a few event loops
// read, instead of these goroutines, if the load is HTTP/1.1 without TLS (eventLoops). When a response is complete and
// another request is overdue, the reader sends that request at once.
//
// Requests are encoded before the load begins. Responses are parsed without allocating memory. The client of net/http
// takes several times the CPU time per request, which a server on the same machine would lack.
//
// A session has connections, which stay open between spans of load. Each connection has slots, and a link: its current
// network connection. A slot carries one request at a time. An activeSpan is a span of load under way. The activeSpan
// hands each due request to a free slot. A Client runs sessions for another process.
package load

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/workload/http/pause"
)

// defaultTimeout is the timeout of a Config without one.
const defaultTimeout = 10 * time.Second

// session holds connections to one server. Spans of load use the connections one span after the other.
type session struct {
	conf        Config
	address     string // "HOST:PORT" to connect to
	tls         *tls.Config
	requests    []*encodedRequest
	connections []*connection
	slots       []*slot
	loops       *eventLoops
	began       time.Time // all times within a session count from here

	ctx     context.Context // context of the session; Close ends it
	cancel  context.CancelFunc
	links   sync.WaitGroup // waits for the goroutines of all links
	running sync.Mutex     // held while a span runs
	run     atomic.Pointer[activeSpan]
}

// Open makes a session. Run makes the connections. The caller must close the session.
func Open(c Config) (*session, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Streams = max(c.Streams, 1)
	if len(c.Requests) == 0 {
		c.Requests = []Request{{}}
	}
	s := &session{conf: c, began: time.Now()}
	s.address = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	if s.tls, err = c.clientTLS(u); err != nil {
		return nil, err
	}
	for i, r := range c.Requests {
		q, err := encode(c.Protocol, u, r)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", i+1, err)
		}
		s.requests = append(s.requests, q)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for range c.Connections {
		s.connections = append(s.connections, &connection{session: s, number: len(s.connections)})
	}
	for range c.Streams { // neighbours in the list of slots thus belong to different connections
		for _, c := range s.connections {
			sl := &slot{conn: c, number: len(s.slots)}
			c.slots = append(c.slots, sl)
			s.slots = append(s.slots, sl)
		}
	}
	s.loops, err = newEventLoops(s)
	return s, err
}

// now returns the time since the session began.
func (s *session) now() time.Duration { return time.Since(s.began) }

// Run runs a span of load. An unreachable or failing server gives a result without an error. Run returns an error if
// the span is invalid, its start has passed, or ctx or the session ends.
func (s *session) Run(ctx context.Context, span Span) (*Result, error) {
	if err := span.Validate(); err != nil {
		return nil, err
	}
	if span.Workers > len(s.slots) {
		return nil, fmt.Errorf("workers %d: the session carries %d requests at a time (connections × streams)", span.Workers, len(s.slots))
	}
	s.running.Lock()
	defer s.running.Unlock()
	if s.ctx.Err() != nil {
		return nil, errClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(errClosed) })()
	if s.conf.RequestsPerConnection == 0 {
		s.connect(ctx)
	}
	if err := waitUntil(ctx, span.Start); err != nil {
		return nil, err
	}
	r := newActiveSpan(s, span)
	s.run.Store(r)
	defer s.run.Store(nil)
	return r.do(ctx)
}

var errClosed = errors.New("the session is closed")

// ErrLate is the error of a span whose start had passed when it was requested.
var ErrLate = errors.New("too late")

func waitUntil(ctx context.Context, start time.Time) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if start.IsZero() {
		return nil
	}
	left := time.Until(start)
	if left < 0 {
		return fmt.Errorf("%w: the start at %s was %v ago: clients that begin together need a later one", ErrLate, start.Format(time.RFC3339Nano), -left)
	}
	timer, err := pause.NewTimer()
	if err != nil {
		return err
	}
	defer timer.Close()
	defer context.AfterFunc(ctx, timer.Close)()
	timer.Wait(time.Until(start))
	return context.Cause(ctx)
}

// dialsAtATime bounds simultaneous dials, so that the server's queue of new connections does not overflow.
const dialsAtATime = 32

// connect makes the connections that a session lacks, until one fails. The first request of each connection that is
// still missing dials it.
func (s *session) connect(ctx context.Context) {
	turns := make(chan struct{}, dialsAtATime)
	var all sync.WaitGroup
	var failed atomic.Bool
	for _, c := range s.connections {
		if ctx.Err() != nil || failed.Load() {
			break
		}
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			c.mu.Lock()
			k := c.current()
			c.mu.Unlock()
			select {
			case <-k.dialled:
				if _, up := c.agreed(); !up {
					failed.Store(true)
				}
			case <-ctx.Done():
			}
		})
	}
	all.Wait()
}

// Close ends the session and its running span of load, if any. It returns after all connections of the session are
// closed.
func (s *session) Close() {
	s.cancel()
	s.running.Lock() // waits for the method Run, which holds this lock until its span has ended
	defer s.running.Unlock()
	s.links.Wait()
	s.loops.close()
	s.loops = nil
}

// ClientRequest is one request to a Client. Exactly one field is set.
type ClientRequest struct {
	Open  *Config `json:"open,omitempty"`  // opens a session; the earlier session is closed
	Run   *Span   `json:"run,omitempty"`   // sends this period of load in the session that the last Open made
	Clock bool    `json:"clock,omitempty"` // asks only for the process's time, which every response has
}

type clientResponse struct {
	Error  string    `json:"error,omitempty"`
	Late   bool      `json:"late,omitempty"` // set if the error is ErrLate
	Result *Result   `json:"result,omitempty"`
	Now    time.Time `json:"now,omitzero"` // time by the clock of the client's process
}

// Client carries out the requests of another process. The client's session stays open between requests.
type Client struct{ session *session }

// Close closes the session.
func (c *Client) Close() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}

// Serve reads one ClientRequest in JSON, carries it out, and writes the response as a line of JSON. The end of the
// input breaks a span off.
func (c *Client) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var request ClientRequest
	var result *Result
	err := json.NewDecoder(in).Decode(&request)
	if err == nil {
		go func() {
			_, _ = io.Copy(io.Discard, in) // returns when the input ends
			cancel()
		}()
		result, err = c.carryOut(ctx, request)
	}
	response := clientResponse{Result: result, Late: errors.Is(err, ErrLate), Now: time.Now()}
	if err != nil {
		response.Error = err.Error()
	}
	return json.NewEncoder(out).Encode(response)
}

func (c *Client) carryOut(ctx context.Context, r ClientRequest) (*Result, error) {
	switch {
	case r.Open != nil:
		c.Close()
		if r.Open.Threads > 0 {
			runtime.GOMAXPROCS(r.Open.Threads)
		}
		var err error
		c.session, err = Open(*r.Open)
		return nil, err
	case r.Run != nil && c.session == nil:
		return nil, errors.New("no session is open")
	case r.Run != nil:
		return c.session.Run(ctx, *r.Run)
	case r.Clock:
		return nil, nil
	}
	return nil, errors.New("a request without content")
}

// ReadResponse reads a client's response: a span's result, or nil, and the time by the client's clock. The error is
// ErrLate if the request came after the span's start.
func ReadResponse(text []byte) (*Result, time.Time, error) {
	var r clientResponse
	switch err := json.Unmarshal(text, &r); {
	case err != nil:
		return nil, r.Now, fmt.Errorf("load: a response that cannot be read: %w", err)
	case r.Late:
		return nil, r.Now, fmt.Errorf("%w%s", ErrLate, strings.TrimPrefix(r.Error, ErrLate.Error()))
	case r.Error != "":
		return nil, r.Now, errors.New(r.Error)
	}
	return r.Result, r.Now, nil
}
