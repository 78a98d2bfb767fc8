package stats

import (
	"errors"
	"math"
	"testing"
)

// TestLinePublished compares FitLine with the certified values of NIST's Statistical Reference
// Datasets, linear regression, Norris: ozone monitors, 36 observations (J. Norris, NIST;
// https://www.itl.nist.gov/div898/strd/lls/data/Norris.shtml).
func TestLinePublished(t *testing.T) {
	y := []float64{0.1, 338.8, 118.1, 888.0, 9.2, 228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3, 0.1, 778.1, 668.8, 339.3, 448.9, 10.8,
		557.7, 228.3, 998.0, 888.8, 119.6, 0.3, 0.6, 557.6, 339.3, 888.0, 998.5, 778.9, 10.2, 117.6, 228.9, 668.4, 449.2, 0.2}
	x := []float64{0.2, 337.4, 118.2, 884.6, 10.1, 226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4, 0.6, 775.5, 666.9, 338.0, 447.5, 11.6,
		556.0, 228.1, 995.8, 887.6, 120.2, 0.3, 0.3, 556.8, 339.1, 887.2, 999.0, 779.0, 11.1, 118.3, 229.2, 669.1, 448.9, 0.5}
	line, err := FitLine(x, y)
	printed(t, "NIST StRD, Norris (intercept, slope)", err,
		[]float64{line.Intercept, line.Slopes[0]}, []float64{-0.262323073774029, 1.00211681802045}, 1e-12)
	if got := line.At(100); math.Abs(got-99.94935872827097) > 1e-9 {
		t.Errorf("the line is %v at 100", got)
	}
}

func TestLineRefuses(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want error
	}{
		{[]float64{1}, []float64{1}, ErrTooFew},
		{nil, nil, ErrTooFew},
		{[]float64{1, 2, 3}, []float64{1, 2}, errArgument},
		{[]float64{5, 5, 5}, []float64{1, 2, 3}, ErrConstant},
		{[]float64{1, 2}, []float64{1, math.NaN()}, errNotFinite},
		{[]float64{1, math.Inf(1)}, []float64{1, 2}, errNotFinite},
	} {
		if _, err := FitLine(c.x, c.y); !errors.Is(err, c.want) {
			t.Errorf("a line through %v at %v: %v, want %v", c.y, c.x, err, c.want)
		}
	}
	if line, err := FitLine([]float64{100, 300, 1000}, []float64{7, 7, 7}); err != nil || line.Slopes[0] != 0 || line.Intercept != 7 {
		t.Errorf("a line through equal values is %v, %v", line, err)
	}
}
