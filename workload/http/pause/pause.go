// Package pause waits for short times with an error of microseconds.
//
// time.Sleep is not enough for a load generator: while a program has open connections, the
// runtime of Go waits for timers in epoll_wait, which counts in milliseconds. On Linux this
// package asks the kernel itself, with the slack of its timers (50 µs by default) taken away.
// Elsewhere it is time.Sleep.
package pause

import "time"

// For waits for d. It blocks an OS thread of its own meanwhile and uses no CPU time, so it is
// for a few goroutines at a time, and cannot be interrupted.
func For(d time.Duration) {
	if d > 0 {
		sleep(d)
	}
}
