package testbed

import (
	"context"
	"time"
)

// Pause waits for the duration. If the context is done earlier, it returns the context's error.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
