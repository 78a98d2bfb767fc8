package pause

import (
	"testing"
	"time"
)

func TestForIsNotShorter(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, 3 * time.Millisecond} {
		start := time.Now()
		For(d)
		if took := time.Since(start); took < d {
			t.Errorf("For(%v) took %v", d, took)
		}
	}
}

// BenchmarkLate reports how late a pause of a millisecond ends.
func BenchmarkLate(b *testing.B) {
	var late time.Duration
	for b.Loop() {
		start := time.Now()
		For(time.Millisecond)
		late += time.Since(start) - time.Millisecond
	}
	b.ReportMetric(float64(late.Nanoseconds())/float64(b.N), "ns-late/op")
}
