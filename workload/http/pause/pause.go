// Package pause waits for short times with an error of microseconds.
//
// time.Sleep is not enough for a load generator: while a program has open connections, the
// runtime of Go waits for timers in epoll_wait, which counts in milliseconds. On Linux a Timer
// is the kernel's (timerfd), and the runtime waits for it as for a connection: without a
// thread of its own, and without the slack of 50 µs that a sleep has. Elsewhere it is one of
// Go's timers.
package pause

import (
	"sync"
	"time"
)

// timers are kept for the next pause.
var timers = sync.Pool{New: func() any {
	t, err := NewTimer()
	if err != nil {
		return err
	}
	return t
}}

// For waits for d.
func For(d time.Duration) {
	if d <= 0 {
		return
	}
	t, ok := timers.Get().(*Timer)
	if !ok { // no more files may be open
		time.Sleep(d)
		return
	}
	t.Wait(d)
	timers.Put(t)
}
