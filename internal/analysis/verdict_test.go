package analysis

import (
	"math"
	"testing"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// quiet is noise in log units, small, symmetric and without ties.
var quiet = []float64{0.004, -0.006, 0.009, -0.002, 0.007, -0.008, 0.001, -0.003, 0.005, -0.010, 0.002, -0.004}

// scripted returns 100 in the baseline, and in the other arms values with the given contrasts, in
// turn by round.
func scripted(contrasts map[string][]float64) func(int, string, string, string) float64 {
	return func(round int, _, arm, _ string) float64 {
		list := contrasts[arm]
		if len(list) == 0 {
			return 100
		}
		return 100 * math.Exp(list[(round-1)%len(list)])
	}
}

// around scales the noise quiet around a centre, starting at another index so that arms differ.
func around(centre, stretch float64, from int) []float64 {
	list := make([]float64, len(quiet))
	for i := range list {
		list[i] = centre + stretch*quiet[(i+from)%len(quiet)]
	}
	return list
}

func TestVerdicts(t *testing.T) {
	lower, higher := headline("time", experiment.Lower), headline("rate", experiment.Higher)
	exploratory := lower
	exploratory.Headline = false
	retransmits := experiment.Metric{Name: "retransmits", Better: experiment.Lower, Scale: experiment.Difference}
	control := around(0, 1, 5)
	for _, c := range []struct {
		name    string
		rounds  int
		metric  experiment.Metric
		arm     []float64 // contrasts of the arm to the baseline
		control []float64 // contrasts of the control; nil: the default
		change  func(*experiment.Plan, []journal.Trial) []journal.Trial
		want    Verdict
		text    string
	}{
		{name: "cost of a time", rounds: 12, metric: lower, arm: around(0.07, 1, 0),
			want: Costs, text: "costs 7.3 [6.6 7.8]"},
		{name: "cost of a rate", rounds: 12, metric: higher, arm: around(-0.07, 1, 0),
			want: Costs, text: "costs 6.8 [6.3 7.3]"},
		{name: "gain", rounds: 12, metric: lower, arm: around(-0.05, 1, 0),
			want: Gains, text: "gains -4.9 [-5.4 -4.4]"},
		{name: "gain of a rate", rounds: 12, metric: higher, arm: around(0.05, 1, 0),
			want: Gains, text: "gains -5.1 [-5.7 -4.5]"},
		{name: "equivalent", rounds: 12, metric: lower, arm: around(0.003, 1, 0),
			want: Equivalent, text: "equivalent 0.3 [-0.3 0.9]"},
		{name: "equivalent though different", rounds: 12, metric: lower, arm: around(-0.01, 1, 0),
			want: Equivalent, text: "equivalent -1.0 [-1.6 -0.5]"},
		{name: "equivalent to zero", rounds: 12, metric: lower, arm: []float64{0.0, 0.004, -0.004},
			want: Equivalent, text: "equivalent -0.0 [-0.5 0.5]"},
		{name: "equivalent, with an interval beyond the margin", rounds: 10, metric: lower, control: around(0, 0.01, 5), arm: []float64{0.002, -0.003, 0.004, -0.001, 0.034, 0.001, -0.004, 0.045, -0.002, 0.003},
			want: Equivalent, text: "equivalent 0.2 [-0.4 2.2] inner 0.9 [-0.2 1.8]"},
		{name: "equivalent and a gain, with an interval beyond the margin", rounds: 10, metric: lower, control: around(0, 0.01, 5), arm: []float64{-0.002, 0.003, -0.004, 0.001, -0.034, -0.001, 0.004, -0.045, 0.002, -0.003},
			want: Equivalent, text: "equivalent -0.2 [-2.2 0.4] inner 0.9 [-1.8 0.2]"},
		{name: "one pair far away", rounds: 10, metric: lower, control: around(0, 0.2, 5), arm: []float64{0.002, 0.001, -0.001, 0.003, 0, math.Log(10), 0.0015, 0.0025, -0.0005, 0.0005},
			want: NotResolved, text: "not resolved 0.1 [0.0 115.5] inner 0.9 [0.0 0.3] far-reaching"},
		{name: "not resolved", rounds: 12, metric: lower, arm: around(0.01, 8, 0),
			want: NotResolved, text: "not resolved 0.6 [-2.6 4.3] nothing-shown mde 4.9 needed 78"},
		{name: "exploratory", rounds: 12, metric: exploratory, arm: around(0.07, 1, 0),
			want: Costs, text: "costs 7.3 [6.6 7.8] exploratory"},
		{name: "difference", rounds: 12, metric: retransmits, arm: around(0.07, 1, 0),
			want: Costs, text: "costs 7.2 [6.8 7.7] exploratory"},
		{name: "t where ranks are too few", rounds: 4, metric: lower, arm: around(0.07, 1, 0),
			want: Costs, text: "costs if normal 7.5 [6.0 8.9]"},
		{name: "two rounds", rounds: 2, metric: lower, arm: around(0.07, 1, 0),
			want: NotResolved, text: `not resolved 7.3 [-2.1 17.7] too-few-to-claim {"family":1,"fewest":6}`},
		{name: "one round", rounds: 1, metric: lower, arm: around(0.07, 1, 0),
			want: NotResolved, text: "not resolved 8.1 too-few-values"},
		{name: "no round", rounds: 0, metric: lower,
			want: NotResolved, text: "not resolved too-few-values"},
		{name: "no spread", rounds: 3, metric: lower, arm: []float64{0.07},
			want: Costs, text: `costs if normal 7.4 [3.2 11.9]`},
		{name: "no spread, but ranks", rounds: 6, metric: lower, arm: []float64{0.07},
			want: Costs, text: "costs 7.3 [3.3 11.5]"},
		{name: "proof fails", rounds: 6, metric: lower, arm: around(0.07, 1, 0),
			change: func(_ *experiment.Plan, trials []journal.Trial) []journal.Trial {
				breakRule(trials, "layer", "proof")
				return trials
			},
			want: NotResolved, text: `not resolved too-few-values {"loss":{"lost":6,"trials":6,"rules":["proof"]}}`},
		{name: "baseline fails", rounds: 6, metric: lower, arm: around(0.07, 1, 0),
			change: func(_ *experiment.Plan, trials []journal.Trial) []journal.Trial {
				breakRule(trials, "plain", "errors")
				return trials
			},
			want: NotResolved, text: `not resolved too-few-values {"loss":{"baseline":true,"lost":6,"trials":6,"rules":["errors"]}}`},
		{name: "several rules", rounds: 6, metric: lower, arm: around(0.07, 1, 0),
			change: func(_ *experiment.Plan, trials []journal.Trial) []journal.Trial {
				breakRule(trials[9:], "layer", "steal")
				breakRule(trials[:9], "layer", "errors")
				return trials
			},
			want: NotResolved, text: `not resolved too-few-values {"loss":{"lost":6,"trials":6,"rules":["errors","steal"]}}`},
		{name: "control fails its rules", rounds: 6, metric: lower, arm: around(0.07, 1, 0),
			change: func(_ *experiment.Plan, trials []journal.Trial) []journal.Trial {
				breakRule(trials, "control", "steal")
				return trials
			},
			want: NotResolved, text: "not resolved 7.3 [6.4 8.2] no-control"},
		{name: "control of too few pairs to fail", rounds: 12, metric: lower, arm: around(0.07, 1, 0), control: around(0.2, 20, 5),
			change: func(_ *experiment.Plan, trials []journal.Trial) []journal.Trial {
				breakRule(trials[6:], "control", "errors")
				return trials
			},
			want: NotResolved, text: `not resolved 7.0 [6.3 7.6] thin-control {"values":2}`},
		{name: "metric missing", rounds: 6, metric: lower, arm: around(0.07, 1, 0),
			change: func(_ *experiment.Plan, trials []journal.Trial) []journal.Trial {
				for i := range trials {
					if trials[i].Arm == "layer" {
						trials[i].Values = nil
					}
				}
				return trials
			},
			want: NotResolved, text: `not resolved too-few-values {"loss":{"lost":6,"trials":6,"metric":"time"}}`},
		{name: "control differs beyond the margin", rounds: 12, metric: lower, arm: around(0.07, 1, 0), control: around(0.05, 1, 3),
			want: Invalid, text: "invalid 4.9 [2.2 7.1] invalid-runs"},
		{name: "claim under the control's difference", rounds: 12, metric: lower, arm: around(0.03, 3, 0), control: around(0.014, 1, 3),
			want: NotResolved, text: `not resolved 2.2 [0.7 3.9] within-bias {"bias":0.018162976389793098}`},
		{name: "claim over the control's difference", rounds: 12, metric: lower, arm: around(0.05, 3, 0), control: around(0.014, 1, 3),
			want: Costs, text: "costs 4.2 [2.9 5.8]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.control == nil {
				c.control = control
			}
			plan := testPlan(c.rounds, []experiment.Metric{c.metric}, "layer")
			plan.Attempts = 1
			trials := testTrials(plan, c.rounds, scripted(map[string][]float64{"layer": c.arm, "control": c.control}))
			if c.change != nil {
				trials = c.change(plan, trials)
			}
			got := Analyze(plan, trials, nil).Comparisons[0]
			if got.Verdict != c.want || said(got) != c.text {
				t.Errorf("got  %s: %s\nwant %s: %s", got.Verdict, said(got), c.want, c.text)
			}
			if judged := Judge(plan, trials).Comparisons[0]; judged.Verdict != got.Verdict || judged.Overhead != got.Overhead {
				t.Errorf("Judge says %s %v, Analyze %s %v", judged.Verdict, judged.Overhead, got.Verdict, got.Overhead)
			}
		})
	}
}

// Four treatments share one family: a claim that would be of grade measured alone is of grade
// normal among four.
func TestHolm(t *testing.T) {
	plan := testPlan(6, []experiment.Metric{headline("time", experiment.Lower)}, "a", "b", "c", "d")
	factor := map[string][]float64{"control": around(0, 1, 5)}
	for i, arm := range []string{"a", "b", "c", "d"} {
		factor[arm] = around(0.07, 1, i)
	}
	got := texts(Analyze(plan, testTrials(plan, 6, scripted(factor)), nil))
	want := "network/a/time: costs 7.6 [6.4 8.5]"
	if got[0] != want {
		t.Errorf("got  %s\nwant %s", got[0], want)
	}
	plan.Rounds = 12
	got = texts(Analyze(plan, testTrials(plan, 12, scripted(factor)), nil))
	if want := "network/a/time: costs 7.3 [6.6 7.8]"; got[0] != want {
		t.Errorf("got  %s\nwant %s", got[0], want)
	}
}

func TestControlFailure(t *testing.T) {
	plan := testPlan(12, []experiment.Metric{headline("time", experiment.Lower)}, "layer")
	run := Analyze(plan, testTrials(plan, 12, scripted(map[string][]float64{"layer": around(0.07, 1, 0), "control": around(0.05, 1, 3)})), nil)
	if run.Valid || len(run.Reasons) != 1 {
		t.Fatalf("valid %v, reasons %q", run.Valid, reasons(run))
	}
	why := run.Reasons[0].(ControlFails)
	if why.Cell != "network" || why.Metric.Name != "time" || math.Abs(why.Overhead.Lo-0.047) > 0.001 || math.Abs(why.Overhead.Hi-0.055) > 0.001 || why.PAdjusted > 0.001 || why.Margin != 0.02 {
		t.Errorf("%+v", why)
	}
	if c := run.Controls[0]; said(c) != "costs 5.1 [4.7 5.5] control" {
		t.Errorf("control: %s", said(c))
	}
	if floor := run.Comparisons[0].Floor; math.Abs(floor-0.0508) > 0.001 {
		t.Errorf("floor %v, want about 0.051", floor)
	}
}
