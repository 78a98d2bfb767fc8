package stats

import (
	"errors"
	"math"
	"testing"
)

// TestPlanePublished compares FitPlane with the certified values of NIST's Statistical Reference
// Datasets, linear regression, Longley: employment by six measures of an economy, 16 years, whose
// measures nearly determine each other (J. W. Longley 1967, Journal of the American Statistical
// Association 62, 819–841; https://www.itl.nist.gov/div898/strd/lls/data/Longley.shtml).
func TestPlanePublished(t *testing.T) {
	y := []float64{60323, 61122, 60171, 61187, 63221, 63639, 64989, 63761, 66019, 67857, 68169, 66513, 68655, 69564, 69331, 70551}
	columns := [][]float64{
		{83.0, 88.5, 88.2, 89.5, 96.2, 98.1, 99.0, 100.0, 101.2, 104.6, 108.4, 110.8, 112.6, 114.2, 115.7, 116.9},
		{234289, 259426, 258054, 284599, 328975, 346999, 365385, 363112, 397469, 419180, 442769, 444546, 482704, 502601, 518173, 554894},
		{2356, 2325, 3682, 3351, 2099, 1932, 1870, 3578, 2904, 2822, 2936, 4681, 3813, 3931, 4806, 4007},
		{1590, 1456, 1616, 1650, 3099, 3594, 3547, 3350, 3048, 2857, 2798, 2637, 2552, 2514, 2572, 2827},
		{107608, 108632, 109773, 110929, 112075, 113270, 115094, 116219, 117388, 118734, 120445, 121950, 123366, 125368, 127852, 130081},
		{1947, 1948, 1949, 1950, 1951, 1952, 1953, 1954, 1955, 1956, 1957, 1958, 1959, 1960, 1961, 1962},
	}
	x := make([][]float64, len(y))
	for _, column := range columns {
		for i, v := range column {
			x[i] = append(x[i], v)
		}
	}
	plane, err := FitPlane(x, y)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{-3482258.63459582, 15.0618722713733, -0.358191792925910e-01, -2.02022980381683, -1.03322686717359, -0.511041056535807e-01, 1829.15146461355}
	for i, got := range append([]float64{plane.Intercept}, plane.Slopes...) {
		if math.Abs(got-want[i]) > 1e-10*math.Abs(want[i]) {
			t.Errorf("NIST StRD, Longley: coefficient %d is %v, want %v", i, got, want[i])
		}
	}
	if got := plane.At(x[0]...); math.Abs(got-60055.66) > 0.01 {
		t.Errorf("the plane is %v at the first point", got)
	}
}

// A plane over one coordinate is a line.
func TestPlaneIsALine(t *testing.T) {
	x, y := []float64{100, 300, 1000}, []float64{7, 8, 14}
	line, err := FitLine(x, y)
	if err != nil {
		t.Fatal(err)
	}
	plane, err := FitPlane([][]float64{{100}, {300}, {1000}}, y)
	if err != nil || math.Abs(plane.Slopes[0]-line.Slopes[0]) > 1e-14 || math.Abs(plane.Intercept-line.Intercept) > 1e-12 {
		t.Errorf("plane %v (%v), line %v", plane, err, line)
	}
}

func TestPlaneRefuses(t *testing.T) {
	for _, c := range []struct {
		x    [][]float64
		y    []float64
		want error
	}{
		{nil, nil, ErrTooFew},
		{[][]float64{{}, {}}, []float64{1, 2}, errArgument},
		{[][]float64{{1}, {2}, {3}}, []float64{1, 2}, errArgument},
		{[][]float64{{1, 2}, {2, 1}}, []float64{1, 2}, ErrTooFew},
		{[][]float64{{1, 2}, {2}, {3, 1}}, []float64{1, 2, 3}, errArgument},
		{[][]float64{{1, 5}, {2, 5}, {3, 5}, {4, 5}}, []float64{1, 2, 3, 4}, ErrConstant},
		{[][]float64{{1, 2}, {2, 4}, {4, 8}, {8, 16}}, []float64{1, 2, 3, 4}, ErrConstant}, // one coordinate determines the other
		{[][]float64{{1}, {2}, {3}}, []float64{1, math.NaN(), 3}, errNotFinite},
		{[][]float64{{1}, {math.Inf(1)}, {3}}, []float64{1, 2, 3}, errNotFinite},
	} {
		if _, err := FitPlane(c.x, c.y); !errors.Is(err, c.want) {
			t.Errorf("a plane through %v at %v: %v, want %v", c.y, c.x, err, c.want)
		}
	}
}
