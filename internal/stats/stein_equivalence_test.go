package stats

import (
	"math"
	"testing"
)

// If a margin lies exactly on a bound of an interval with twice the error probability, the two
// one-sided tests have that error probability.
func TestEquivalenceSteinMatchesInterval(t *testing.T) {
	d := []float64{0.011, -0.004, 0.007, 0.013, -0.002, 0.009, 0.003}
	e, err := SteinInterval(0.008, 5, d, 0.90)
	if err != nil {
		t.Fatal(err)
	}
	p, err := equivalent(e.Hi)(SteinInterval(0.008, 5, d, 0.5)) // the mean is positive: Hi is the farther bound
	if err != nil || math.Abs(p-0.05) > 1e-12 {
		t.Errorf("p = %v, %v; want 0.05", p, err)
	}
}
