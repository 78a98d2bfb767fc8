package analysis

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
)

var timeOnly = []experiment.Metric{headline("time", experiment.Lower)}

func TestCounts(t *testing.T) {
	invalid := []journal.Violation{{Rule: "steal", Detail: "a"}, {Rule: "steal", Detail: "b"}, {Rule: "errors", Detail: "c"}}
	plan := testPlan(6, timeOnly, "layer")
	run := func(change func([]journal.Trial) []journal.Trial) *Run {
		return Analyze(plan, change(testTrials(plan, 6, noisy(1, 0.01, nil))), nil)
	}
	at := func(trials []journal.Trial, round int, arm string) int {
		return slices.IndexFunc(trials, func(t journal.Trial) bool { return t.Round == round && t.Arm == arm })
	}
	for _, c := range []struct {
		name     string
		change   func([]journal.Trial) []journal.Trial
		want     Counts
		finished bool
	}{
		{"whole", func(t []journal.Trial) []journal.Trial { return t }, Counts{Planned: 18, Done: 18, Valid: 18}, true},
		{"none", func([]journal.Trial) []journal.Trial { return nil }, Counts{Planned: 18}, false},
		{"killed in the last round", func(t []journal.Trial) []journal.Trial { return t[:17] }, Counts{Planned: 18, Done: 17, Valid: 17}, false},
		{"invalid, then valid", func(t []journal.Trial) []journal.Trial {
			again := t[at(t, 2, "layer")]
			t[at(t, 2, "layer")].Invalid = invalid
			again.Attempt = 2
			return append(t, again)
		}, Counts{Planned: 18, Done: 18, Valid: 18, ByRule: map[string]int{"steal": 1, "errors": 1}}, true},
		{"invalid with a later round", func(t []journal.Trial) []journal.Trial {
			t[at(t, 2, "layer")].Invalid = invalid
			return t
		}, Counts{Planned: 18, Done: 18, Valid: 17, Lost: 1, ByRule: map[string]int{"steal": 1, "errors": 1}}, true},
		{"invalid in the last round, with an attempt left", func(t []journal.Trial) []journal.Trial {
			t[at(t, 6, "layer")].Invalid = invalid
			return t
		}, Counts{Planned: 18, Done: 17, Valid: 17, ByRule: map[string]int{"steal": 1, "errors": 1}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := run(c.change)
			if diff := cmp.Diff(c.want, got.Trials); diff != "" {
				t.Error(diff)
			}
			if got.Finished != c.finished {
				t.Errorf("finished %v, want %v", got.Finished, c.finished)
			}
		})
	}
}

// Of several valid attempts at one planned trial, the latest counts.
func TestLatestAttempt(t *testing.T) {
	plan := testPlan(6, timeOnly, "layer")
	trials := testTrials(plan, 6, scripted(map[string][]float64{"layer": around(0.07, 1, 0)}))
	for i := range trials {
		if trials[i].Arm == "layer" {
			again := trials[i]
			again.Attempt, again.Values = 2, map[string]float64{"time": 300}
			trials = append(trials, again)
		}
	}
	c := Analyze(plan, trials, nil).Comparisons[0]
	if c.Treated.Median != 300 || c.Rounds != 6 {
		t.Errorf("median %v of %d rounds, want 300 of 6", c.Treated.Median, c.Rounds)
	}
}

// If a run was ended, trials of later rounds are not among its values.
func TestValuesOfAnEndedRun(t *testing.T) {
	plan := testPlan(8, timeOnly, "layer")
	trials := testTrials(plan, 8, scripted(map[string][]float64{"layer": around(0.07, 1, 0)}))
	plan.Ended = 6
	v := ValuesOf(plan, trials)
	if n, pairs := len(v.Sample("network", "layer", timeOnly[0])), len(v.Data("network", "layer", timeOnly[0]).Treated); n != 6 || pairs != 6 {
		t.Errorf("%d values and %d pairs of 6 rounds that count", n, pairs)
	}
}

// A run whose control takes part in some rounds only is complete without it in the others.
func TestSparedControl(t *testing.T) {
	plan := testPlan(12, timeOnly, "layer")
	plan.SpareControl()
	trials := testTrials(plan, 12, scripted(map[string][]float64{"layer": around(0.07, 1, 0)}))
	got := Analyze(plan, trials, nil)
	if want := (Counts{Planned: 32, Done: 32, Valid: 32}); !got.Finished || got.Trials.Planned != want.Planned || got.Trials.Done != want.Done || got.Trials.Valid != want.Valid {
		t.Errorf("finished %t, %+v, want %+v", got.Finished, got.Trials, want)
	}
	if c, control := got.Comparisons[0], got.Controls[0]; c.Verdict != Costs || c.Rounds != 12 || c.Pooled != 8 || control.Rounds != 8 {
		t.Errorf("%s from %d rounds, %d with a control of %d", c.Verdict, c.Rounds, c.Pooled, control.Rounds)
	}
	if c := Analyze(plan, trials[:len(trials)-1], nil).Comparisons[0]; c.Verdict != Interim {
		t.Errorf("%s with a trial missing", c.Verdict)
	}
}

// Of trials cut into slices, only the trials of the last attempt count: their slices alternated with each other,
// and not with other attempts.
func TestLastAttemptOfSlicedBlocks(t *testing.T) {
	plan := testPlan(8, timeOnly, "layer")
	plan.Cells[0].Slices = 4
	var trials []journal.Trial
	for _, trial := range testTrials(plan, 8, scripted(map[string][]float64{"layer": around(0.07, 1, 0)})) {
		again := trial
		again.Attempt, again.Values = 2, map[string]float64{"time": 300}
		if trial.Round == 3 && trial.Arm == "layer" {
			again.Values, again.Invalid = nil, []journal.Violation{{Rule: "exit-status"}}
		}
		trials = append(trials, trial)
		if trial.Round <= 3 {
			trials = append(trials, again)
		}
	}
	got := Analyze(plan, trials, nil)
	if c := got.Comparisons[0]; c.Rounds != 7 || c.Treated.Max != 300 || c.Baseline.Max != 300 {
		t.Errorf("%d rounds, at most %v and %v; want 7 with the second attempts of two", c.Rounds, c.Baseline.Max, c.Treated.Max)
	}
	if got.Trials.Valid != 23 || got.Trials.Failed != 1 {
		t.Errorf("%+v, want 23 valid trials and one failed", got.Trials)
	}
	if !slices.ContainsFunc(got.Warnings, func(w Warning) bool { return w.Finding == Sliced{4} && w.Cell == "" }) {
		t.Error("it does not say that trials were cut")
	}
	plan.Cells = append(plan.Cells, plan.Cells[0])
	plan.Cells[1].ID, plan.Cells[1].Slices = "whole", 0
	if w := sliced(plan); len(w) != 1 || w[0].Cell != "network" {
		t.Errorf("%+v, want a warning of the cell that was cut", w)
	}
}

func TestLostTrialsInvalidateTheRun(t *testing.T) {
	plan := testPlan(10, timeOnly, "layer")
	plan.Limits.InvalidTrials = percentOf(0.1)
	trials := testTrials(plan, 10, noisy(1, 0.001, map[string]float64{"layer": 1.1}))
	for i := range trials {
		if trials[i].Arm == "layer" && trials[i].Round <= 4 {
			trials[i].Invalid = []journal.Violation{{Rule: "steal"}}
		}
	}
	run := Analyze(plan, trials, nil)
	want := []string{`invalid-trials {"lost":4,"planned":30,"limit":0.1}`}
	if run.Valid || !slices.Equal(reasons(run), want) {
		t.Errorf("valid %v, reasons %q", run.Valid, reasons(run))
	}
	if c := run.Comparisons[0]; c.Verdict != Invalid || c.Overhead.Point < 0.09 {
		t.Errorf("verdict %s at %v, want invalid with the interval kept", c.Verdict, c.Overhead)
	}
	if len(run.Invalids) != 4 {
		t.Errorf("%d invalid trials listed, want 4", len(run.Invalids))
	}
}

func warningTexts(run *Run) []string {
	var list []string
	for _, w := range run.Warnings {
		list = append(list, strings.Trim(w.Cell+"/"+w.Metric+"/"+w.Arm, "/")+": "+figures(w.Finding))
	}
	for _, c := range run.Comparisons {
		for _, w := range c.Warnings {
			list = append(list, c.Arm+": "+figures(w))
		}
	}
	return list
}

func TestWarnings(t *testing.T) {
	drift := make([]float64, 30)
	for i := range drift {
		drift[i] = 0.02*math.Sin(float64(i)/5) + quiet[i%len(quiet)]/4
	}
	type set struct {
		plan   *experiment.Plan
		trials []journal.Trial
		env    *machine.Environment
	}
	for _, c := range []struct {
		name   string
		rounds int
		value  func(int, string, string, string) float64
		change func(*set)
		want   string
	}{
		{name: "unfinished", rounds: 12, change: func(s *set) { s.trials = s.trials[:30] },
			want: `: unfinished {"done":30,"planned":36}`},
		{name: "stray", rounds: 12, change: func(s *set) { s.trials[3].Arm = "elsewhere"; s.trials[3].Round = 99 },
			want: `: stray-trials {"trials":1}`},
		{name: "no control", rounds: 12, change: func(s *set) { s.plan.Arms[1].Role = "" },
			want: ": uncontrolled"},
		{name: "too few rounds for Holm", rounds: 5, change: func(s *set) {
			for _, name := range []string{"b", "c", "d"} {
				s.plan.Arms = append(s.plan.Arms, experiment.PlannedArm{Name: name, Role: experiment.Treatment})
			}
		}, want: `: few-rounds {"rounds":5,"family":4,"fewest":6}`},
		{name: "few pairs", rounds: 5,
			want: `layer: normal-pairs {"pairs":5,"fewest":6}`},
		{name: "unlimited link", rounds: 12, change: func(s *set) { s.plan.Cells[0].Testbed = map[string]any{"Link": map[string]any{"Rate": "unlimited"}} },
			want: ": unlimited-link"},
		{name: "resumed within a block", rounds: 12, change: func(s *set) {
			for i := range s.trials {
				if s.trials[i].Seq > 19 {
					s.trials[i].Session = 2
				}
			}
		}, want: `network: interrupted {"rounds":[7]}`},
		{name: "machine", rounds: 12, change: func(s *set) { s.env = &machine.Environment{Notes: []string{"no AES instructions"}} },
			want: `: remark {"from":"machine","text":"no AES instructions"}`},
		{name: "stand-in", rounds: 12, change: func(s *set) {
			on := machine.Cluster{StandIns: map[string]string{"istiod": "its sidecars are others"}}
			s.env = &machine.Environment{Clusters: []machine.Cluster{on, on}}
		}, want: `: stand-in {"component":"istiod","says":"its sidecars are others"}`},
		{name: "unusable values", rounds: 12, change: func(s *set) { s.trials[0].Values["time"] = -1 },
			want: `network/time: unusable-values {"unusable":1,"valid":36}`},
		{name: "autocorrelation", rounds: 30, value: scripted(map[string][]float64{"layer": drift, "control": around(0, 1, 5)}),
			want: `layer: autocorrelation {"lag1":0.8410708973493414}`},
		{name: "changepoint", rounds: 30, value: func(round int, _, arm, _ string) float64 {
			v := 100 * math.Exp(quiet[(round+len(arm))%len(quiet)])
			if round > 14 {
				v *= 1.1
			}
			return v
		}, want: `network/time/plain: level-changes {"rounds":[15]}`},
		{name: "no spread", rounds: 12, value: scripted(nil),
			want: `layer: no-variation {"paired":true,"scale":"ratio"}`},
		{name: "control differs within the margin", rounds: 12, value: scripted(map[string][]float64{"layer": around(0.05, 3, 0), "control": around(0.01, 1, 3)}),
			want: `network/time/control: control-differs {"metric":{"name":"time","unit":"s","better":"lower","headline":true,"scale":"ratio"},"overhead":{"point":0.009545268235856394,"lo":0.005012520859400956,"hi":0.014605634951397706}}`},
		{name: "order effect", rounds: 30, change: func(s *set) {
			for i := range s.trials {
				s.trials[i].Values["time"] *= 1 + 0.01*float64(s.trials[i].Position)
			}
		}, value: noisy(3, 0.001, nil),
			want: `layer: places-removed {"p":1.1102230246251565e-16,"effects":[-0.00944395285019211,0.000011711979882166854,0.009522167912273935]}`},
		{name: "estimators disagree", rounds: 12, value: scripted(map[string][]float64{
			"layer": {0.04, 0.05, 0.045, 0.052, 0.043, 0.055, 0.048, 0.041, 0.051, 0.047, 0.046, -1.5}, "control": around(0, 1, 5)}),
			want: `layer: disagreement {"estimator":"paired t","verdict":"not resolved"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.value == nil {
				c.value = noisy(3, 0.01, nil)
			}
			s := &set{plan: testPlan(c.rounds, timeOnly, "layer")}
			s.trials = testTrials(s.plan, c.rounds, c.value)
			if c.change != nil {
				c.change(s)
			}
			got := warningTexts(Analyze(s.plan, s.trials, s.env))
			if !slices.Contains(got, c.want) {
				t.Errorf("no warning %q among\n%s", c.want, strings.Join(got, "\n"))
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		plan := testPlan(12, timeOnly, "layer")
		if got := warningTexts(Analyze(plan, testTrials(plan, 12, noisy(3, 0.01, nil)), nil)); got != nil {
			t.Errorf("a plain run warns:\n%s", strings.Join(got, "\n"))
		}
	})
}

func TestProofs(t *testing.T) {
	plan := testPlan(2, timeOnly, "layer")
	trials := testTrials(plan, 2, noisy(1, 0.01, nil))
	for i := range trials {
		if trials[i].Arm != "layer" {
			continue
		}
		trials[i].Checks = []layer.Check{
			{Layer: "wireguard", Name: "wrong key", Expected: "nothing through", Observed: "0 packets", OK: true, Once: true},
			{Layer: "wireguard", Name: "marker", Expected: "not in clear", Observed: "0 of 2 frames", OK: trials[i].Round == 1},
		}
	}
	want := []ProofSummary{
		{Arm: "layer", Layer: "wireguard", Name: "wrong key", Expected: "nothing through", Example: "0 packets", Once: true, Passed: 1},
		{Arm: "layer", Layer: "wireguard", Name: "marker", Expected: "not in clear", Example: "0 of 2 frames", Passed: 1, Failed: 1},
	}
	if diff := cmp.Diff(want, Analyze(plan, trials, nil).Proofs); diff != "" {
		t.Error(diff)
	}
}

// A resumed session may find another implementation of a layer than the first one. Its caveats are
// kept.
func TestCaveatsOfEverySession(t *testing.T) {
	plan := testPlan(6, timeOnly, "layer")
	trials := testTrials(plan, 6, noisy(1, 0.01, nil))
	for i := range trials {
		if trials[i].Arm != "layer" {
			continue
		}
		check := layer.Check{Layer: "wireguard", Name: "implementation", Expected: "any", Observed: "kernel", OK: true, Once: true}
		if trials[i].Round > 3 {
			trials[i].Session, check.Observed, check.Caveat = 2, "userspace", "it runs in user space"
		}
		trials[i].Checks = []layer.Check{check}
	}
	if got := warningTexts(Analyze(plan, trials, nil)); !slices.Contains(got, `layer: remark {"from":"layer","text":"it runs in user space"}`) {
		t.Errorf("the second session's caveat is missing among\n%s", strings.Join(got, "\n"))
	}
}

// Time for preparing a trial counts as time in trials.
func TestHarnessCountsPreparation(t *testing.T) {
	plan := testPlan(6, timeOnly, "layer")
	trials := testTrials(plan, 6, noisy(1, 0.01, nil))
	for i := range trials {
		trials[i].Prepared = 6 * time.Second
	}
	if got := Analyze(plan, trials, nil).Harness.WallShare; got != 0.1 { // 1 s of 6+3+1 s
		t.Errorf("wall share %v, want 0.1", got)
	}
}

func TestSeriesSessionsHarness(t *testing.T) {
	plan := testPlan(6, timeOnly, "layer")
	trials := testTrials(plan, 6, scripted(map[string][]float64{"layer": around(0.07, 1, 0)}))
	for i := range trials {
		if trials[i].Round > 3 {
			trials[i].Session = 2
			trials[i].Start = trials[i].Start.Add(time.Hour)
		}
	}
	run := Analyze(plan, trials, nil)
	if !run.Start.Equal(testStart) || run.Rounds != 6 || run.Family != 1 {
		t.Errorf("start %v, rounds %d, family %d", run.Start, run.Rounds, run.Family)
	}
	if want := []Session{{1, 0, 35}, {2, 3636, 3671}}; !slices.Equal(run.Sessions, want) {
		t.Errorf("sessions %v, want %v", run.Sessions, want)
	}
	if want := (Harness{WallShare: 0.25, CPUShare: 0.005}); math.Abs(run.Harness.CPUShare-want.CPUShare) > 1e-12 || run.Harness.WallShare != want.WallShare {
		t.Errorf("harness %v, want %v", run.Harness, want)
	}
	arm := run.Cells[0].Metrics[0].Arms[2]
	if arm.Arm != "layer" || !slices.Equal(arm.Rounds, []int{1, 2, 3, 4, 5, 6}) || len(arm.Values) != 6 || arm.Seconds[5] < 3600 {
		t.Errorf("series %+v", arm)
	}
	c := run.Comparisons[0]
	if want := (Summary{N: 6, Min: 100, Q1: 100, Median: 100, Q3: 100, Max: 100, Mean: 100, MedianLo: 100, MedianHi: 100}); c.Baseline != want {
		t.Errorf("baseline %+v, want %+v", c.Baseline, want)
	}
	if len(c.Overheads) != 6 || math.Abs(c.Overheads[0]-math.Expm1(0.074)) > 1e-12 {
		t.Errorf("overheads %v", c.Overheads)
	}
}

func TestAnalyzeIsDeterministic(t *testing.T) {
	plan := testPlan(30, timeOnly, "a", "b")
	trials := testTrials(plan, 30, noisy(1, 0.03, map[string]float64{"a": 1.05}))
	if !reflect.DeepEqual(Analyze(plan, trials, nil), Analyze(plan, trials, nil)) {
		t.Error("two analyses of the same run differ")
	}
}

// Whatever a journal contains, the analysis can be written as JSON.
func TestDegenerateRunsAreJSON(t *testing.T) {
	hostile := []float64{0, math.Copysign(0, -1), -1, 1, 1e308, -1e308, 5e-324, math.Inf(1), math.Inf(-1), math.NaN(), 100}
	metrics := []experiment.Metric{
		headline("time", experiment.Lower), headline("rate", experiment.Higher),
		{Name: "drops", Better: experiment.Lower, Scale: experiment.Difference},
		{Name: "gain", Unit: "bit/s", Better: experiment.Higher, Scale: experiment.Difference},
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for try := range 400 {
		rounds := []int{0, 1, 2, 3, 5, 6, 7, 12, 30}[try%9]
		pool := hostile
		if try%3 == 0 {
			pool = hostile[rng.IntN(len(hostile)):][:1]
		}
		plan := testPlan(rounds, metrics, "layer", "other")
		if try%2 == 0 {
			plan.Precision, plan.MaxRounds, plan.Rounds = 0.02, 30, min(rounds, 4)
		}
		trials := testTrials(plan, rounds, func(int, string, string, string) float64 { return pool[rng.IntN(len(pool))] })
		for i := range trials {
			switch rng.IntN(8) {
			case 0:
				trials[i].Invalid = []journal.Violation{{Rule: "metric"}}
			case 1:
				trials[i].Values = nil
			case 2:
				trials[i].Round, trials[i].Position = -5, 1<<62
			}
		}
		for i := range trials { // the journal itself must be valid JSON
			for name, v := range trials[i].Values {
				if (math.IsNaN(v) || math.IsInf(v, 0)) && !trials[i].Valid() {
					delete(trials[i].Values, name)
				}
			}
		}
		run := Analyze(plan, trials, nil)
		if _, err := json.Marshal(run); err != nil {
			t.Fatalf("try %d, %d rounds: %v", try, rounds, err)
		}
		for _, c := range append(run.Comparisons, run.Controls...) {
			if c.Verdict == NotResolved && c.Reason == nil {
				t.Fatalf("try %d: no reason", try)
			}
			if c.Overhead.Lo > c.Overhead.Point || c.Overhead.Point > c.Overhead.Hi {
				t.Fatalf("try %d: interval %+v is out of order", try, c.Overhead)
			}
		}
	}
	if _, err := json.Marshal(Analyze(&experiment.Plan{}, nil, nil)); err != nil {
		t.Errorf("empty plan: %v", err)
	}
}
