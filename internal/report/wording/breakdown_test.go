package wording

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
)

func TestBreakdownText(t *testing.T) {
	ratio := experiment.Metric{Name: "time", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Headline: true}
	part := func(name analysis.PartName, v analysis.Verdict, point, lo, hi float64) analysis.Part {
		return analysis.Part{Part: name, Comparison: analysis.Comparison{Verdict: v, Metric: ratio, Rounds: 12, Paired: true, Margin: 0.02, Overhead: analysis.Interval{Point: point, Lo: lo, Hi: hi}},
			Amount: &analysis.Interval{Point: point * 1e-6, Lo: lo * 1e-6, Hi: hi * 1e-6}}
	}
	each := part(analysis.EachPart, analysis.Costs, 0.0005, 0.0004, 0.0006)
	whole := []analysis.Part{part(analysis.Installed, analysis.Costs, 0.012, 0.008, 0.016), part(analysis.AnyPart, analysis.Costs, 0.034, 0.03, 0.038), each}
	unresolved := part(analysis.AnyPart, analysis.NotResolved, 0.001, -0.004, 0.006)
	unresolved.Reason = analysis.NothingShown{}
	missing := part(analysis.AnyPart, analysis.NotResolved, 0, 0, 0)
	missing.Reason, missing.Rounds = analysis.TooFewValues{}, 0
	for _, c := range []struct {
		b    analysis.Breakdown
		want string
	}{
		{analysis.Breakdown{Factor: "rules", Parts: whole}, "installed costs 1.2 % [0.8, 1.6], any rule 3.4 % [3.0, 3.8], each rule 0.05 % [0.04, 0.06] more"},
		{analysis.Breakdown{Factor: "depth", Parts: whole[1:]}, "any unit of depth costs 3.4 % [3.0, 3.8], each unit of depth 0.05 % [0.04, 0.06] more"},
		{analysis.Breakdown{Factor: "rules", Parts: []analysis.Part{whole[0], unresolved, each}},
			"installed costs 1.2 % [0.8, 1.6], any rule is not resolved at 0.1 % more [0.4 less, 0.6 more], each rule costs 0.05 % [0.04, 0.06] more"},
		{analysis.Breakdown{Factor: "rules", Parts: []analysis.Part{part(analysis.AnyPart, analysis.Equivalent, 0.001, -0.004, 0.006), part(analysis.EachPart, analysis.Gains, -0.02, -0.03, -0.01)}},
			"any rule is equivalent at 0.1 % more [0.4 less, 0.6 more], each rule gains 2.0 % [1.0, 3.0] more"},
		{analysis.Breakdown{Factor: "rules", Parts: []analysis.Part{missing}}, "any rule: not resolved: no valid pairs"},
		{analysis.Breakdown{Factor: "rules", Metric: ratio, Parts: whole, Miss: &analysis.Miss{X: 64, Poor: true, By: analysis.Interval{Point: 0.12, Lo: 0.08, Hi: 0.16}, Bend: "steeper"}},
			"installed costs 1.2 % [0.8, 1.6], any rule 3.4 % [3.0, 3.8], each rule 0.05 % [0.04, 0.06] more; not a line: 64 rules cost 12.0 % more [8.0, 16.0] than the line through the other levels says; steeper at higher levels than at lower ones"},
		{analysis.Breakdown{Factor: "rules", Metric: ratio, Parts: whole[2:], Miss: &analysis.Miss{X: 1, Poor: true, By: analysis.Interval{Point: -0.01, Lo: -0.02, Hi: -0.005}}},
			"each rule costs 0.05 % [0.04, 0.06] more; not a line: 1 rule costs 1.0 % less [0.5, 2.0] than the line through the other levels says"},
	} {
		if got := BreakdownText(&c.b); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	b := analysis.Breakdown{Arm: "seccomp", Factor: "rules", Held: []factor.Level{{Factor: "action", Value: "errno"}}}
	if got := BreakdownName(&b); got != "seccomp with action=errno" {
		t.Errorf("%q", got)
	}
	if got := PartAmount(&whole[1]); got != "34.0 ns more [30.0, 38.0]" {
		t.Errorf("%q", got)
	}
	if got := PartSentence(&b, &unresolved); got != "any rule not resolved: 0.1 % more [0.4 less, 0.6 more] (the pairs do not vary, so the smallest difference that could be found is unknown)" {
		t.Errorf("%q", got)
	}
}
