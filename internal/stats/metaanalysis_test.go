package stats

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"
)

// R's metafor gives the same results for random effects: testdata/metaanalysis.R.
func TestRandomEffectsAgainstMetafor(t *testing.T) {
	text, err := os.ReadFile("testdata/golden-metafor.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name                         string
		Y, Errors, Weights           []float64
		Confidence, Point, Lo, Hi, P float64
		HKLo, HKHi, HKP              float64
		Tau, TauLo, TauHi            float64
		True, Q, PQ                  float64 // True is √(spread² + SE²)
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 16 {
		t.Fatalf("%d cases, want 16", len(cases))
	}
	for _, c := range cases {
		got, err := RandomEffects(c.Y, c.Errors, c.Confidence)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		squares := c.True * c.True
		for _, se := range c.Errors {
			squares += se * se / float64(len(c.Errors))
		}
		half := StudentQuantile((1+c.Confidence)/2, float64(len(c.Y)-1)) * math.Sqrt(squares)
		for _, v := range []struct {
			what      string
			got, want float64
		}{{"mean", got.Point, c.Point}, {"lower bound", got.Lo, c.Lo}, {"upper bound", got.Hi, c.Hi}, {"p", got.P, c.P},
			{"lower bound of HK", got.HartungKnapp.Lo, c.HKLo}, {"upper bound of HK", got.HartungKnapp.Hi, c.HKHi}, {"p of HK", got.HartungKnapp.P, c.HKP},
			{"spread", got.Spread.Point, c.Tau}, {"its lower bound", got.Spread.Lo, c.TauLo}, {"its upper bound", got.Spread.Hi, c.TauHi},
			{"prediction", got.Prediction.Hi, c.Point + half}, {"Q", got.Q, c.Q}, {"p of Q", got.PQ, c.PQ}} {
			if math.Abs(v.got-v.want) > 2e-6*max(math.Abs(v.want), 1e-3) {
				t.Errorf("%s at %v: %s is %.12g, metafor has %.12g", c.Name, c.Confidence, v.what, v.got, v.want)
			}
		}
		for i, w := range got.Weights {
			if math.Abs(w-c.Weights[i]) > 1e-6 {
				t.Errorf("%s: weight %d is %v, metafor has %v", c.Name, i+1, w, c.Weights[i])
			}
		}
	}
}

func TestRandomEffectsRefuses(t *testing.T) {
	for _, c := range []struct {
		y, se []float64
		want  error
	}{
		{[]float64{1}, []float64{1}, ErrTooFew},
		{[]float64{1, 2}, []float64{1}, errArgument},
		{[]float64{1, 2}, []float64{1, 0}, errArgument},
		{[]float64{1, math.NaN()}, []float64{1, 1}, errNotFinite},
	} {
		if _, err := RandomEffects(c.y, c.se, 0.95); !errors.Is(err, c.want) {
			t.Errorf("%v with %v: %v, want %v", c.y, c.se, err, c.want)
		}
	}
}

// Estimates that are all the same have the interval that follows from their errors.
func TestPooledOfEqualEstimates(t *testing.T) {
	got, err := RandomEffects([]float64{0.03, 0.03, 0.03}, []float64{0.01, 0.01, 0.01}, 0.95)
	half := 1.959963984540054 * 0.01 / math.Sqrt(3)
	if err != nil || math.Abs(got.Hi-0.03-half) > 1e-9 || math.Abs(got.Lo-0.03+half) > 1e-9 || got.Spread.Hi < 0.01 || !(got.P > 0 && got.P < 1e-5) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = RandomEffects([]float64{0, 0}, []float64{0.01, 0.01}, 0.95); err != nil || got.P != 1 {
		t.Errorf("two zeros: p = %v, %v, want 1", got.P, err)
	}
}

// Two one-sided tests at 5 % pass if the 90 % interval lies within the margin, and the bounds of
// that interval are exceeded at 5 %.
func TestPooledTests(t *testing.T) {
	for _, c := range [][2][]float64{
		{{0.01, 0.012, 0.007, 0.004}, {0.004, 0.005, 0.004, 0.006}}, // spread
		{{0.01, 0.0101, 0.0102}, {0.004, 0.005, 0.004}},             // the estimates agree by chance
		{{0.02, 0.005, 0.03}, {0.001, 0.02, 0.03}},                  // unequal errors
	} {
		got, err := RandomEffects(c[0], c[1], 0.9)
		if err != nil {
			t.Fatal(err)
		}
		if p := got.Equivalence(got.Hi); math.Abs(p-0.05) > 1e-9 {
			t.Errorf("%v: equivalence p = %v at the bound of the 90 %% interval, want 0.05", c, p)
		}
		if p := got.Exceeds(got.Lo); math.Abs(p-0.05) > 1e-9 {
			t.Errorf("%v: p = %v of no more than the lower bound, want 0.05", c, p)
		}
		if got.Lo > got.HartungKnapp.Lo || got.Hi < got.HartungKnapp.Hi {
			t.Errorf("%v: %+v does not hold %+v", c, got.Interval, got.HartungKnapp.Interval)
		}
	}
}
