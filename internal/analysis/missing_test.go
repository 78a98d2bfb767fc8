package analysis

import (
	"regexp"
	"strings"
	"testing"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
)

// A clear verdict holds although a trial of the arm or of the baseline failed, for ratios and for
// differences. A verdict that the failure could reverse does not hold.
func TestMissingTrialsDoNotUndoWhatIsPlain(t *testing.T) {
	bandwidth, time := headline("bandwidth", experiment.Higher), headline("time", experiment.Lower)
	amount := experiment.Metric{Name: "time", Unit: "ms", Better: experiment.Lower, Headline: true, Scale: experiment.Difference}
	for _, c := range []struct {
		name   string
		metric experiment.Metric
		rounds int
		factor float64
		noise  float64
		fails  map[string][]int // rounds in which arms fail
		want   string           // expected result without the interval
	}{
		{"a slow arm times out once", bandwidth, 10, 0.303, 0.03, map[string][]int{"layer": {6}}, `costs missing-trials {"missing":1,"of":10,"without":"costs"}`},
		{"a slow arm times out in three of ten", bandwidth, 10, 0.303, 0.03, map[string][]int{"layer": {2, 6, 9}}, `costs missing-trials {"missing":3,"of":10,"without":"costs"}`},
		{"of whose metric less is better", time, 10, 3.3, 0.03, map[string][]int{"layer": {6}}, `costs missing-trials {"missing":1,"of":10,"without":"costs"}`},
		{"of amounts", amount, 10, 3.3, 0.03, map[string][]int{"layer": {6}}, `costs missing-trials {"missing":1,"of":10,"without":"costs"}`},
		{"its baseline fails once", time, 10, 3.3, 0.03, map[string][]int{"plain": {6}}, `costs missing-trials {"missing":1,"of":10,"worst":1,"without":"costs"}`},
		{"its baseline fails in three of ten", time, 10, 3.3, 0.03, map[string][]int{"plain": {2, 6, 9}}, `not resolved missing-trials {"missing":3,"of":10,"worst":3,"without":"costs"}`},
		{"both fail in the same rounds", time, 10, 3.3, 0.03, map[string][]int{"plain": {2, 6, 9}, "layer": {2, 6, 9}}, `costs missing-trials {"missing":3,"of":10,"without":"costs"}`},
		{"the control fails", time, 10, 3.3, 0.03, map[string][]int{"control": {2, 6, 9}}, "costs"},
		{"a fast arm fails once", time, 10, 0.3, 0.03, map[string][]int{"layer": {6}}, `gains missing-trials {"missing":1,"of":10,"worst":1,"without":"gains"}`},
		{"a fast arm fails in three of ten", time, 10, 0.3, 0.03, map[string][]int{"layer": {2, 6, 9}}, `not resolved missing-trials {"missing":3,"of":10,"worst":3,"without":"gains"}`},
		{"whose baseline fails in three of ten", time, 10, 0.3, 0.03, map[string][]int{"plain": {2, 6, 9}}, `gains missing-trials {"missing":3,"of":10,"without":"gains"}`},
		{"few rounds", time, 5, 3.3, 0.03, map[string][]int{"layer": {3}}, `costs if normal missing-trials {"missing":1,"of":5,"without":"costs"}`},
		{"few rounds, and the arm is the fast one", time, 5, 0.3, 0.03, map[string][]int{"layer": {3}}, `not resolved too-few-to-claim {"family":1,"fewest":6}`},
		{"little is shown, and most of it is missing", time, 20, 1.03, 0.02, map[string][]int{"layer": {1, 2, 3, 5, 6, 7, 9, 10, 11}}, `not resolved missing-trials {"missing":9,"of":20,"without":"costs"}`},
		{"an arm that costs nothing", time, 40, 1, 0.01, map[string][]int{"layer": {6}}, `not resolved missing-trials {"missing":1,"of":40,"without":"equivalent"}`},
		{"whose baseline fails", time, 40, 1, 0.01, map[string][]int{"plain": {6}}, `not resolved missing-trials {"missing":1,"of":40,"without":"equivalent"}`},
	} {
		plan := testPlan(c.rounds, []experiment.Metric{c.metric}, "layer")
		trials := testTrials(plan, c.rounds, noisy(3, c.noise, map[string]float64{"layer": c.factor}))
		for arm, rounds := range c.fails {
			breakRounds(trials, arm, "timeout", rounds...)
		}
		got := Judge(plan, trials).Comparisons[0]
		text := strings.TrimSpace(bracketed.ReplaceAllString(said(got), ""))
		if text != c.want {
			t.Errorf("%s: %s, want %s", c.name, said(got), c.want)
		}
	}
}

// bracketed matches an estimate with its interval.
var bracketed = regexp.MustCompile(` -?[0-9.]+ \[.*?\]`)

// Trials spoilt by the machine tell nothing about an arm, so they change no verdict.
func TestTrialsOfTheMachineAreNotMissing(t *testing.T) {
	plan := testPlan(40, timeOnly, "layer")
	plan.Attempts = 1
	trials := testTrials(plan, 40, noisy(7, 0.01, nil))
	breakRounds(trials, "layer", "foreign-cpu", 6, 20)
	breakRounds(trials, "plain", "steal", 11)
	if got := Judge(plan, trials).Comparisons[0]; got.Verdict != Equivalent || got.Reason != nil || got.Rounds != 37 {
		t.Errorf("%s of %d rounds", said(got), got.Rounds)
	}
}

// Missing values affect a part of a cost by the same rule: a higher cost at some levels makes the part larger, and
// at other levels smaller.
func TestMissingInParts(t *testing.T) {
	r := &costFit{sweep: sweep{x: []float64{0, 1, 2, 4, 8}}, failed: [][]bool{
		{false, false, false, false, true, false}, // the highest level failed
		{false, true, false, false, false, false}, // the first level above zero failed
		{true, false, false, false, false, false}, // level zero failed
		{false, false, false, false, false, true}, // the baseline failed
		{false, true, false, false, true, false},
	}}
	if got, want := r.missing(EachPart), (contrast.Missing{Baseline: 1, Treated: 1, Both: 3}); got != want {
		t.Errorf("each: %+v, want %+v", got, want)
	}
	if got, want := r.missing(AnyPart), (contrast.Missing{Baseline: 2, Treated: 1, Both: 2}); got != want {
		t.Errorf("any: %+v, want %+v", got, want)
	}
}

// The interval of a claim contains the intervals that result if the failed trials had shown no
// difference, or had been the worst.
func TestClaimsIntervalHoldsWhatIsMissing(t *testing.T) {
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
	for _, factor := range []float64{1 / 1.07, 1, 3} {
		if whole := judged(factor); got.Overhead.Lo > whole.Overhead.Lo+0.001 || got.Overhead.Hi < whole.Overhead.Hi-0.001 {
			t.Errorf("%s, with values %v times those there: %s", said(got), factor, said(whole))
		}
	}
}
