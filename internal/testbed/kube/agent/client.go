package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/process"
)

// Client is the client of one pod's agent. It renews a broken connection. Several goroutines may use a Client.
type Client struct {
	dial    dial
	o       Options
	name    string        // random name of the session
	lease   time.Duration // time without a request after which the agent ends the session
	quiet   time.Duration // time without a response after which the client sends a ping, see defaultQuiet
	backoff time.Duration // wait before the second try to connect

	mu        sync.Mutex
	link      *link       // the latest connection; it may have ended
	trying    *connecting // tries to connect that are under way; nil if there are none
	serial    int         // number of the latest program
	running   int         // number of programs that have not ended yet
	abandoned []string    // programs for which no caller waits, although they may still run
	closed    bool
}

// Options configure a Client.
type Options struct {
	// Patience is how long a Client tries to reconnect, before its calls fail with a *LostError. 0 means 30 s.
	Patience time.Duration
	// Alive returns an error if the pod is gone, and reconnecting is useless; nil: the client does not check the pod.
	Alive func(ctx context.Context) error
	// Version is the version of this Tare. An agent of another version gives a *versionError. "" and "devel" fit all
	// versions.
	Version string
}

// LostError means that the agent could not be reached, although the Client tried for as long as its Patience.
type LostError struct {
	Since time.Duration // time since the first try to reconnect
	Err   error         // error of the latest try
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the agent in the pod was not reached in %v: %v", e.Since.Round(100*time.Millisecond), e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// ErrForgotten is the error for a program that the agent no longer knows, since the agent was restarted.
var ErrForgotten = errors.New("the agent has ended or was restarted")

var errClosed = errors.New("the session with the agent is closed")

// A request is repeated if its connection breaks. It fails after breaksLimit breaks in a row, each within breakWindow
// after it was sent.
const (
	breaksLimit = 10
	breakWindow = 5 * time.Second
)

// NewClient makes a client for a new session. The client connects when it is first used.
func NewClient(dial dial, o Options) *Client {
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
	return &Client{
		dial: dial, o: o, name: rand.Text(), lease: max(30*time.Minute, 2*o.Patience),
		quiet: defaultQuiet, backoff: firstBackoff,
	}
}

func (s *Client) call(ctx context.Context, q request, body []byte) (reply, error) {
	breaks := 0
	for begun := time.Now(); ; {
		l, err := s.connected(ctx)
		if err != nil {
			return reply{}, err
		}
		asked := time.Now()
		a, err := l.ask(ctx, q, body)
		var refused *failure
		switch {
		case err == nil && a.Failure != nil:
			return reply{}, a.Failure
		case err == nil:
			return a, nil
		case ctx.Err() != nil || errors.As(err, &refused):
			return reply{}, err
		}
		if breaks++; time.Since(asked) > breakWindow {
			breaks, begun = 0, time.Now()
		}
		if breaks >= breaksLimit {
			err = fmt.Errorf("%d connections broke after the request %s: %w", breaks, q.Op, err)
			return reply{}, &LostError{Since: time.Since(begun), Err: err}
		}
	}
}

func (s *Client) Facts(ctx context.Context) (Facts, error) {
	a, err := s.call(ctx, request{Op: opFacts}, nil)
	return part(a.Facts, "facts", err)
}

// Counters requests the counters of the node and of pods.
func (s *Client) Counters(ctx context.Context, q CountersRequest) (Counters, error) {
	a, err := s.call(ctx, request{Op: opCounters, CountersRequest: &q}, nil)
	return part(a.Counters, "counters", err)
}

func part[T any](p *T, name string, err error) (T, error) {
	if err == nil && p == nil {
		err = fmt.Errorf("%s: %w: the answer has none", name, errFrame)
	}
	if err != nil {
		return *new(T), err
	}
	return *p, nil
}

// RoundTrip measures how long one request and its response take.
func (s *Client) RoundTrip(ctx context.Context) (time.Duration, error) {
	if _, err := s.connected(ctx); err != nil { // connects first, since connecting is not part of the measured time
		return 0, err
	}
	begun := time.Now()
	_, err := s.call(ctx, request{Op: opPing}, nil)
	return time.Since(begun), err
}

// abandon makes the client end a program that no caller waits for, before any other request. Without a connection, the
// program ends with the lease.
func (s *Client) abandon(program string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandoned = append(s.abandoned, program)
	if s.link != nil && s.link.reason() == nil {
		go s.endAbandoned(s.link)
	}
}

func (s *Client) endAbandoned(l *link) {
	s.mu.Lock()
	abandoned := s.abandoned
	s.abandoned = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), process.EndLimit+process.OutputDelay+time.Second)
	defer cancel()
	for i, program := range abandoned {
		if _, err := l.ask(ctx, request{Op: opDrop, Program: program}, nil); err != nil {
			s.mu.Lock()
			s.abandoned = append(s.abandoned, abandoned[i:]...)
			s.mu.Unlock()
			return
		}
	}
}

// Close ends the connection. Programs that still run are killed at once or, without a connection, when the lease ends.
func (s *Client) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	l, trying, needed := s.link, s.trying, s.running+len(s.abandoned) > 0 // needed: programs may still run, and the agent must end them
	s.mu.Unlock()
	if trying != nil {
		trying.cancel(errClosed)
		<-trying.done
		l = trying.link
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.bye(ctx, l); err == nil || !needed {
		return nil
	}
	l, err := s.dialOnce(ctx, time.Now()) // the message was lost: send it once more, over a new connection
	if err == nil {
		err = s.bye(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("close the session with the agent: %w; programs that still run there are killed within %v",
			err, s.lease)
	}
	return nil
}

func (s *Client) bye(ctx context.Context, l *link) error {
	if l == nil {
		return errClosed
	}
	_, err := l.ask(ctx, request{Op: opBye}, nil)
	l.close(errClosed)
	return err
}

// These are the first and the longest pause between tries to connect. Each pause is twice the previous one.
const (
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 3 * time.Second
)

// connecting is a series of tries to connect, which one goroutine makes. All callers wait for its result.
type connecting struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when link or err is set
	link   *link
	err    error
}

func (s *Client) connected(ctx context.Context) (*link, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	if s.trying == nil && s.link != nil && s.link.reason() == nil {
		defer s.mu.Unlock()
		return s.link, nil
	}
	if s.trying == nil {
		trying, cancel := context.WithCancelCause(context.Background())
		s.trying = &connecting{cancel: cancel, done: make(chan struct{})}
		go s.connect(trying, s.trying)
	}
	a := s.trying
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.link, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Client) connect(ctx context.Context, a *connecting) {
	defer a.cancel(nil)
	a.link, a.err = s.dialUntil(ctx)
	if a.link != nil {
		s.endAbandoned(a.link) // before the field link shows the new link to other goroutines
	}
	s.mu.Lock()
	s.trying = nil
	if a.link != nil {
		s.link = a.link
	}
	s.mu.Unlock()
	close(a.done)
}

// dialUntil dials until it succeeds. It gives up if the pod is gone, or when the time limit Patience has passed.
func (s *Client) dialUntil(ctx context.Context) (*link, error) {
	begun, backoff := time.Now(), s.backoff
	for {
		l, err := s.dialOnce(ctx, begun)
		if err == nil {
			return l, nil
		}
		var version *versionError
		if errors.As(err, &version) {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := s.podAlive(ctx); err != nil {
			return nil, err
		}
		left := s.o.Patience - time.Since(begun)
		if left <= 0 {
			return nil, &LostError{Since: time.Since(begun), Err: err}
		}
		if testbed.Pause(ctx, min(backoff, left)) != nil {
			return nil, context.Cause(ctx)
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// podAlive returns the reason why further tries are useless; nil if the pod lives or its state is unknown. It takes at
// most Patience.
func (s *Client) podAlive(ctx context.Context) error {
	if s.o.Alive == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, s.o.Patience)
	defer cancel()
	err := s.o.Alive(limited)
	if limited.Err() != nil {
		return nil // the state of the pod is unknown
	}
	return err
}

// dialOnce makes one try to connect. A try that hangs ends after half of the client's patience, so that time for
// another try is left.
func (s *Client) dialOnce(ctx context.Context, begun time.Time) (*link, error) {
	limit := max(time.Second, min(s.o.Patience/2, s.o.Patience-time.Since(begun)))
	// The connection outlives ctx. But while it is being made, the end of ctx ends the try.
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	late := time.AfterFunc(limit, func() { cancel(fmt.Errorf("not connected within %v", limit.Round(time.Millisecond))) })
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	conn, err := s.dial(own)
	var l *link
	if err == nil {
		l, err = newLink(own, conn, s.o.Version, hello{Session: s.name, Lease: s.lease}, s.quiet)
	}
	stop()
	if err == nil && !late.Stop() {
		l.close(context.Cause(own))
		err = context.Cause(own)
	}
	if err != nil {
		late.Stop()
		if cause := context.Cause(own); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		cancel(err)
		return nil, err
	}
	go func() {
		<-l.dead
		cancel(l.reason())
	}()
	return l, nil
}
