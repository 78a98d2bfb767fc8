package kube

import (
	"context"
	"fmt"
	"time"

	"tare/experiment/quantity"
)

// The pauses between two looks at something that is waited for. Looking beats
// watching here: it needs fewer rights, and does not mind an API server that
// restarts in between.
const (
	firstLook = 50 * time.Millisecond
	rareLook  = time.Second
	// telling is after which time, and how often, progress is said.
	telling = 3 * time.Second
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

// Await waits until done says true, asking it at growing intervals up to the
// limit of the testbed's timeout ready. What is said in its progress and in the
// error when the limit is reached: "condition Ready of VarmorPolicy demo: status
// Pending".
func (s *Site) Await(ctx context.Context, what string, done func(context.Context) (ok bool, now string, err error)) error {
	return s.bed.await(ctx, what, s.level.Timeouts.Ready.Std(), done)
}

func (on *presence) await(ctx context.Context, what string, limit time.Duration, done func(context.Context) (bool, string, error)) error {
	return on.bed.await(ctx, what, limit, done)
}

// await asks done until it says true, fails, or the limit is reached.
func (t *Testbed) await(ctx context.Context, what string, limit time.Duration, done func(context.Context) (bool, string, error)) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start, told := time.Now(), time.Now()
	last := ""
	for pause := firstLook; ; pause = min(pause*3/2, rareLook) {
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
		if time.Since(told) >= telling {
			told = time.Now()
			t.options.Say(fmt.Sprintf("waiting for %s (%v): %s", what, quantity.Duration(time.Since(start).Round(time.Second)), printable(now, 300)))
		}
		select {
		case <-time.After(pause):
		case <-limited.Done():
		}
	}
}
