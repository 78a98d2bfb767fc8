package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// Arms whose files measured other work are not compared in that cell, however clear the difference
// is.
func TestOtherSettings(t *testing.T) {
	m := headline("rate", experiment.Higher)
	for _, c := range []struct {
		name    string
		arms    map[string][]string // values of the setting by arm
		allowed []string
		paired  string
		want    string
	}{
		{"told by one arm only", map[string][]string{"plain": {"none"}, "limited": {"2000"}}, nil, "", "invalid other-settings [{rate_iops [none] [2000]}]"},
		{"in pairs", map[string][]string{"plain": {"none"}, "limited": {"2000"}}, nil, "name", "invalid other-settings [{rate_iops [none] [2000]}]"},
		{"allowed", map[string][]string{"plain": {"none"}, "limited": {"2000"}}, []string{"rate_iops"}, "", "costs"},
		{"of another arm", map[string][]string{"plain": {"none"}, "limited": {"none"}, "gone": {"5"}}, nil, "", "costs"},
		{"differs within both arms", map[string][]string{"plain": {"none", "5"}, "limited": {"5", "none"}}, nil, "", "invalid other-settings [{rate_iops [none 5] [5 none]}]"},
	} {
		plan := importedPlan([]experiment.Metric{m}, "plain", "limited")
		plan.Import.PairBy, plan.Import.Allowed = c.paired, c.allowed
		plan.Import.Settings = []experiment.ImportedSetting{{Cell: "randread", Name: "rate_iops", Arms: c.arms}, {Cell: "elsewhere", Name: "bs", Arms: map[string][]string{"plain": {"4k"}, "limited": {"8k"}}}}
		trials := slices.Concat(imported("plain", "rate", hour(0), normal(1, 12, 200)...), imported("limited", "rate", hour(1), normal(2, 12, 100)...))
		run := Analyze(plan, trials, nil)
		got := string(run.Comparisons[0].Verdict)
		if r, ok := run.Comparisons[0].Reason.(OtherSettings); ok {
			got += fmt.Sprint(" ", r.Kind(), " ", r.Settings)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if answers := ValuesOf(plan, trials).Data("randread", "limited", m); (answers.Size() == 0) == (c.want == "costs") {
			t.Errorf("%s: others are given %d values", c.name, answers.Size())
		}
	}
}

// Each block is compared with its own baseline, and the interval over all blocks uses one value per
// block.
func TestBlocks(t *testing.T) {
	m := headline("rate", experiment.Higher)
	plan := importedPlan([]experiment.Metric{m}, "none", "wg")
	plan.Import.PairBy, plan.Import.Blocks = "cni, rep", []string{"antrea", "calico", "canal", "cilium", "flannel", "weave"}
	rng := rand.New(rand.NewPCG(1, 1))
	var trials []journal.Trial
	for b := range plan.Import.Blocks {
		share := 0.9 - 0.02*float64(b) // share of the block's own baseline
		for rep := range 4 {
			for arm, factor := range []float64{1, share} {
				wobble := math.Exp(0.002 * rng.NormFloat64())
				trials = append(trials, journal.Trial{Session: 1, Round: 4*b + rep + 1, Attempt: 1, SetUp: b + 1, Cell: "randread", Arm: plan.Arms[arm].Name,
					Values: map[string]float64{"rate": 1000 * float64(b+1) * factor * wobble}})
			}
		}
	}
	// A file whose contents are unknown belongs to a block, too, and does not affect the others.
	trials = append(trials, journal.Trial{Session: 1, Round: 1, Attempt: 1, SetUp: 1, Arm: "wg", Invalid: []journal.Violation{{Rule: "import"}}})
	run := Analyze(plan, trials, nil)
	c := run.Comparisons[0]
	if c.Verdict != Costs || c.Rounds != 24 || c.SetUps == nil || c.SetUps.SetUps != 6 || c.Overhead.Lo > 0.115 || c.Overhead.Hi < 0.185 {
		t.Errorf("%s: %+v of %d rounds, %+v", c.Verdict, c.Overhead, c.Rounds, c.SetUps)
	}
	if run.SetUps.Count != 6 || run.Trials.Lost != 1 || len(c.Blocks) != 6 {
		t.Fatalf("%+v, %d lost, blocks %+v", run.SetUps, run.Trials.Lost, c.Blocks)
	}
	for i, b := range c.Blocks {
		if want := 0.1 + 0.02*float64(i); b.Block != plan.Import.Blocks[i] || b.Rounds != 4 || b.PointOnly || math.Abs(b.Overhead.Point-want) > 0.005 || b.Overhead.Hi-b.Overhead.Lo > 0.02 {
			t.Errorf("%+v, want about %v", b, want)
		}
	}
	for _, w := range run.Warnings {
		if _, levels := w.Finding.(LevelChanges); levels {
			t.Errorf("blocks of other levels are a change: %+v", w)
		}
	}
	if c.Stalls != nil {
		t.Errorf("blocks of other levels are stalls: %+v", c.Stalls)
	}
	// One block is one deployment, and a warning says so.
	plan.Import.Blocks = plan.Import.Blocks[:1]
	run = Analyze(plan, trials[:8], nil)
	warned := false
	for _, w := range run.Warnings {
		one, ok := w.Finding.(OneSetUp)
		warned = warned || ok && one.Block == "antrea"
	}
	if !warned {
		t.Errorf("no warning of one block: %+v", run.Warnings)
	}
}
