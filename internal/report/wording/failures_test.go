package wording

import (
	"testing"

	"tare/internal/analysis"
)

func TestFailed(t *testing.T) {
	share := func(count, of int, point, lo, hi float64) analysis.Frequency {
		return analysis.Frequency{Count: count, Of: of, Share: analysis.Interval{Point: point, Lo: lo, Hi: hi}}
	}
	arm, none := share(17, 56, 0.304, 0.188, 0.441), share(0, 80, 0, 0, 0.045)
	for _, c := range []struct {
		f    analysis.Failures
		want string
	}{
		{analysis.Failures{Failed: none}, "fails in 0.0 % [0.0, 4.5] of trials"},
		{analysis.Failures{Failed: share(0, 0, 0, 0, 1)}, "fails in – of trials"},
		{analysis.Failures{Verdict: analysis.Fails, Failed: arm, Reference: &none}, "fails in 30 % [19, 44] of trials; plain 0.0 % [0.0, 4.5]; 30 points more [19, 43]"},
		{analysis.Failures{Verdict: analysis.Fails, Failed: arm, Reference: &none},
			"fails in 30 % [19, 44] of trials; plain 0.0 % [0.0, 4.5]; 30 points more [19, 43]"},
		{analysis.Failures{Failed: none, Reference: &none, Difference: analysis.Interval{Point: -0.01, Lo: -0.06, Hi: 0.045}},
			"fails in 0.0 % [0.0, 4.5] of trials; plain 0.0 % [0.0, 4.5]; 1.0 points less [4.5 more, 6.0 less]"},
		{analysis.Failures{Verdict: analysis.Fails, Failed: arm, Reference: &none, Observational: true}, "observational: fails in 30 % [19, 44] of trials; plain 0.0 % [0.0, 4.5]; 30 points more [19, 43]"},
		{analysis.Failures{Verdict: analysis.Gains, Failed: none, Reference: &arm}, "fails less often, in 0.0 % [0.0, 4.5] of trials; plain 30 % [19, 44]; 30 points more [19, 43]"},
		{analysis.Failures{Verdict: analysis.NotResolved, Failed: arm, Reference: &arm, PAdjusted: 0.3}, "fails in 30 % [19, 44] of trials; plain 30 % [19, 44]; 30 points more [19, 43] (not shown to differ, Holm p = 0.3)"},
		{analysis.Failures{Verdict: analysis.Interim, Reason: analysis.RoundsMissing{Rounds: 7, Of: 30}, Failed: arm, Reference: &none},
			"interim, after 7 of 30 rounds: fails in 30 % [19, 44] of trials; plain 0.0 % [0.0, 4.5]; 30 points more [19, 43]"},
		{analysis.Failures{Verdict: analysis.Invalid, Reason: analysis.InvalidRuns{}, Failed: arm, Reference: &none},
			"invalid, the run is invalid: fails in 30 % [19, 44] of trials; plain 0.0 % [0.0, 4.5]; 30 points more [19, 43]"},
	} {
		if c.f.Reference != nil && c.f.Difference == (analysis.Interval{}) {
			c.f.Difference = analysis.Interval{Point: 0.304, Lo: 0.188, Hi: 0.433}
		}
		if got := Failed(&c.f, "plain"); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

func TestMean(t *testing.T) {
	mean := func(point, lo, hi float64) func(*analysis.Comparison) {
		return func(c *analysis.Comparison) {
			c.Mean = &analysis.Interval{Point: point / 100, Lo: lo / 100, Hi: hi / 100}
		}
	}
	for _, c := range []struct {
		c     *analysis.Comparison
		apart string
	}{
		{judged(analysis.Costs, 7.1, 6.2, 8.0), ""},
		{judged(analysis.Costs, 7.1, 6.2, 8.0, mean(7.3, 6.0, 8.9)), ""},
		{judged(analysis.Costs, 7.1, 6.2, 8.0, mean(17, 6.0, 29)), "mean 17 % more [6, 29]"},
		{judged(analysis.Costs, 7.1, 6.2, 8.0, mean(7.3, -1.0, 15.9)), "mean 7.3 % more [1.0 less, 15.9 more]"},
		{judged(analysis.Gains, -3, -4, -2, mean(0.1, -3.0, 3.2)), "mean 0.1 % more [3.0 less, 3.2 more]"},
		{judged(analysis.Gains, -3, -4, -2, mean(-3.1, -4.2, -2.2)), ""},
		{judged(analysis.NotResolved, 0, -4, 4, mean(10, 2, 20)), ""},
	} {
		if got := MeanIfDifferent(c.c); got != c.apart {
			t.Errorf("%s, mean %v: %q, want %q", Verdict(c.c), c.c.Mean, got, c.apart)
		}
	}
}

func TestVerdictsOfOtherKinds(t *testing.T) {
	normal := func(c *analysis.Comparison) { c.Grade = analysis.Normal }
	mean := func(c *analysis.Comparison) { c.Mean = &analysis.Interval{Point: 0.1, Lo: 0.02, Hi: 0.2} }
	restates := func(c *analysis.Comparison) { c.Restates = "rate" }
	for _, c := range []struct {
		c    *analysis.Comparison
		want string
	}{
		{judged(analysis.Costs, 88.1, 88.03, 88.16, normal, samples(3, 3), observed), "observational: costs (if noise is normal) 88.10 % [88.03, 88.16]"},
		{judged(analysis.Gains, -3, -4, -2, normal), "gains (if noise is normal) 3.0 % [2.0, 4.0]"},
		{judged(analysis.Costs, 3, 2, 4, normal, against("", 1)), "costs (if noise is normal) 3.0 % [2.0, 4.0] more than in run 1"},
		{judged(analysis.Equivalent, 0.3, -0.4, 1, normal), "equivalent within ±2 % (if noise is normal) (0.3 % more [0.4 less, 1.0 more])"},
		{judged(analysis.Interim, 7.1, 6.2, 8, because(analysis.RoundsMissing{Rounds: 7, Of: 30})), "interim, after 7 of 30 rounds: 7.1 % more [6.2, 8.0]"},
		{judged(analysis.Interim, 0, 0, 0, because(analysis.RoundsMissing{Rounds: 0, Of: 30})), "interim, after 0 of 30 rounds"},
		{judged(analysis.Interim, 7.1, 6.2, 8, because(analysis.UnfinishedRuns{Runs: []int{2}})), "interim, run 2 is not finished: 7.1 % more [6.2, 8.0]"},
		{judged(analysis.Restated, 7.1, 6.2, 8, because(analysis.SameClaim{Metric: "rate"}), restates), "restates rate: 7.1 % more [6.2, 8.0]"},
		{judged(analysis.NotResolved, 0.3, 0, 0.6, because(analysis.MissingTrials{Missing: 11, Of: 35, Without: analysis.Equivalent})),
			"not resolved: 0.3 % more [0.0, 0.6] (11 of 35 pairs are missing, since their trials failed; if these did not count, it would be equivalent)"},
		{judged(analysis.NotResolved, 7, 6, 8, because(analysis.MissingTrials{Missing: 14, Of: 40, Without: analysis.Costs}), samples(20, 6)),
			"not resolved: 7.0 % more [6.0, 8.0] (14 of 40 values are missing, since their trials failed; if these did not count, it would cost)"},
		{judged(analysis.Costs, 69.7, 67.3, 71.6, because(analysis.MissingTrials{Missing: 1, Of: 10, Without: analysis.Costs})),
			"costs 69.7 % [67.3, 71.6] (1 of 10 pairs is missing, since its trial failed; the verdict stands with this one counted as no difference)"},
		{judged(analysis.Gains, -7, -8, -6, because(analysis.MissingTrials{Missing: 2, Of: 30, Worst: 2, Without: analysis.Gains})),
			"gains 7.0 % [6.0, 8.0] (2 of 30 pairs are missing, since their trials failed; the verdict stands with these counted as the worst of the arm)"},
		{judged(analysis.Costs, 7, 6, 8, because(analysis.MissingTrials{Missing: 3, Of: 30, Worst: 1, Without: analysis.Costs})),
			"costs 7.0 % [6.0, 8.0] (3 of 30 pairs are missing, since their trials failed; the verdict stands with 1 of these counted as the worst of the baseline, and the others counted as no difference)"},
		{judged(analysis.NotResolved, 0.3, -0.4, 1, because(analysis.MeanNotShown{}), mean),
			"not resolved: 0.3 % more [0.4 less, 1.0 more] in the typical round, but the mean is not shown to lie within ±2 %: 10.0 % more [2.0, 20.0]"},
	} {
		if got := Sentence(c.c); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}
