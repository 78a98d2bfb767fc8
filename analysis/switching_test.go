package analysis

import (
	"slices"
	"testing"

	"tare/journal"
)

// The report says how many trials of each arm followed a switch.
func TestSwitching(t *testing.T) {
	plan := testPlan(6, timeOnly, "layer")
	trials := testTrials(plan, 6, noisy(1, 0.01, nil))
	warned := func() bool {
		want := Warning{Text: "a layer is turned on and off for all arms, and followed by a trial that may still feel the change: " +
			"1 of 6 trials of plain, 0 of 6 trials of control, 6 of 6 trials of layer; a difference between arms may be partly that, unless the layer's settle is long enough"}
		list := Analyze(plan, trials, nil).Warnings
		for _, w := range list {
			t.Log(w.Text)
		}
		return slices.Contains(list, want)
	}
	if warned() {
		t.Error("warned of a run in which nothing was switched")
	}
	for i := range trials {
		trials[i].Switched = trials[i].Arm == "layer" || trials[i].Round == 3 && trials[i].Arm == plan.Arms[0].Name
	}
	// An invalid attempt is no trial that counts.
	bad := trials[0]
	bad.Attempt, bad.Switched, bad.Invalid = 2, true, []journal.Violation{{Rule: "steal"}}
	trials = append(trials, bad)
	if !warned() {
		t.Error("not warned")
	}
}
