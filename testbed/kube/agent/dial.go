package agent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Times between tries to connect.
const (
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 3 * time.Second
)

// attempt is one goroutine's tries to connect, for which all callers wait.
type attempt struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when one of these is set
	link   *link
	err    error
}

// reach gives a connection that was alive a moment ago.
func (s *Session) reach(ctx context.Context) (*link, error) {
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
		s.trying = &attempt{cancel: cancel, done: make(chan struct{})}
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

// connect tries until it succeeds, it is of no use, or patience is at an end.
func (s *Session) connect(ctx context.Context, a *attempt) {
	defer a.cancel(nil)
	a.link, a.err = s.tries(ctx)
	if a.link != nil {
		s.tidy(a.link) // the link is nobody else's yet
	}
	s.mu.Lock()
	s.trying = nil
	if a.link != nil {
		s.link = a.link
	}
	s.mu.Unlock()
	close(a.done)
}

func (s *Session) tries(ctx context.Context) (*link, error) {
	begun, backoff := time.Now(), s.backoff
	for {
		l, err := s.try(ctx, begun)
		if err == nil {
			return l, nil
		}
		var version *VersionError
		if errors.As(err, &version) {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := s.alive(ctx); err != nil {
			return nil, err
		}
		left := s.o.Patience - time.Since(begun)
		if left <= 0 {
			return nil, &LostError{Since: time.Since(begun), Err: err}
		}
		wait := time.NewTimer(min(backoff, left))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil, context.Cause(ctx)
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// alive asks whether it is of any use to go on, bounded.
func (s *Session) alive(ctx context.Context) error {
	if s.o.Alive == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, s.o.Patience)
	defer cancel()
	err := s.o.Alive(limited)
	if limited.Err() != nil {
		return nil // it could not be told
	}
	return err
}

// try dials once. A try takes half of the patience at most, so that one that
// hangs is not the only one.
func (s *Session) try(ctx context.Context, begun time.Time) (*link, error) {
	limit := max(time.Second, min(s.o.Patience/2, s.o.Patience-time.Since(begun)))
	// The context of a dial is that of its connection: it ends with the link, not
	// with the greeting.
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	late := time.AfterFunc(limit, func() { cancel(fmt.Errorf("not connected within %v", limit.Round(time.Millisecond))) })
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	conn, err := s.dial(own)
	var l *link
	if err == nil {
		l, err = newLink(own, conn, s.o.Version, hello{Session: s.name, Lease: s.o.Lease}, s.quiet)
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
