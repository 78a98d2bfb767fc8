package testbed

import (
	"context"
	"time"
)

// Pause waits. It is the context's error where that is done before.
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
