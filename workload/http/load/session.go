package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"tare/workload/http/pause"
)

// defaultTimeout is Config.Timeout where none is given.
const defaultTimeout = 10 * time.Second

// Session is a number of connections to one server that spans of load go through, one after
// the other.
type Session struct {
	conf        Config
	address     string // to connect to
	tls         *tls.Config
	requests    []*encodedRequest
	connections []*connection
	slots       []*slot
	loops       *eventLoops
	began       time.Time // all times within a session are counted from here

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	links   sync.WaitGroup // goroutines of connections
	running sync.Mutex     // held by Run
	run     atomic.Pointer[run]
}

// Open makes a session. It connects to nothing yet: Run does. The session must be closed.
func Open(c Config) (*Session, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	c.Streams = max(c.Streams, 1)
	if len(c.Requests) == 0 {
		c.Requests = []Request{{}}
	}
	s := &Session{conf: c, address: c.Connect, began: time.Now()}
	if s.address == "" {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		s.address = net.JoinHostPort(u.Hostname(), port)
	}
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
	for range c.Streams { // neighbours are on different connections
		for _, c := range s.connections {
			sl := &slot{conn: c, number: len(s.slots)}
			c.slots = append(c.slots, sl)
			s.slots = append(s.slots, sl)
		}
	}
	s.loops, err = newEventLoops(s)
	return s, err
}

// now is the time since the session began.
func (s *Session) now() time.Duration { return time.Since(s.began) }

// Run goes through a span of load and gives what it came to. A server that cannot be reached or
// answers badly is a result and no error: errors are a span that is not valid, one whose start
// has passed, the end of ctx, and a session that is closed. Spans of one session go one after
// the other.
func (s *Session) Run(ctx context.Context, span Span) (*Result, error) {
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
	r := newRun(s, span)
	s.run.Store(r)
	defer s.run.Store(nil)
	return r.do(ctx)
}

var errClosed = errors.New("the session is closed")

// ErrLate is a span whose start had passed when its order came.
var ErrLate = errors.New("too late")

// await waits for the start of a span.
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

// dialsAtATime keeps the server's queue of new connections from overflowing.
const dialsAtATime = 32

// connect makes the connections that there are not, until one fails. The rest is left to the
// requests, which then fail in their own name.
func (s *Session) connect(ctx context.Context) {
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

// Close ends the session, a span that is under way included, and waits until its connections
// are closed.
func (s *Session) Close() {
	s.cancel()
	s.running.Lock() // until the span has ended
	defer s.running.Unlock()
	s.links.Wait()
	s.loops.close()
	s.loops = nil
}
