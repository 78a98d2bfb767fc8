package wording

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

func TestEffects(t *testing.T) {
	ratio := experiment.Metric{Name: "cpu", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Headline: true}
	rate := ratio
	rate.Better = experiment.Higher
	count := experiment.Metric{Name: "lost", Unit: "B", Better: experiment.Lower, Scale: experiment.Difference}
	effect := func(v analysis.Verdict, m experiment.Metric, point, lo, hi float64, of ...string) *analysis.Effect {
		return &analysis.Effect{Of: of, Comparison: analysis.Comparison{Verdict: v, Metric: m, Rounds: 12, Paired: true, Margin: 0.02,
			Overhead: analysis.Interval{Point: point, Lo: lo, Hi: hi}}}
	}
	with := func(e *analysis.Effect, change func(*analysis.Effect)) *analysis.Effect {
		change(e)
		return e
	}
	for _, c := range []struct {
		e    *analysis.Effect
		want string
	}{
		{effect(analysis.LessTogether, ratio, -0.031, -0.052, -0.010, "a", "b"), "together costs 3.1 % [1.0, 5.2] less than the sum"},
		{effect(analysis.MoreTogether, rate, 0.031, 0.010, 0.052, "a", "b"), "together costs 3.1 % [1.0, 5.2] more than the sum"},
		{effect(analysis.MoreTogether, count, 3, 2, 4, "a", "b"), "exploratory: together costs 3.0 B [2.0, 4.0] more than the sum"},
		{effect(analysis.LessTogether, ratio, -0.031, -0.052, -0.010, "a", "b", "c"), "together costs 3.1 % [1.0, 5.2] less than singles and pairs add up to"},
		{with(effect(analysis.LessTogether, ratio, -0.031, -0.052, -0.010, "a", "b"), func(e *analysis.Effect) { e.Grade, e.Over = analysis.Normal, []string{"c", "d"} }),
			"together costs 3.1 % [1.0, 5.2] less than the sum (if noise is normal), on average over c and d"},
		{effect(analysis.AddsUp, ratio, 0.003, -0.004, 0.010, "a", "b"), "adds up within ±2 % (together costs 0.3 % more [0.4 less, 1.0 more] than the sum)"},
		{effect(analysis.AddsUp, ratio, 0, -0.004, 0.004, "a", "b"), "adds up within ±2 % (together costs the same as the sum: 0.0 % [0.4 less, 0.4 more])"},
		{with(effect(analysis.NotResolved, ratio, -0.012, -0.030, 0.006, "a", "b"), func(e *analysis.Effect) {
			e.Reason, e.MDE, e.Power, e.Needed, e.NeededRange = analysis.NothingShown{}, 0.024, 0.8, 30, &[2]int{20, 52}
		}), "no interaction shown: together costs 1.2 % less [0.6 more, 3.0 less] than the sum (differences of 2.4 % are found with 80 % chance; 20 to 52 rounds would resolve this, 30 with 80 % chance if the noise is as large as it seems)"},
		{with(effect(analysis.NotResolved, ratio, 0, 0, 0, "a", "b"), func(e *analysis.Effect) { e.Reason, e.Rounds = analysis.TooFewValues{}, 0 }), "no interaction shown: no valid pairs"},
		{with(effect(analysis.Costs, ratio, 0.07, 0.06, 0.08, "a"), func(e *analysis.Effect) { e.Over = []string{"b"} }), "costs 7.0 % [6.0, 8.0], on average over b"},
		{with(effect(analysis.Invalid, ratio, 0.07, 0.06, 0.08, "a", "b"), func(e *analysis.Effect) { e.Reason = analysis.InvalidRuns{} }), ""},
		{with(effect(analysis.Interim, ratio, 0.07, 0.06, 0.08, "a", "b"), func(e *analysis.Effect) { e.Reason = analysis.RoundsMissing{Rounds: 9, Of: 12} }), ""},
	} {
		want := c.want
		if want == "" { // what is said of any comparison
			want = Sentence(AgainstSum(c.e))
		}
		if got := EffectSentence(c.e); got != want {
			t.Errorf("%s of %v:\n got %s\nwant %s", c.e.Verdict, c.e.Of, got, want)
		}
	}
}
