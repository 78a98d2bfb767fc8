package wording

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

// judged is a comparison as analysis gives it: overheads in percent, of a time of which less is better.
func judged(v analysis.Verdict, point, lo, hi float64, change ...func(*analysis.Comparison)) *analysis.Comparison {
	c := &analysis.Comparison{Metric: experiment.Metric{Name: "time", Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio},
		Verdict: v, Paired: true, Rounds: 12, Margin: 0.02, Overhead: analysis.Interval{Point: point / 100, Lo: lo / 100, Hi: hi / 100},
		Baseline: analysis.Summary{N: 12}, Treated: analysis.Summary{N: 12}}
	for _, f := range change {
		f(c)
	}
	return c
}

func because(r analysis.Reason) func(*analysis.Comparison) {
	return func(c *analysis.Comparison) { c.Reason = r }
}

func seen(mde float64, needed int) func(*analysis.Comparison) {
	return func(c *analysis.Comparison) {
		if c.MDE, c.Power, c.Needed = mde, 0.8, needed; needed > 0 {
			c.NeededRange = &[2]int{needed / 2, 2 * needed}
		}
	}
}

func inner(lo, hi float64) func(*analysis.Comparison) {
	return func(c *analysis.Comparison) {
		c.Inner = &analysis.Inner{Interval: analysis.Interval{Lo: lo / 100, Hi: hi / 100}, Confidence: 0.9}
	}
}

func samples(base, treated int) func(*analysis.Comparison) {
	return func(c *analysis.Comparison) {
		c.Paired, c.Baseline.N, c.Treated.N, c.Rounds = false, base, treated, min(base, treated)
	}
}

func rate(c *analysis.Comparison)        { c.Metric.Better = experiment.Higher }
func exploratory(c *analysis.Comparison) { c.Metric.Headline = false }
func observed(c *analysis.Comparison)    { c.Observational = true }
func control(c *analysis.Comparison)     { c.Control = true }
func pointOnly(c *analysis.Comparison)   { c.PointOnly = true }

func amount(unit string) func(*analysis.Comparison) {
	return func(c *analysis.Comparison) {
		c.Metric.Scale, c.Metric.Unit = experiment.Difference, unit
		c.Overhead = analysis.Interval{Point: c.Overhead.Point * 100, Lo: c.Overhead.Lo * 100, Hi: c.Overhead.Hi * 100}
	}
}

func against(arm string, run int) func(*analysis.Comparison) {
	return func(c *analysis.Comparison) { c.Versus = &analysis.Versus{Arm: arm, Run: run} }
}

func TestSentence(t *testing.T) {
	lost := func(l analysis.Loss) func(*analysis.Comparison) { return because(analysis.TooFewValues{Loss: &l}) }
	rounds := func(n int) func(*analysis.Comparison) { return func(c *analysis.Comparison) { c.Rounds = n } }
	for _, c := range []struct {
		c    *analysis.Comparison
		want string
	}{
		{judged(analysis.Costs, 7.2, 6.8, 7.7), "costs 7.2 % [6.8, 7.7]"},
		{judged(analysis.Gains, -4.9, -5.3, -4.5), "gains 4.9 % [4.5, 5.3]"},
		{judged(analysis.Costs, 7.2, 6.8, 7.7, exploratory), "exploratory: costs 7.2 % [6.8, 7.7]"},
		{judged(analysis.Costs, 7.2, 6.8, 7.7, exploratory, amount("")), "exploratory: costs 7.2 [6.8, 7.7]"},
		{judged(analysis.Costs, 10, 9.3, 10.7, observed, func(c *analysis.Comparison) { c.Restates = "rate" }), "observational: restates rate: costs 10.0 % [9.3, 10.7]"},
		{judged(analysis.Costs, 5.1, 4.7, 5.5, control), "differs from the baseline: 5.1 % more [4.7, 5.5]"},
		{judged(analysis.Costs, 2.7, 2.2, 3.1, against("", 1)), "costs 2.7 % [2.2, 3.1] more than in run 1"},
		{judged(analysis.Gains, -2.7, -3.1, -2.2, against("", 2)), "costs 2.7 % [2.2, 3.1] less than in run 2"},
		{judged(analysis.Costs, 4.4, 4.1, 4.7, against("release-1.1", 0)), "costs 4.4 % [4.1, 4.7] more than release-1.1"},
		{judged(analysis.Costs, 4.4, 4.1, 4.7, against("release-1.1", 1)), "costs 4.4 % [4.1, 4.7] more than release-1.1 in run 1"},
		{judged(analysis.Equivalent, 0, -0.2, 0.2, against("", 1)), "equivalent within ±2 % (costs the same as in run 1: 0.0 % [0.2 less, 0.2 more])"},
		{judged(analysis.Equivalent, 0.3, -0.1, 0.7), "equivalent within ±2 % (0.3 % more [0.1 less, 0.7 more])"},
		{judged(analysis.Equivalent, -1, -1.4, -0.6), "equivalent within ±2 % (gains 1.0 % [0.6, 1.4])"},
		{judged(analysis.Equivalent, 0, -0.2, 0.2), "equivalent within ±2 % (differs by 0.0 % [0.2 less, 0.2 more])"},
		{judged(analysis.Equivalent, 0.5, -0.4, 2.5, inner(-0.1, 0.9)), "equivalent within ±2 % (0.5 % more [0.4 less, 2.5 more]; the 90 % interval [0.1 less, 0.9 more] lies within)"},
		{judged(analysis.Equivalent, -0.5, -2.5, 0.4, inner(-0.9, 0.1)), "equivalent within ±2 % (0.5 % less [0.4 more, 2.5 less]; the 90 % interval [0.1 more, 0.9 less] lies within)"},
		{judged(analysis.NotResolved, 5, -1, 216, because(analysis.FarReaching{}), inner(0.2, 0.7)),
			"not resolved: 5 % more [1 less, 216 more] (the 90 % interval [0.2, 0.7] lies within ±2 %, but this one reaches beyond twice that margin: a few pairs decide)"},
		{judged(analysis.NotResolved, 0.6, -2.6, 4.3, because(analysis.NothingShown{}), seen(0.046, 538)),
			"not resolved: 0.6 % more [2.6 less, 4.3 more] (differences of 4.6 % are found with 80 % chance; 269 to 1,076 rounds would resolve this, 538 with 80 % chance if the noise is as large as it seems)"},
		{judged(analysis.NotResolved, 6, -2, 14, because(analysis.NothingShown{}), samples(12, 12), seen(0.2, 46)),
			"not resolved: 6.0 % more [2.0 less, 14.0 more] (differences of 20 % are found with 80 % chance; 23 to 92 values per arm would resolve this, 46 with 80 % chance if the noise is as large as it seems)"},
		{judged(analysis.NotResolved, 0, 0, 0, because(analysis.NothingShown{})), "not resolved: 0.0 % [0.0, 0.0] (the pairs do not vary, so the smallest difference that could be found is unknown)"},
		{judged(analysis.NotResolved, 7.4, 6.3, 8.5, because(analysis.TooFewToClaim{Family: 1, Fewest: 6}), rounds(4)),
			"not resolved: 7.4 % more [6.3, 8.5] (4 rounds are too few to claim anything of 1 comparison: at least 6 are needed)"},
		{judged(analysis.NotResolved, 51.1, 46.6, 55.7, because(analysis.TooFewToClaim{Family: 2, Fewest: 4}), samples(3, 3)),
			"not resolved: 51.1 % more [46.6, 55.7] (3 values per arm are too few to claim anything of 2 comparisons: at least 4 of each arm are needed)"},
		{judged(analysis.NotResolved, 7.4, 7.4, 7.4, because(analysis.TooFewValues{}), pointOnly, rounds(1)), "not resolved: only one valid pair"},
		{judged(analysis.NotResolved, 0, 0, 0, because(analysis.TooFewValues{}), pointOnly, rounds(0)), "not resolved: no valid pairs"},
		{judged(analysis.NotResolved, 0, 0, 0, because(analysis.TooFewValues{}), pointOnly, samples(30, 1)),
			"not resolved: too few valid values, 30 values of the baseline and 1 of the arm"},
		{judged(analysis.NotResolved, 0, 0, 0, lost(analysis.Loss{Lost: 6, Trials: 6, Rules: []string{"proof"}}), rounds(0)), "not resolved: no valid pairs: 6 of 6 trials broke rule proof"},
		{judged(analysis.NotResolved, 0, 0, 0, lost(analysis.Loss{Baseline: true, Lost: 6, Trials: 6, Rules: []string{"errors", "steal"}}), rounds(0)),
			"not resolved: no valid pairs: of the baseline, 6 of 6 trials broke rules errors, steal"},
		{judged(analysis.NotResolved, 0, 0, 0, lost(analysis.Loss{Lost: 6, Trials: 6, Metric: "time"}), rounds(0)), "not resolved: no valid pairs: 6 of 6 trials have no usable value of time"},
		{judged(analysis.NotResolved, 7, 7, 7, because(analysis.NoSpread{Fewest: 6}), pointOnly, rounds(3)),
			"not resolved: all 3 pairs have the same ratio, which allows no interval under 6 pairs"},
		{judged(analysis.NotResolved, 0, 0, 0, because(analysis.NoSpread{Fewest: 6}), pointOnly, samples(3, 3)),
			"not resolved: no value of either arm varies, which allows no interval of 3 values per arm"},
		{judged(analysis.NotResolved, 7.3, 6.4, 8.2, because(analysis.NoControl{})),
			"not resolved: 7.3 % more [6.4, 8.2], but the control has no estimate on this metric to compare with"},
		{judged(analysis.NotResolved, 7.2, 6.8, 7.7, because(analysis.ThinControl{Values: 2})),
			"not resolved: 7.2 % more [6.8, 7.7], but the control has only 2 pairs on this metric, the arm has 12"},
		{judged(analysis.NotResolved, 2.9, 1.7, 4.3, because(analysis.WithinBias{Bias: 0.018})),
			"not resolved: 2.9 % more [1.7, 4.3], but the control differs by up to 1.8 % itself"},
		{judged(analysis.NotResolved, 2.9, 1.7, 4.3, because(analysis.NotInFamily{Family: 4}), seen(0.03, 20), func(c *analysis.Comparison) { c.PAdjusted = 0.064 }),
			"not resolved: 2.9 % more [1.7, 4.3] excludes 0 by itself, but not as one of 4 claims (Holm p = 0.064; differences of 3 % are found with 80 % chance; 10 to 40 rounds would resolve this, 20 with 80 % chance if the noise is as large as it seems)"},
		{judged(analysis.NotResolved, 2.9, 0, 4.3, because(analysis.Ties{}), func(c *analysis.Comparison) { c.PAdjusted = 0.01 }),
			"not resolved: 2.9 % more [0.0, 4.3], p = 0.01: so many values are the same that the interval cannot exclude 0"},
		{judged(analysis.Invalid, 7.2, 6.8, 7.7, because(analysis.InvalidRuns{})), "no verdict, the run is invalid: 7.2 % more [6.8, 7.7]"},
		{judged(analysis.Invalid, 7.2, 6.8, 7.7, because(analysis.InvalidRuns{Runs: []int{1, 3}})), "no verdict, runs 1 and 3 are invalid: 7.2 % more [6.8, 7.7]"},
		{judged(analysis.Invalid, 7.2, 6.8, 7.7, because(analysis.ControlChanged{})), "no verdict, the control has changed as well: 7.2 % more [6.8, 7.7]"},
	} {
		if got := Sentence(c.c); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

// Effects of the whole baseline and more are said as factors, and no gain as a negative cost of over 100 %.
func TestFactor(t *testing.T) {
	for _, c := range []struct {
		c               *analysis.Comparison
		sentence, table string
	}{
		{judged(analysis.Costs, 1300, 1200, 1400), "costs 1,300 % [1,200, 1,400], 14 times as much [13, 15]", "1,300 % more [1,200, 1,400]"},
		{judged(analysis.Costs, 120, 110, 131), "costs 120 % [110, 131], 2.2 times as much [2.1, 2.3]", "120 % more [110, 131]"},
		{judged(analysis.Costs, 99, 90, 110), "costs 99 % [90, 110]", "99 % more [90, 110]"},
		{judged(analysis.Costs, 93, 92, 94, rate), "costs 93.0 % [92.0, 94.0]", "93.0 % less [92.0, 94.0]"},
		{judged(analysis.Gains, -110, -115, -105, rate), "gains 110.0 % [105.0, 115.0], 2.10 times as much [2.05, 2.15]", "2.10 times [2.05, 2.15]"},
		{judged(analysis.Gains, -98, -105, -91, rate), "gains 98.0 % [91.0, 105.0]", "1.98 times [1.91, 2.05]"},
		{judged(analysis.Costs, 150, 140, 160, against("", 1)), "costs 150 % [140, 160] more than in run 1, 2.5 times as much [2.4, 2.6]", "cost 150 % more [140, 160]"},
		{judged(analysis.NotResolved, -10, -300, 80, rate, because(analysis.NothingShown{}), seen(2, 0)),
			"not resolved: 1.1 times [0.2, 4.0] (differences of 200 % are found with 80 % chance)", "1.1 times [0.2, 4.0]"},
		{judged(analysis.Costs, 1300, 1200, 1400, amount("B")), "costs 1.3 KiB [1.2, 1.4]", "1.3 KiB more [1.2, 1.4]"},
	} {
		if got := Sentence(c.c); got != c.sentence {
			t.Errorf("%q\nwant %q", got, c.sentence)
		}
		if got := Estimate(*c.c); got != c.table {
			t.Errorf("%q\nwant %q", got, c.table)
		}
	}
}

// What stands beside a verdict already is not said again.
func TestParts(t *testing.T) {
	c := judged(analysis.NotResolved, 2.9, 1.7, 4.3, because(analysis.WithinBias{Bias: 0.018}), observed, exploratory, func(c *analysis.Comparison) { c.Restates = "throughput" })
	if got, want := Why(c), "the control differs by up to 1.8 % itself"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Qualified(c), "exploratory: not resolved: 2.9 % more [1.7, 4.3], but the control differs by up to 1.8 % itself; restates throughput"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c = judged(analysis.Costs, 5.5, 1, 9, observed, exploratory, against("", 1), func(c *analysis.Comparison) { c.Restates = "throughput" })
	if got, want := Qualified(c), "observational, exploratory: costs 5.5 % [1.0, 9.0] more than in run 1; restates throughput"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	a := &analysis.Alternative{Comparison: *judged(analysis.Equivalent, 0.3, -0.1, 0.7), Trials: 3}
	if got, want := AlternativeText(a), "with the 3 trials that had failed operations, equivalent within ±2 % (0.3 % more [0.1 less, 0.7 more])"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEnd(t *testing.T) {
	bandwidth := experiment.Metric{Better: experiment.Higher, Scale: experiment.Ratio}
	for v, want := range map[float64]string{-1.34: "2.3 times", -0.5: "50 %", 0.1: "10 %"} {
		if got := End(bandwidth, v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
