package cluster

import (
	"context"
	"fmt"
	"time"

	"tare/safetext"

	"tare/experiment/quantity"
)

// The pauses between two looks at something that is waited for. Looking beats
// watching here: it needs fewer rights, and does not mind an API server that
// restarts in between.
const (
	FirstLook = 50 * time.Millisecond
	RareLook  = time.Second
	// SayAfter is after which time, and how often, progress is said.
	SayAfter = 3 * time.Second
)

// TimeoutError says what was waited for in vain, and how it stood at the end.
type TimeoutError struct {
	What  string
	Limit time.Duration
	Now   string
}

// Error says both, and how long.
func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("%s: not after %v", e.What, quantity.Duration(e.Limit))
	if e.Now != "" {
		text += ": " + e.Now
	}
	return text
}

// Await asks done, at growing intervals, until it says true, fails, or the limit is
// reached. What names the thing in progress and in the error: "condition Ready of
// VarmorPolicy demo"; now says how it stands: "status Pending".
func (c *Cluster) Await(ctx context.Context, what string, limit time.Duration, done func(context.Context) (ok bool, now string, err error)) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start, said := time.Now(), time.Now()
	last := ""
	for pause := FirstLook; ; pause = min(pause*3/2, RareLook) {
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
			c.Say(fmt.Sprintf("waiting for %s (%v): %s", what, quantity.Duration(time.Since(start).Round(time.Second)), safetext.Head(now, 300)))
		}
		select {
		case <-time.After(pause):
		case <-limited.Done():
		}
	}
}
