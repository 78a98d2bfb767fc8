//go:build !linux

package pause

import "time"

// Timer waits again and again, for one goroutine at a time.
type Timer struct{}

// NewTimer makes a timer, which should be closed.
func NewTimer() (*Timer, error) { return &Timer{}, nil }

// Wait waits for d.
func (t *Timer) Wait(d time.Duration) { time.Sleep(d) }

// Close closes the timer.
func (t *Timer) Close() error { return nil }
