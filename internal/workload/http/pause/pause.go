// Package pause waits for short times, with an error of microseconds.
//
// A load generator cannot use time.Sleep. While a program has open connections, the runtime of Go waits for timers in
// epoll_wait, which counts in milliseconds. On Linux a Timer is therefore a timer of the kernel (timerfd). Such a wait
// needs no thread and has no slack, while a sleep may end 50 µs late. On other systems a Timer is one of Go's timers.
package pause

import (
	"sync"
	"time"
)

var timers = sync.Pool{New: func() any {
	t, err := NewTimer()
	if err != nil {
		return err
	}
	return t
}}

// For waits until the time d has passed.
func For(d time.Duration) {
	if d <= 0 {
		return
	}
	t, ok := timers.Get().(*timer)
	if !ok { // no timer could be made: too many files are open
		time.Sleep(d)
		return
	}
	t.Wait(d)
	timers.Put(t)
}
