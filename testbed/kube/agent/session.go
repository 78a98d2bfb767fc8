package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"tare/testbed/process"
	"time"
)

// Session is a connection to one pod's agent that mends itself. It is safe for
// use by several goroutines.
type Session struct {
	dial    Dial
	o       Options
	name    string
	quiet   time.Duration // see defaultQuiet
	backoff time.Duration // before the second try to connect

	mu       sync.Mutex
	link     *link    // the last one; it may be dead
	trying   *attempt // to connect; nil for none
	serial   int
	running  int      // programs that are waited for
	forsaken []string // programs that may run although nobody waits for them
	closed   bool
}

// Options are how a Session behaves.
type Options struct {
	// Patience is how long a lost connection is tried again before what waits for
	// it fails with a *LostError. 30 s where it is 0.
	Patience time.Duration
	// Alive says why it is of no use to try again (the pod is gone), or nil.
	Alive func(ctx context.Context) error
	// Version is this Tare's. An image with another is a *VersionError; where it is
	// "" or "devel" it goes with every other.
	Version string
	// Lease is how long the agent keeps programs running without hearing of this
	// session: 30 minutes where it is 0, and at least twice the patience.
	Lease time.Duration
}

// LostError says that the agent could not be reached any more.
type LostError struct {
	Since time.Duration // how long it has been tried
	Err   error         // the last reason
}

// Error says for how long the agent has been out of reach, and why.
func (e *LostError) Error() string {
	return fmt.Sprintf("the agent in the pod was not reached in %v: %v", e.Since.Round(100*time.Millisecond), e.Err)
}

// Unwrap gives the reason.
func (e *LostError) Unwrap() error { return e.Err }

// ErrForgotten is what an error is where the agent ends, or knows nothing of a
// program any more: the container was stopped or restarted.
var ErrForgotten = errors.New("the agent has ended or was restarted")

var errClosed = errors.New("the session with the agent is closed")

// strikesLimit is how often a connection may break shortly after one and the same
// request before that is no longer put down to the connection.
const strikesLimit = 10

// shortly is the time after a request within which a break is a strike.
const shortly = 5 * time.Second

// NewSession makes a session, which connects when it is first used.
func NewSession(dial Dial, o Options) *Session {
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	if o.Lease <= 0 {
		o.Lease = defaultLease
	}
	o.Lease = max(o.Lease, 2*o.Patience)
	return &Session{dial: dial, o: o, name: rand.Text(), quiet: defaultQuiet, backoff: firstBackoff}
}

// call asks the agent, over as many connections as it takes. A failure that the
// agent tells is an error.
func (s *Session) call(ctx context.Context, q request, body []byte) (answer, error) {
	strikes := 0
	for begun := time.Now(); ; {
		l, err := s.reach(ctx)
		if err != nil {
			return answer{}, err
		}
		asked := time.Now()
		a, err := l.ask(ctx, q, body)
		var refused *remoteError
		switch {
		case err == nil && a.Failure != nil:
			return answer{}, a.Failure.asError()
		case err == nil:
			return a, nil
		case ctx.Err() != nil || errors.As(err, &refused):
			return answer{}, err
		}
		if strikes++; time.Since(asked) > shortly {
			strikes, begun = 0, time.Now()
		}
		if strikes >= strikesLimit {
			return answer{}, &LostError{Since: time.Since(begun), Err: fmt.Errorf("%d connections broke after the request %s: %w", strikes, q.Op, err)}
		}
	}
}

// Facts asks for the facts.
func (s *Session) Facts(ctx context.Context) (Facts, error) {
	a, err := s.call(ctx, request{Op: opFacts}, nil)
	if err != nil {
		return Facts{}, err
	}
	if a.Facts == nil {
		return Facts{}, fmt.Errorf("facts: %w: the answer has none", errFrame)
	}
	return *a.Facts, nil
}

// Counters reads the counters.
func (s *Session) Counters(ctx context.Context, q Question) (Counters, error) {
	a, err := s.call(ctx, request{Op: opCounters, Question: &q}, nil)
	if err != nil {
		return Counters{}, err
	}
	if a.Counters == nil {
		return Counters{}, fmt.Errorf("counters: %w: the answer has none", errFrame)
	}
	return *a.Counters, nil
}

// Round is the time of one question and answer, for the record.
func (s *Session) Round(ctx context.Context) (time.Duration, error) {
	if _, err := s.reach(ctx); err != nil { // connecting is not part of it
		return 0, err
	}
	begun := time.Now()
	_, err := s.call(ctx, request{Op: opPing}, nil)
	return time.Since(begun), err
}

// nextProgram names a program as no other of this session.
func (s *Session) nextProgram() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return strconv.Itoa(s.serial)
}

// ended notes that nobody waits for a program any more.
func (s *Session) ended(program string) {
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
	s.forsake(program)
}

// forsake notes a program of which it is not known whether it runs, and that
// nobody waits for any more. It is ended as soon as the agent can be reached,
// before anything else is asked of it; at the latest, the lease ends it.
func (s *Session) forsake(program string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forsaken = append(s.forsaken, program)
	if s.link != nil && s.link.reason() == nil {
		go s.tidy(s.link)
	}
}

// tidy ends forsaken programs.
func (s *Session) tidy(l *link) {
	s.mu.Lock()
	forsaken := s.forsaken
	s.forsaken = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), process.EndLimit+process.OutputDelay+time.Second)
	defer cancel()
	for i, program := range forsaken {
		if _, err := l.ask(ctx, request{Op: opDrop, Program: program}, nil); err != nil {
			s.mu.Lock()
			s.forsaken = append(s.forsaken, forsaken[i:]...)
			s.mu.Unlock()
			return
		}
	}
}

// closeLimit is how long Close takes at most to tell the agent.
const closeLimit = 5 * time.Second

// Close ends the connection. Programs that still run are killed: at once where
// the agent can be reached, or else when its lease runs out.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	l, trying, needed := s.link, s.trying, s.running+len(s.forsaken) > 0
	s.mu.Unlock()
	if trying != nil {
		trying.cancel(errClosed)
		<-trying.done
		l = trying.link
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if err := s.bye(ctx, l); err == nil || !needed {
		return nil
	}
	l, err := s.try(ctx, time.Now()) // the connection was lost; this is worth another
	if err == nil {
		err = s.bye(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("close the session with the agent: %w; programs that still run there are killed within %v", err, s.o.Lease)
	}
	return nil
}

// bye ends the session in the agent, and the link.
func (s *Session) bye(ctx context.Context, l *link) error {
	if l == nil {
		return errClosed
	}
	_, err := l.ask(ctx, request{Op: opBye}, nil)
	l.close(errClosed)
	return err
}
