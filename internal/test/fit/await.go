package fit

import (
	"testing"
	"time"
)

// Await waits until so() is true. It fails the test 10 s before the time limit of the test program; without such a
// limit, after 10 minutes.
func Await(t testing.TB, what string, so func() bool) {
	t.Helper()
	begun := time.Now()
	limit := begun.Add(10 * time.Minute)
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := d.Deadline(); ok {
			limit = end.Add(-10 * time.Second)
		}
	}
	for pause := time.Millisecond; !so(); time.Sleep(pause) {
		if time.Now().After(limit) {
			t.Fatalf("waited %v for %s", time.Since(begun).Round(time.Second), what)
		}
		pause = min(pause*3/2, 50*time.Millisecond)
	}
}
