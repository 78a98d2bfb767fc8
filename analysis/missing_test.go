package analysis

import (
	"testing"

	"tare/experiment"
)

// The interval of a claim holds those that it would have if the trials that failed had
// been as good, or as bad, as any.
func TestClaimsIntervalHoldsWhateverIsMissing(t *testing.T) {
	plan := testPlan(30, []experiment.Metric{headline("time", experiment.Lower)}, "layer")
	judged := func(factor float64) Comparison {
		trials := testTrials(plan, 30, noisy(3, 0.02, map[string]float64{"layer": 1.07}))
		if factor == 0 {
			breakRounds(trials, "layer", "timeout", 4, 21)
		}
		for i := range trials {
			if trials[i].Arm == "layer" && (trials[i].Round == 4 || trials[i].Round == 21) && factor > 0 {
				trials[i].Values["time"] *= factor
			}
		}
		return Judge(plan, trials).Comparisons[0]
	}
	got := judged(0)
	if got.Verdict != Costs {
		t.Fatalf("%s", said(got))
	}
	for _, factor := range []float64{0.5, 1, 3} {
		if whole := judged(factor); got.Overhead.Lo > whole.Overhead.Lo+0.001 || got.Overhead.Hi < whole.Overhead.Hi-0.001 {
			t.Errorf("%s, with values %v times those there: %s", said(got), factor, said(whole))
		}
	}
}
