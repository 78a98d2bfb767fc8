package analysis

import (
	"slices"
	"testing"

	"tare/internal/run/journal"
)

// The report contains the number of trials of each arm that followed a switch.
func TestSwitching(t *testing.T) {
	plan := testPlan(6, timeOnly, "layer")
	trials := testTrials(plan, 6, noisy(1, 0.01, nil))
	warned := func() bool {
		want := `switching {"arms":[{"arm":"plain","after":1,"valid":6},{"arm":"control","after":0,"valid":6},{"arm":"layer","after":6,"valid":6}]}`
		return slices.ContainsFunc(Analyze(plan, trials, nil).Warnings, func(w Warning) bool { return figures(w.Finding) == want })
	}
	if warned() {
		t.Error("warned of a run in which nothing was switched")
	}
	for i := range trials {
		trials[i].Switched = trials[i].Arm == "layer" || trials[i].Round == 3 && trials[i].Arm == plan.Arms[0].Name
	}
	// An invalid attempt does not count.
	bad := trials[0]
	bad.Attempt, bad.Switched, bad.Invalid = 2, true, []journal.Violation{{Rule: "steal"}}
	trials = append(trials, bad)
	if !warned() {
		t.Error("not warned")
	}
}
