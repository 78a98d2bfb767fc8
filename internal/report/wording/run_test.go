package wording

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

func TestSetUps(t *testing.T) {
	for _, c := range []struct {
		plan experiment.SetUps
		of   analysis.SetUps
		want string
	}{
		{0, analysis.SetUps{}, ""},
		{0, analysis.SetUps{Count: 12, Rounds: 12, Sessions: 1}, "anew for every round"},
		{experiment.SetUpsEveryTrial, analysis.SetUps{Count: 12, Rounds: 12, Sessions: 1}, "anew for every trial, one arm at a time"},
		{0, analysis.SetUps{Count: 6, Rounds: 15, Sessions: 1}, "6, each for about 2.5 rounds"},
		{0, analysis.SetUps{Count: 1, Rounds: 12, Sessions: 1}, "one, for all rounds"},
		{0, analysis.SetUps{Count: 2, Rounds: 12, Sessions: 2}, "one in each session"},
	} {
		if got := SetUps(&experiment.Plan{SetUps: c.plan}, c.of); got != c.want {
			t.Errorf("%+v: %q, want %q", c.of, got, c.want)
		}
	}
	m := experiment.Metric{Name: "wall", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio}
	c := &analysis.Comparison{Metric: m, SetUps: &analysis.BetweenSetUps{SetUps: 6, Rounds: 12, SD: 0.008, Most: 0.021, P: 0.03}}
	if got, want := BetweenSetUps(c), "between set-ups ±0.8 % (at most 2.1 %, 6 set-ups in 12 rounds, p = 0.03)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
