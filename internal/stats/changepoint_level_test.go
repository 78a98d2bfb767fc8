package stats

import "testing"

// A level divided by many series must still be attainable: a step far larger than the noise must be
// found at it.
func TestChangepointsAtSmallLevels(t *testing.T) {
	x := normals(40, 3)
	for i := range x[20:] {
		x[20+i] += 10
	}
	for _, alpha := range []float64{0.01, 0.001, 0.0001} {
		if got := Changepoints(x, alpha, 5, 1); len(got) != 1 || got[0] != 20 {
			t.Errorf("at level %v: changes %v, want [20]", alpha, got)
		}
	}
	if got := Changepoints(x, 1e-6, 5, 1); got != nil {
		t.Errorf("at a level below what the shuffles can show: changes %v, want none", got)
	}
}
