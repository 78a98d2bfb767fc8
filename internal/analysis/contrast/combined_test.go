package contrast_test

import (
	"math"
	"testing"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// The direction of a metric does not change results: higher-is-better and lower-is-better give the same.
func TestCombined(t *testing.T) {
	y, errs := []float64{0.05, 0.06, 0.04, 0.055}, []float64{0.01, 0.012, 0.008, 0.01}
	var down []float64
	for _, v := range y {
		down = append(down, -v)
	}
	lower := contrast.Combined(experiment.Metric{Better: experiment.Lower}, y, errs)
	higher := contrast.Combined(experiment.Metric{Better: experiment.Higher}, down, errs)
	rules := contrast.Rules{Confidence: 0.95, Alpha: 0.05, Margin: 0.1}
	a, b := rules.Estimate(&lower), rules.Estimate(&higher)
	if !a.Main.OK || math.Abs(a.Main.At.Point+b.Main.At.Point) > 1e-12 || a.Main.P != b.Main.P || a.Main.Equiv != b.Main.Equiv || a.Main.Equiv > 0.05 {
		t.Errorf("%+v and %+v", a.Main, b.Main)
	}
	if a.Method != contrast.MethodRandomEffects || rules.LeastP(&lower) != 0 || lower.Size() != 4 {
		t.Errorf("method %s, least p %v, size %d", a.Method, rules.LeastP(&lower), lower.Size())
	}
	// The lower bound of the 95 % interval is exceeded at 2.5 %.
	o := contrast.Overheads(a.Main.At, lower.Metric)
	if p := rules.Exceeds(&lower, o.Lo); math.Abs(p-0.025) > 1e-9 {
		t.Errorf("p = %v of no more than %v, want 0.025", p, o.Lo)
	}
	o = contrast.Overheads(b.Main.At, higher.Metric)
	if p := rules.Exceeds(&higher, o.Lo); math.Abs(p-0.025) > 1e-9 {
		t.Errorf("more is better: p = %v of no more than %v, want 0.025", p, o.Lo)
	}
}

// Error recovers the standard error of a t interval.
func TestError(t *testing.T) {
	d := []float64{0.01, 0.03, 0.02, 0.05, 0.04}
	e, err := stats.PairedT(d, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := contrast.Error(e.Interval, len(d), 0.95), contrast.Deviation(d)/math.Sqrt(5); math.Abs(got-want) > 1e-12 {
		t.Errorf("error %v, want %v", got, want)
	}
	for _, m := range []experiment.Metric{{Better: experiment.Lower}, {Better: experiment.Higher}, {Scale: experiment.Difference}} {
		o := contrast.Overheads(e.Interval, m)
		if got := contrast.FromOverheads(o, m); math.Abs(got.Lo-e.Lo) > 1e-12 || math.Abs(got.Hi-e.Hi) > 1e-12 {
			t.Errorf("%+v: there and back %+v, want %+v", m, got, e.Interval)
		}
	}
	if contrast.Error(stats.Interval{}, 5, 0.95) != 0 || contrast.Error(stats.Interval{Hi: 1}, 1, 0.95) != 0 {
		t.Error("an error where there is none")
	}
}
