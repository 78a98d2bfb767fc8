package figure

import (
	"testing"

	"tare/internal/analysis"
)

// Whiskers end at values, and a single odd trial is none of theirs.
func TestWhiskers(t *testing.T) {
	for _, c := range []struct {
		values []float64
		q1, q3 float64
		lo, hi float64
	}{
		{[]float64{1, 2, 3, 4, 5}, 2, 4, 1, 5},
		{[]float64{1, 2, 3, 4, 50}, 2, 4, 1, 4},
		{[]float64{-9, 2, 3, 4, 50}, 2, 4, 2, 4},
		{[]float64{3, 3, 3, 3, 9}, 3, 3, 3, 3},
	} {
		a := Arm{Values: c.values, Summary: analysis.Summary{N: len(c.values), Q1: c.q1, Q3: c.q3}}
		if lo, hi := a.whiskers(); lo != c.lo || hi != c.hi {
			t.Errorf("the whiskers of %v end at %v and %v, want %v and %v", c.values, lo, hi, c.lo, c.hi)
		}
	}
}
