package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/testbed"
)

// These are the first and the longest pause between tries to connect. The pauses double.
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
		s.endAbandoned(a.link) // no other goroutine uses the link yet
	}
	s.mu.Lock()
	s.trying = nil
	if a.link != nil {
		s.link = a.link
	}
	s.mu.Unlock()
	close(a.done)
}

// dialUntil dials until it succeeds. It gives up if the pod is gone, or if the patience is used up.
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

// podAlive returns the reason why more tries are useless, or nil, within the patience.
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

// dialOnce dials once. A try that hangs takes at most half of the patience, and leaves time for another try.
func (s *Client) dialOnce(ctx context.Context, begun time.Time) (*link, error) {
	limit := max(time.Second, min(s.o.Patience/2, s.o.Patience-time.Since(begun)))
	// The context that dial gets is also the context of the connection. It must end with the link.
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
