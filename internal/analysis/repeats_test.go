package analysis

import (
	"testing"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// TestMoreRepeats: trials that the machine spoilt in one arm more often than in the others give a
// warning. Failures of the program, or trials spoilt in all arms alike, give none.
func TestMoreRepeats(t *testing.T) {
	repeated := func(rule string, arms map[string]int) []Warning {
		plan := testPlan(20, []experiment.Metric{headline("time", experiment.Lower)}, "layer", "other")
		var trials []journal.Trial
		for _, trial := range testTrials(plan, 20, scripted(map[string][]float64{"layer": around(0.02, 1, 0), "other": around(0.03, 1, 2), "control": around(0, 1, 5)})) {
			if trial.Round <= arms[trial.Arm] {
				spoilt := trial
				spoilt.Values, spoilt.Invalid = nil, []journal.Violation{{Rule: rule}}
				trials = append(trials, spoilt)
				trial.Attempt = 2
			}
			trials = append(trials, trial)
		}
		var list []Warning
		for _, w := range Analyze(plan, trials, nil).Warnings {
			if _, ok := w.Finding.(MoreRepeats); ok {
				list = append(list, w)
			}
		}
		return list
	}
	got := repeated("foreign-cpu", map[string]int{"layer": 9, "plain": 1})
	if len(got) != 1 || got[0].Arm != "layer" || got[0].Cell != "network" {
		t.Fatalf("%+v", got)
	}
	if f := got[0].Finding.(MoreRepeats); f.Arm.Count != 9 || f.Arm.Of != 29 || f.Reference.Count != 1 || f.Reference.Of != 41 || f.P > 0.01 {
		t.Errorf("%+v", f)
	}
	for name, arms := range map[string]map[string]int{"all alike": {"layer": 9, "plain": 9, "control": 8, "other": 9}, "few": {"layer": 2}, "none": nil} {
		if got := repeated("foreign-cpu", arms); len(got) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := repeated("exit-status", map[string]int{"layer": 9}); len(got) > 0 {
		t.Errorf("what the program did: %+v", got)
	}
}
