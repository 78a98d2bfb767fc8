package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/test/slow"
)

// four are invented samples for the difference of two differences.
var four = []Weighted{
	{-1, []float64{5.1, 4.9, 5.3, 5.0, 5.2}},
	{1, []float64{5.6, 5.9, 5.4, 5.8}},
	{1, []float64{7.0, 7.4, 7.1, 7.9, 7.2, 7.3}},
	{-1, []float64{8.1, 8.4, 8.0}},
}

// The numbers come from the formula in NumPy with the t distribution of SciPy:
//
//	v = [w*w*np.var(x, ddof=1)/len(x) for w, x in S]; se = sum(v)**.5
//	df = sum(v)**2 / sum(a*a/(len(x)-1) for a, (w, x) in zip(v, S))
func TestWelchSumAgainstSciPy(t *testing.T) {
	g := golden{Kind: "Welch sum", Point: -0.275, Lo: -0.7614222239240542, Hi: 0.21142222392405535, P: 0.23885183532078866}
	e, err := WelchSum(four, 0.95)
	g.estimate(t, e, err)
	if e.N != 18 {
		t.Errorf("%d values, want 18", e.N)
	}
	p, err := equivalent(1)(WelchSum(four, 0.5))
	golden{Kind: "Welch sum", Name: "equivalence", P: 0.0036911032616115456}.p(t, p, err)
}

// For two samples WelchSum equals Welch's t, which is checked against R.
func TestWelchSumOfTwo(t *testing.T) {
	x, y := four[0].Values, four[1].Values
	want, err := WelchT(x, y, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	g := golden{Kind: "two samples", Point: want.Point, Lo: want.Lo, Hi: want.Hi, P: want.P}
	got, err := WelchSum(four[:2], 0.95)
	g.estimate(t, got, err)
	g.P, err = equivalent(0.9)(WelchT(x, y, 0.5))
	if err != nil {
		t.Fatal(err)
	}
	p, err := equivalent(0.9)(WelchSum(four[:2], 0.5))
	g.p(t, p, err)
}

// Intervals of four normal samples of unequal size and spread contain the true value about as often
// as their confidence.
func TestWelchSumCoverage(t *testing.T) {
	slow.Test(t)
	rng := rand.New(rand.NewPCG(1, 2))
	const times = 4000
	held := 0
	for range times {
		var samples []Weighted
		for i, w := range []float64{-1, 1, 1, -1} {
			s := Weighted{Weight: w}
			for range 6 + 4*i {
				s.Values = append(s.Values, rng.NormFloat64()*float64(1+i))
			}
			samples = append(samples, s)
		}
		e, err := WelchSum(samples, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if e.Contains(0) {
			held++
		}
	}
	if share := float64(held) / times; share < 0.94 || share > 0.96 {
		t.Errorf("%.4f of the intervals hold the true value", share)
	}
}

func TestWelchSumRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples []Weighted
		want    error
	}{
		{"none", nil, ErrTooFew},
		{"one value", []Weighted{{1, []float64{1, 2}}, {-1, []float64{3}}}, ErrTooFew},
		{"NaN", []Weighted{{1, []float64{1, math.NaN()}}}, errNotFinite},
		{"weight", []Weighted{{math.Inf(1), []float64{1, 2}}}, errArgument},
		{"constant", []Weighted{{1, []float64{2, 2}}, {-1, []float64{3, 3}}}, ErrConstant},
	} {
		if _, err := WelchSum(c.samples, 0.95); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := WelchSum(four, 1); !errors.Is(err, errArgument) {
		t.Errorf("confidence 1: %v", err)
	}
}
