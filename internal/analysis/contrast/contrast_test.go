package contrast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/experiment"
	"tare/internal/stats"
)

func ratio(b experiment.Better) experiment.Metric {
	return experiment.Metric{Name: "m", Better: b, Headline: true, Scale: experiment.Ratio}
}

func difference(b experiment.Better) experiment.Metric {
	return experiment.Metric{Name: "m", Better: b, Headline: true, Scale: experiment.Difference}
}

// level95 are rules with a confidence of 95 % and a margin of 2 %.
var level95 = Rules{Confidence: 0.95, Alpha: 0.05, Margin: math.Log1p(0.02)}

// drawn returns n values around 100 with 1 % of noise, times a factor.
func drawn(seed uint64, n int, factor float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 3))
	x := make([]float64, n)
	for i := range x {
		x[i] = 100 * factor * math.Exp(0.01*rng.NormFloat64())
	}
	return x
}

// pairsOf pairs two arms; the first pilot pairs are the pilot's.
func pairsOf(m experiment.Metric, base, arm []float64, pilot int) Data {
	d := Data{Metric: m, Baseline: base, Treated: arm, Paired: true, Pilot: pilot}
	for i := range base {
		d.Contrasts = append(d.Contrasts, of(arm[i], base[i], m))
	}
	return d
}

// times multiplies values by a factor.
func times(x []float64, by float64) []float64 {
	y := slices.Clone(x)
	for i := range y {
		y[i] *= by
	}
	return y
}

func TestSigns(t *testing.T) {
	low, high := drawn(1, 12, 1), drawn(2, 12, 1.10)
	for _, c := range []struct {
		metric experiment.Metric
		sign   float64 // sign of the overhead if the arm has the larger values
		size   float64
	}{
		{ratio(experiment.Lower), 1, 0.10},
		{ratio(experiment.Higher), -1, 0.10},
		{difference(experiment.Lower), 1, 10},
		{difference(experiment.Higher), -1, 10},
	} {
		for name, d := range map[string]Data{
			"paired":   pairsOf(c.metric, low, high, 0),
			"unpaired": {Metric: c.metric, Baseline: low, Treated: high},
			"welch":    {Metric: c.metric, Baseline: low[:3], Treated: high[:3]},
		} {
			e := level95.Estimate(&d)
			o := Overheads(e.Main.At, c.metric)
			if !e.Main.OK || o.Lo > o.Point || o.Point > o.Hi || math.Abs(o.Point-c.sign*c.size) > c.size/5 {
				t.Errorf("%s, %s is better, scale %s: overhead %v by %s", name, c.metric.Better, c.metric.Scale, o, e.Method)
			}
			if contrast := Overhead(d.Middle(), c.metric); math.Abs(contrast-c.sign*c.size) > c.size/5 {
				t.Errorf("%s, %s is better, scale %s: middle %v", name, c.metric.Better, c.metric.Scale, contrast)
			}
		}
	}
}

func TestUnpairedMethods(t *testing.T) {
	for _, c := range []struct {
		name       string
		base, arm  []float64
		method     string
		main, t    bool
		equivalent bool
	}{
		{"enough for ranks", drawn(1, 8, 1), drawn(2, 9, 1), MethodTwoSample, true, true, true},
		{"too few for ranks", drawn(1, 3, 1), drawn(2, 3, 1.5), MethodWelch, true, true, false},
		{"one value", drawn(1, 1, 1), drawn(2, 9, 1), MethodWelch, false, false, false},
		{"none", nil, drawn(2, 9, 1), MethodWelch, false, false, false},
		{"constant, ranks suffice", []float64{5, 5, 5, 5, 5}, []float64{5, 5, 5, 5, 5}, methodRankSum, true, false, true},
		{"constant and few", []float64{5, 5, 5}, []float64{6, 6, 6}, MethodWelch, false, false, false},
	} {
		d := Data{Metric: ratio(experiment.Lower), Baseline: c.base, Treated: c.arm}
		e := level95.Estimate(&d)
		if e.Method != c.method || e.Main.OK != c.main || e.T.OK != c.t || (e.Main.Equiv <= 0.05) != c.equivalent {
			t.Errorf("%s: %+v", c.name, e)
		}
		if d.Paired || d.Size() != min(len(c.base), len(c.arm)) {
			t.Errorf("%s: size %d", c.name, d.Size())
		}
	}
}

func TestLeastP(t *testing.T) {
	six, threes := Data{Paired: true, Contrasts: make([]float64, 6)}, Data{Paired: true, Treated: slices.Repeat([]float64{1}, 8), Baseline: slices.Repeat([]float64{1}, 8), Control: slices.Repeat([]float64{1}, 8)}
	threes.Control[0] = math.NaN()
	threes.Compare()
	few := Data{Paired: true, Treated: slices.Repeat([]float64{1}, 5), Baseline: slices.Repeat([]float64{1}, 5), Control: slices.Repeat([]float64{1}, 5)}
	few.Compare()
	blocks := Data{Paired: true, Contrasts: make([]float64, 12), SetUps: []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}}
	for _, c := range []struct {
		name string
		d    Data
		want float64
	}{
		{"no samples", Data{}, 1},
		{"no pairs", Data{Paired: true}, 1},
		{"six pairs", six, 1. / 32},
		{"seven rounds with a control and one without", threes, math.Pow(1./3, 7)},
		{"too few rounds for the control", few, 1. / 16},
		{"six set-ups", blocks, 1. / 32},
		{"4 + 4", Data{Baseline: make([]float64, 4), Treated: make([]float64, 4)}, 2. / 70},
		{"3 + 9", Data{Baseline: make([]float64, 3), Treated: make([]float64, 9)}, 2. / 220},
	} {
		if got := level95.LeastP(&c.d); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestExceeds compares with the same tests on values from which the limit was subtracted.
func TestExceeds(t *testing.T) {
	stein := level95
	stein.Pilot = true
	for _, better := range []experiment.Better{experiment.Lower, experiment.Higher} {
		for _, limit := range []float64{0, 0.05, 0.5, 1, 3} {
			for _, effect := range []float64{-0.10, 0, 0.04, 0.05, 0.06, 0.6, 2, 5} {
				worse := 1 + effect // for a metric of which less is better
				least := 1 + limit
				if better == experiment.Higher {
					worse, least = 1-effect, 1-limit
				}
				if worse <= 0 {
					continue
				}
				base, arm := drawn(1, 14, 1), drawn(2, 14, worse)
				name := fmt.Sprintf("%s is better, limit %v, effect %v", better, limit, effect)
				if least <= 0 {
					d := Data{Metric: ratio(better), Baseline: base, Treated: arm}
					if p := level95.Exceeds(&d, limit); p != 1 {
						t.Errorf("%s: p = %v for a limit that nothing can exceed", name, p)
					}
					continue
				}
				held := times(base, least)
				check := func(kind string, r Rules, d Data, want stats.Estimate, err error) {
					t.Helper()
					if err != nil {
						t.Fatal(err)
					}
					p := want.P / 2
					if want.Point < 0 != (better == experiment.Higher) {
						p = 1 - p
					}
					if got := r.Exceeds(&d, limit); math.Abs(got-p) > 1e-9 {
						t.Errorf("%s, %s: p = %v, want %v", kind, name, got, p)
					}
					if got := r.Exceeds(&d, limit); effect >= limit+0.05 && got > 0.001 || effect <= limit-0.05 && got < 0.999 {
						t.Errorf("%s, %s: p = %v", kind, name, got)
					}
				}
				m := ratio(better)
				moved := pairsOf(m, held, arm, 6)
				signed, err := stats.SignedRank(moved.Contrasts, 0.95)
				check("paired", level95, pairsOf(m, base, arm, 0), signed, err)
				steinT, err := stats.SteinInterval(Deviation(moved.Contrasts[:6]), 6, moved.Contrasts, 0.95)
				steinT.P = max(steinT.P, signed.P)
				check("after a pilot", stein, pairsOf(m, base, arm, 6), steinT, err)
				unpaired := Data{Metric: m, Baseline: held, Treated: arm}
				x, y := unpaired.Scaled()
				ranks, err := stats.RankSum(x, y, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				welch, err := stats.WelchT(x, y, 0.95)
				ranks.P = max(ranks.P, welch.P)
				check("unpaired", level95, Data{Metric: m, Baseline: base, Treated: arm}, ranks, err)
				welch, err = stats.WelchT(x[:3], y[:3], 0.95)
				d := Data{Metric: m, Baseline: base[:3], Treated: arm[:3]}
				p := welch.P / 2
				if welch.Point < 0 != (better == experiment.Higher) {
					p = 1 - p
				}
				if got := level95.Exceeds(&d, limit); err != nil || math.Abs(got-p) > 1e-9 {
					t.Errorf("few and unpaired, %s: p = %v, want %v (%v)", name, got, p, err)
				}
			}
		}
	}
}

func TestExceedsOnDifferences(t *testing.T) {
	base, arm := drawn(1, 12, 1), drawn(2, 12, 1.10) // about 10 more than the baseline
	for _, c := range []struct {
		better experiment.Better
		limit  float64
		sure   bool
	}{
		{experiment.Lower, 5, true}, {experiment.Lower, 15, false}, {experiment.Lower, 0, true},
		{experiment.Higher, -15, true}, {experiment.Higher, 0, false}, {experiment.Higher, -5, false},
	} {
		for _, d := range []Data{pairsOf(difference(c.better), base, arm, 0), {Metric: difference(c.better), Baseline: base, Treated: arm}} {
			if p := level95.Exceeds(&d, c.limit); (p < 0.001) != c.sure || (p > 0.999) == c.sure {
				t.Errorf("%s is better, over %v, paired %v: p = %v", c.better, c.limit, d.Paired, p)
			}
		}
	}
}

func TestExceedsWithoutAnswer(t *testing.T) {
	base, arm := drawn(1, 12, 1), drawn(2, 12, 1.10)
	for name, d := range map[string]Data{
		"no values":   {Metric: ratio(experiment.Lower)},
		"one value":   {Metric: ratio(experiment.Lower), Baseline: base[:1], Treated: arm[:1]},
		"one pair":    pairsOf(ratio(experiment.Lower), base[:1], arm[:1], 0),
		"two samples": {Metric: ratio(experiment.Lower), Baseline: base, Treated: arm},
	} {
		limit := 0.
		if name == "two samples" {
			limit = math.NaN()
		}
		if p := level95.Exceeds(&d, limit); p != 1 {
			t.Errorf("%s: p = %v, want 1", name, p)
		}
	}
}

// TestExceedsAgreesWithTheInterval: an overhead exceeds a limit below the lower bound of its
// interval at half of alpha, and does not exceed one above the upper bound. The gate relies on
// both.
func TestExceedsAgreesWithTheInterval(t *testing.T) {
	for seed := range uint64(40) {
		base, arm := drawn(seed, 11, 1), drawn(seed+100, 9, 1.03)
		d := Data{Metric: ratio(experiment.Lower), Baseline: base, Treated: arm}
		o := Overheads(level95.Estimate(&d).Main.At, d.Metric)
		if p := level95.Exceeds(&d, o.Lo-1e-6); p > 0.025 {
			t.Errorf("seed %d: just under %v: p = %v", seed, o, p)
		}
		if p := level95.Exceeds(&d, o.Lo+1e-6); p <= 0.025 {
			t.Errorf("seed %d: just inside %v: p = %v", seed, o, p)
		}
		if p := level95.Exceeds(&d, o.Hi+1e-6); p < 0.975 {
			t.Errorf("seed %d: just over %v: p = %v", seed, o, p)
		}
	}
}
