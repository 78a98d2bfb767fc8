package analysis

import (
	"math"
	"testing"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
)

// asked makes a question of two independent samples that differ by a factor.
func asked(arm, against string, m experiment.Metric, factor float64) Question {
	q := Question{Cell: "network", Arm: arm, Against: against, Data: contrast.Data{Metric: m}}
	for i, x := range quiet {
		q.Baseline = append(q.Baseline, 100*math.Exp(x))
		q.Treated = append(q.Treated, 100*factor*math.Exp(quiet[(i+5)%len(quiet)]))
	}
	return q
}

func TestAssess(t *testing.T) {
	plan, time := testPlan(12, nil, "a"), headline("time", experiment.Lower)
	a := Assess(plan, []Question{asked("a", "2", time, 1.1), asked("a", "3", time, 1), asked("b", "2", time, 0.9)}, nil)
	for i, want := range []string{"costs 10.0 [9.3 10.7]", "equivalent 0.0 [-0.6 0.6]", "gains -10.0 [-10.5 -9.5]"} {
		if got := said(a.Asked[i]); got != want {
			t.Errorf("question %d: %s, want %s", i+1, got, want)
		}
	}
	if a.Family != 3 || a.Failed != nil {
		t.Errorf("family of %d, failed controls %v", a.Family, a.Failed)
	}
}

// Assess gives the same results as a run with the same values.
func TestAssessAgreesWithAnalyze(t *testing.T) {
	time := headline("time", experiment.Lower)
	plan := testPlan(12, []experiment.Metric{time}, "a", "b")
	run := Analyze(plan, testTrials(plan, 12, scripted(map[string][]float64{
		"plain": around(0, 1, 0), "control": around(0, 1, 5), "a": around(0.03, 2, 3), "b": around(0.001, 1, 7)})), nil)
	question := func(arm string) Question {
		d := tabulateForTest(plan, run, arm)
		return Question{Cell: "network", Arm: arm, Data: d}
	}
	a := Assess(plan, []Question{question("a"), question("b")}, []Question{question("control")})
	for i, c := range run.Comparisons {
		got := a.Asked[i]
		if said(got) != said(c) || got.Verdict != c.Verdict || got.PAdjusted != c.PAdjusted || got.MDE != c.MDE || got.Floor != c.Floor {
			t.Errorf("%s: %+v\nwant %+v", c.Arm, got, c)
		}
	}
}

// tabulateForTest returns the pairs of an arm from the series of a run.
func tabulateForTest(plan *experiment.Plan, run *Run, arm string) contrast.Data {
	d := contrast.Data{Metric: plan.Cells[0].Metrics[0], Paired: true, Rounds: make([]int, 12), Moved: make([]int, 12)}
	for _, s := range run.Cells[0].Metrics[0].Arms {
		switch s.Arm {
		case "plain":
			d.Baseline = s.Values
		case arm:
			d.Treated = s.Values
		case "control":
			d.Control = s.Values
		}
	}
	if arm == "control" {
		d.Control = nil
	}
	d.Compare()
	return d
}

// A control that differs fails, and withholds the verdicts of its own questions only.
func TestAssessControls(t *testing.T) {
	plan, time := testPlan(12, nil, "a"), headline("time", experiment.Lower)
	a := Assess(plan, []Question{asked("a", "2", time, 1.03), asked("a", "3", time, 1.03)},
		[]Question{asked("control", "2", time, 1.05), asked("control", "3", time, 1)})
	if len(a.Failed) != 1 || a.Failed[0] != 0 {
		t.Errorf("failed: %v, want the first", a.Failed)
	}
	if got := said(a.Asked[0]); got != `not resolved 3.0 [2.4 3.6] within-bias {"bias":0.05631893785676852}` {
		t.Errorf("under a control that differs: %s", got)
	}
	if got := said(a.Asked[1]); got != "costs 3.0 [2.4 3.6]" {
		t.Errorf("under one that does not: %s", got)
	}
}

// Two metrics with the same information in a closed loop are one claim. Too few values give no
// claim.
func TestAssessRestatedAndMissing(t *testing.T) {
	plan, latency, rate := testPlan(12, nil, "a"), headline("latency", experiment.Lower), headline("rate", experiment.Higher)
	restated := asked("a", "2", latency, 1.1)
	restated.Restates, restated.Observational = "rate", true
	empty := Question{Cell: "other", Arm: "a", Data: contrast.Data{Metric: latency}}
	a := Assess(plan, []Question{restated, asked("a", "2", rate, 0.9), empty}, nil)
	if a.Family != 2 {
		t.Errorf("family of %d, want 2", a.Family)
	}
	if got := said(a.Asked[0]); got != `restated 10.0 [9.3 10.7] same-claim {"metric":"rate"} observational restates rate` {
		t.Errorf("restated: %s", got)
	}
	if got := said(a.Asked[2]); got != "not resolved too-few-values" {
		t.Errorf("without values: %s", got)
	}
}
