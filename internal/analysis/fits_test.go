package analysis

import (
	"fmt"
	"slices"
	"testing"

	"tare/internal/experiment"
)

// A round is complete if each arm has a value. For incomplete rounds in which a program failed, the
// callback gets the arms that failed.
func TestCompleteRounds(t *testing.T) {
	plan := testPlan(6, []experiment.Metric{headline("time", experiment.Lower)}, "layer")
	plan.Attempts = 1
	trials := testTrials(plan, 6, noisy(3, 0.01, nil))
	breakRounds(trials, "layer", "timeout", 2)
	breakRounds(trials, "plain", "steal", 4)
	var failures []string
	var rounds []int
	for _, r := range tabulate(plan, trials, validOnly).completeRounds([]int{0}, []int{0, 2}, plan.Cells[0].Metrics[0], func(who []bool) { failures = append(failures, fmt.Sprint(who)) }) {
		rounds = append(rounds, r.round)
		if r.trials[0].Arm != "plain" || r.trials[1].Arm != "layer" || r.values[1] != r.trials[1].Values["time"] {
			t.Errorf("round %d: values %v", r.round, r.values)
		}
	}
	if want := []int{1, 3, 5, 6}; !slices.Equal(rounds, want) {
		t.Errorf("complete rounds %v, want %v", rounds, want)
	}
	if want := []string{"[false true]"}; !slices.Equal(failures, want) {
		t.Errorf("failures %v, want %v", failures, want)
	}
}
