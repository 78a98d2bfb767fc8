package cluster

import (
	"context"
	"fmt"
	"time"

	"tare/internal/experiment/quantity"
	"tare/internal/text/safetext"
)

// FirstPoll and LastPoll are the first and the longest pause between two polls of an awaited state; the
// pauses grow. Tare polls and does not watch, since polling needs fewer rights, and goes on after a restart
// of the API server.
const (
	FirstPoll = 50 * time.Millisecond
	LastPoll  = time.Second
	// SayAfter is the interval between lines of progress during a wait.
	SayAfter = 3 * time.Second
)

// TimeoutError means that a state was not reached within a time limit.
type TimeoutError struct {
	What  string // awaited state
	Limit time.Duration
	Now   string // latest state
}

// Error names the awaited state, the limit and the latest state.
func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("%s: not after %v", e.What, quantity.Duration(e.Limit))
	if e.Now != "" {
		text += ": " + e.Now
	}
	return text
}

// Await calls done again and again, with growing pauses, until ok is true, done fails, or the limit is
// reached. Progress lines and errors name the awaited state and the latest state. The awaited state is the
// argument what ("condition Ready of VarmorPolicy demo"). The latest state is the result now ("status
// Pending").
func (c *Cluster) Await(
	ctx context.Context, what string, limit time.Duration, done func(context.Context) (ok bool, now string, err error),
) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start, said := time.Now(), time.Now()
	last := ""
	for pause := FirstPoll; ; pause = min(pause*3/2, LastPoll) {
		ok, now, err := done(limited)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case limited.Err() != nil && !ok:
			return &TimeoutError{What: what, Limit: limit, Now: last}
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		case ok:
			return nil
		}
		last = now
		if time.Since(said) >= SayAfter {
			said = time.Now()
			waited := quantity.Duration(time.Since(start).Round(time.Second))
			c.Say(fmt.Sprintf("waiting for %s (%v): %s", what, waited, safetext.Head(now, 300)))
		}
		select {
		case <-time.After(pause):
		case <-limited.Done():
		}
	}
}
