package analysis

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// breakRounds makes the trials of an arm invalid in the given rounds.
func breakRounds(trials []journal.Trial, arm, rule string, rounds ...int) {
	for i := range trials {
		if trials[i].Arm == arm && slices.Contains(rounds, trials[i].Round) {
			trials[i].Values = nil
			trials[i].Invalid = append(trials[i].Invalid, journal.Violation{Rule: rule, Detail: "made so"})
		}
	}
}

// upTo returns the rounds from 1 to n.
func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// failureText formats failures as a line.
func failureText(f Failures) string {
	text := fmt.Sprintf("%s: %s %d of %d [%.0f %.0f]", f.Arm, f.Verdict, f.Failed.Count, f.Failed.Of, 100*f.Failed.Share.Lo, 100*f.Failed.Share.Hi)
	for _, r := range f.Rules {
		text += fmt.Sprintf(" %s %d", r.Rule, r.Count)
	}
	if f.Reference != nil {
		text += fmt.Sprintf(", against %d of %d", f.Reference.Count, f.Reference.Of)
	}
	if f.Pooled {
		text += " pooled"
	}
	if f.Reason != nil {
		text += " " + figures(f.Reason)
	}
	return text
}

// TestFailures: more failures under a layer give a verdict of their own. Trials spoilt by the
// machine do not count. A verdict on a metric must hold whatever the missing values are.
func TestFailures(t *testing.T) {
	metrics := []experiment.Metric{headline("time", experiment.Lower)}
	for _, c := range []struct {
		name   string
		cost   float64
		change func([]journal.Trial) []journal.Trial
		want   []string // expected failures
		metric string
		counts string
	}{
		{"fails", 0.003, func(trials []journal.Trial) []journal.Trial {
			breakRounds(trials, "layer", "exit-status", upTo(9)...)
			breakRounds(trials, "layer", "timeout", 10, 11)
			breakRounds(trials, "layer", "foreign-cpu", 12) // the machine spoilt it, so it is no execution
			return trials
		}, []string{"plain:  0 of 36 [0 10], against nothing", "control:  0 of 36 [0 10], against 0 of 36", "layer: fails 11 of 35 [17 49] exit-status 9 timeout 2, against 0 of 72 pooled"},
			`not resolved 0.3 [-0.2 0.8] missing-trials {"missing":11,"of":35,"without":"equivalent"}`, "108 planned, 96 valid, 11 failed, 1 lost"},
		{"one failure", 0.003, func(trials []journal.Trial) []journal.Trial {
			breakRounds(trials, "layer", "exit-status", 3)
			return trials
		}, []string{"plain:  0 of 36 [0 10], against nothing", "control:  0 of 36 [0 10], against 0 of 36", "layer: not resolved 1 of 36 [0 15] exit-status 1, against 0 of 72 pooled"},
			`not resolved 0.2 [-0.1 0.7] missing-trials {"missing":1,"of":36,"without":"equivalent"}`, "108 planned, 107 valid, 1 failed, 0 lost"},
		{"a claim that stands", 0.07, func(trials []journal.Trial) []journal.Trial {
			breakRounds(trials, "layer", "exit-status", 3)
			breakRounds(trials, "plain", "lost", 7)
			return trials
		}, []string{"plain:  1 of 36 [0 15] lost 1, against nothing", "control:  0 of 36 [0 10], against 1 of 36", "layer: not resolved 1 of 36 [0 15] exit-status 1, against 1 of 72 pooled"},
			`costs 7.2 [5.1 7.8] missing-trials {"missing":2,"of":36,"worst":1,"without":"costs"}`, "108 planned, 106 valid, 2 failed, 0 lost"},
		{"half of the arm's fail", 0.07, func(trials []journal.Trial) []journal.Trial {
			breakRounds(trials, "layer", "parse", upTo(16)...)
			return trials
		}, []string{"plain:  0 of 36 [0 10], against nothing", "control:  0 of 36 [0 10], against 0 of 36", "layer: fails 16 of 36 [28 62] parse 16, against 0 of 72 pooled"},
			`costs 7.2 [1.3 11.1] missing-trials {"missing":16,"of":36,"without":"costs"}`, "108 planned, 92 valid, 16 failed, 0 lost"},
		{"fails less often", 0.07, func(trials []journal.Trial) []journal.Trial {
			breakRounds(trials, "plain", "lost", upTo(12)...)
			breakRounds(trials, "control", "lost", upTo(11)...)
			return trials
		}, []string{"plain:  12 of 36 [19 51] lost 12, against nothing", "control:  11 of 36 [16 48] lost 11, against 12 of 36", "layer: gains 0 of 36 [0 10], against 23 of 72 pooled"},
			`not resolved 7.3 [6.7 7.7] missing-trials {"missing":12,"of":36,"worst":12,"without":"costs"}`, "108 planned, 85 valid, 23 failed, 0 lost"},
		{"the control fails as well", 0.07, func(trials []journal.Trial) []journal.Trial {
			breakRounds(trials, "layer", "lost", upTo(12)...)
			breakRounds(trials, "control", "lost", upTo(11)...)
			return trials
		}, []string{"plain:  0 of 36 [0 10], against nothing", "control:  11 of 36 [16 48] lost 11, against 0 of 36", "layer: not resolved 12 of 36 [19 51] lost 12, against 0 of 36"},
			`costs 7.3 [2.0 10.7] missing-trials {"missing":12,"of":36,"without":"costs"}`, "108 planned, 85 valid, 23 failed, 0 lost"},
		{"repeated, as older runs did", 0.07, func(trials []journal.Trial) []journal.Trial {
			var all []journal.Trial
			for _, trial := range trials {
				if trial.Arm == "layer" && trial.Round <= 12 {
					broken := trial
					broken.Values, broken.Invalid = nil, []journal.Violation{{Rule: "exit-status"}, {Rule: "exit-status"}}
					all = append(all, broken)
					trial.Attempt = 2
				}
				all = append(all, trial)
			}
			return all
		}, []string{"plain:  0 of 36 [0 10], against nothing", "control:  0 of 36 [0 10], against 0 of 36", "layer: fails 12 of 48 [14 40] exit-status 12, against 0 of 72 pooled"},
			"costs 7.3 [6.8 7.7]", "108 planned, 108 valid, 0 failed, 0 lost"},
		{"nothing fails", 0.07, func(trials []journal.Trial) []journal.Trial {
			breakRounds(trials, "layer", "proof", 3)
			return trials
		}, nil, "costs 7.2 [6.8 7.6]", "108 planned, 107 valid, 0 failed, 1 lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := testPlan(36, metrics, "layer")
			plan.Attempts = 1
			trials := c.change(testTrials(plan, 36, scripted(map[string][]float64{"layer": around(c.cost, 1, 0), "control": around(0, 1, 5)})))
			run := Analyze(plan, trials, nil)
			var got []string
			for _, f := range run.Failures {
				text := failureText(f)
				if f.Role == experiment.Baseline {
					text += ", against nothing"
				}
				got = append(got, text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("failures\n%q, want\n%q", got, c.want)
			}
			if text := said(run.Comparisons[0]); text != c.metric {
				t.Errorf("got  %s\nwant %s", text, c.metric)
			}
			n := run.Trials
			if text := fmt.Sprintf("%d planned, %d valid, %d failed, %d lost", n.Planned, n.Valid, n.Failed, n.Lost); text != c.counts {
				t.Errorf("%s, want %s", text, c.counts)
			}
			if !run.Valid || !run.Finished {
				t.Errorf("valid %v, finished %v: %q", run.Valid, run.Finished, reasons(run))
			}
			if _, err := json.Marshal(run); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFailureFamily: comparisons of failures are members of the family only if enough trials failed
// for a significant difference.
func TestFailureFamily(t *testing.T) {
	plan := testPlan(12, []experiment.Metric{headline("time", experiment.Lower)}, "a", "b")
	for broken, want := range map[int]int{0: 2, 1: 2, 2: 2, 3: 4} { // least p of 3 in 12 of 36: 0.031; of 2: 0.10
		trials := testTrials(plan, 12, scripted(map[string][]float64{"a": around(0.07, 1, 0), "b": around(0.07, 1, 3), "control": around(0, 1, 5)}))
		breakRounds(trials, "a", "exit-status", upTo(broken)...)
		if got := Analyze(plan, trials, nil).Family; got != want {
			t.Errorf("%d failures: family of %d, want %d", broken, got, want)
		}
	}
}

// TestInterim: unfinished arms get estimates and no verdicts.
func TestInterim(t *testing.T) {
	plan := testPlan(12, []experiment.Metric{headline("time", experiment.Lower)}, "layer", "other")
	plan.Attempts = 1
	trials := testTrials(plan, 12, scripted(map[string][]float64{"layer": around(0.07, 1, 0), "other": around(0.05, 1, 2), "control": around(0, 1, 5)}))
	breakRounds(trials, "other", "exit-status", upTo(7)...)
	for _, c := range []struct {
		name         string
		keep         func(journal.Trial) bool
		layer, other string
		fails        string
	}{
		{"finished", func(journal.Trial) bool { return true }, "costs 7.3 [6.6 7.8]",
			`not resolved 4.7 [3.6 5.8] too-few-to-claim {"family":4,"fewest":6}`, "other: fails 7 of 12 [28 85] exit-status 7, against 0 of 24 pooled"},
		{"eight rounds", func(t journal.Trial) bool { return t.Round <= 8 }, `interim 7.4 [6.6 8.1] rounds-missing {"rounds":8,"of":12}`,
			`interim 3.9 rounds-missing {"rounds":8,"of":12}`, `other: interim 7 of 8 [47 100] exit-status 7, against 0 of 16 pooled rounds-missing {"rounds":8,"of":12}`},
		{"one arm left out", func(t journal.Trial) bool { return t.Round <= 8 || t.Arm != "other" }, "costs 7.3 [6.6 7.8]",
			`interim 3.9 rounds-missing {"rounds":8,"of":12}`, `other: interim 7 of 8 [47 100] exit-status 7, against 0 of 24 pooled rounds-missing {"rounds":8,"of":12}`},
		{"the baseline stopped", func(t journal.Trial) bool { return t.Round <= 11 || t.Arm != "plain" }, `interim 7.4 [6.6 7.9] rounds-missing {"rounds":11,"of":12}`,
			`interim 4.9 [3.4 6.4] rounds-missing {"rounds":11,"of":12}`, `other: interim 7 of 12 [28 85] exit-status 7, against 0 of 23 pooled rounds-missing {"rounds":11,"of":12}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var kept []journal.Trial
			for _, trial := range trials {
				if c.keep(trial) {
					kept = append(kept, trial)
				}
			}
			run := Analyze(plan, kept, nil)
			if got := said(*run.Comparison("network", "layer", "time")); got != c.layer {
				t.Errorf("layer: %s, want %s", got, c.layer)
			}
			if got := said(*run.Comparison("network", "other", "time")); got != c.other {
				t.Errorf("other: %s, want %s", got, c.other)
			}
			if got := failureText(run.Failures[len(run.Failures)-1]); got != c.fails {
				t.Errorf("failures: %s, want %s", got, c.fails)
			}
			if run.Finished != (len(kept) == len(trials)) {
				t.Errorf("finished: %v", run.Finished)
			}
		})
	}
}

// TestInterimPilot: the number of rounds is unknown until the pilot is done.
func TestInterimPilot(t *testing.T) {
	plan := testPlan(8, []experiment.Metric{headline("time", experiment.Lower)}, "layer")
	plan.Precision, plan.MaxRounds = 0.01, 40
	trials := testTrials(plan, 8, scripted(map[string][]float64{"layer": around(0.07, 3, 0), "control": around(0, 3, 5)}))
	c := Analyze(plan, trials[:len(trials)-1], nil).Comparisons[0]
	if c.Verdict != Interim {
		t.Errorf("in the pilot: %s", said(c))
	}
	c = Analyze(plan, trials, nil).Comparisons[0]
	if c.Verdict != Interim || c.Reason.(RoundsMissing).Of <= 8 {
		t.Errorf("after the pilot: %s", said(c))
	}
}

// TestDisagreementOfWhatStands: if ranks make a claim that depends on failed trials and t makes
// none, neither resolves the comparison, and the estimators count as agreeing.
func TestDisagreementOfWhatStands(t *testing.T) {
	for broken, want := range map[int]Verdict{0: Costs, 5: NotResolved} {
		plan := testPlan(17, timeOnly, "layer")
		plan.Attempts = 1
		layer := []float64{0.04, 0.05, 0.045, 0.052, 0.043, -1.5, 0.055, 0.048, 0.041, 0.051, 0.047, 0.046, 0.04, 0.05, 0.045, 0.052, 0.043}
		trials := testTrials(plan, 17, scripted(map[string][]float64{"layer": layer, "control": around(0, 1, 5)}))
		breakRounds(trials, "plain", "exit-status", upTo(broken)...)
		c := Analyze(plan, trials, nil).Comparisons[0]
		disagrees := slices.ContainsFunc(c.Warnings, func(f Finding) bool { _, is := f.(Disagreement); return is })
		if c.Verdict != want || disagrees != (want == Costs) {
			t.Errorf("%d failed: %s, disagreement %v", broken, said(c), disagrees)
		}
	}
}
