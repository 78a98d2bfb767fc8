package stats

import (
	"math"
	"testing"
)

// A margin at which one bound of the interval of twice the error lies exactly is
// where the two one-sided tests give that error.
func TestEquivalenceSteinMatchesInterval(t *testing.T) {
	d := []float64{0.011, -0.004, 0.007, 0.013, -0.002, 0.009, 0.003}
	e, err := SteinInterval(0.008, 5, d, 0.90)
	if err != nil {
		t.Fatal(err)
	}
	p, err := EquivalenceStein(0.008, 5, d, e.Hi) // the mean is positive: Hi is the farther bound
	if err != nil || math.Abs(p-0.05) > 1e-12 {
		t.Errorf("p = %v, %v; want 0.05", p, err)
	}
}

func TestEquivalenceSteinRefuses(t *testing.T) {
	d := []float64{1, 2, 3}
	for _, c := range []struct {
		sd     float64
		n      int
		margin float64
		want   string
	}{
		{1, 3, 0, "Stein equivalence: margin 0 is not a positive number: argument out of range"},
		{0, 3, 1, "Stein equivalence: pilot's standard deviation 0 is not a positive number: argument out of range"},
		{1, 1, 1, "Stein equivalence, pilot: 1 given, at least 2 needed: too few values"},
		{1, 4, 1, "Stein equivalence: 3 given, at least 4 needed: too few values"},
	} {
		if _, err := EquivalenceStein(c.sd, c.n, d, c.margin); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
