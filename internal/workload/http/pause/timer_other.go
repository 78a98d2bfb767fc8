//go:build !linux

package pause

import (
	"sync"
	"time"
)

// timer waits repeatedly, for one goroutine at a time.
type timer struct {
	closed chan struct{}
	once   sync.Once
}

// NewTimer makes a timer, which should be closed.
func NewTimer() (*timer, error) { return &timer{closed: make(chan struct{})}, nil }

// Wait waits for the duration d, or until the timer is closed.
func (t *timer) Wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.closed:
	}
}

// Close closes the timer. A call of Wait that is still waiting then returns.
func (t *timer) Close() { t.once.Do(func() { close(t.closed) }) }
