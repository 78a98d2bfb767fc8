package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/text"
)

// crowd is a run of so many arms in four cells, each with a layer that costs more than the one before.
func crowd(arms int) *analysis.Run {
	var treatments []experiment.PlannedArm
	for i := range arms {
		treatments = append(treatments, experiment.PlannedArm{Name: fmt.Sprintf("profile-%02d", i+1), Role: experiment.Treatment,
			Layers: []experiment.PlannedLayer{{Kind: "seccomp"}}})
	}
	plan := planned("profiles", 10, treatments...)
	plan.Description = "What do the profiles of many programs cost?"
	for _, id := range []string{"open", "stat", "pipe", "getppid"} {
		plan.Cells = append(plan.Cells, experiment.Cell{ID: "syscalls." + id, Workload: "syscalls", Kind: "syscalls",
			Metrics: []experiment.Metric{{Name: "operation-cpu", Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio}}})
	}
	rng := rand.New(rand.NewPCG(3, 4))
	trials := simulated(plan, func(cell experiment.Cell, arm experiment.PlannedArm, _, _ int) map[string]float64 {
		effect := 0.0
		if arm.Role == experiment.Treatment {
			n := 0
			fmt.Sscanf(arm.Name, "profile-%d", &n)
			effect = 0.02 * float64(n-3) * float64(1+len(cell.ID)%2)
		}
		return map[string]float64{"operation-cpu": 400e-9 * math.Exp(effect/2+0.004*rng.NormFloat64())}
	})
	r := analysis.Analyze(plan, trials, nil)
	r.Finished, r.Directory = true, "runs/profiles"
	for _, arm := range plan.Arms {
		for _, of := range treatments {
			if arm.Name != of.Name {
				r.Proofs = append(r.Proofs, analysis.ProofSummary{Arm: arm.Name, Layer: "seccomp", Name: "the layer of arm " + of.Name, Expected: "not on", Example: "not on",
					Caveat: "nothing of another arm's layer is looked for", Passed: 10})
			}
		}
	}
	return r
}

// Many arms are told in a sentence for each metric and a line for each arm.
func TestManyArmsFitAScreen(t *testing.T) {
	r := crowd(23)
	shown := asText(t, Run(r, RunOptions{}), text.Options{Width: 80})
	if n := strings.Count(shown, "\n"); n > 60 {
		t.Errorf("a terminal gets %d lines:\n%s", n, shown)
	}
	says(t, "the terminal", strings.Join(strings.Fields(shown), " "), "CPU time per operation: 20 arms cost", "the furthest is profile-23, which costs")
	for i := range 23 {
		if name := fmt.Sprintf("profile-%02d", i+1); !strings.Contains(shown, name) {
			t.Errorf("%s is missing", name)
		}
	}
	if first, last := strings.Index(shown, "  profile-23 "), strings.Index(shown, "  profile-01 "); first > last {
		t.Error("the largest effect is not the first")
	}
	if all := asText(t, Run(r, RunOptions{All: true}), text.Options{Width: 80}); strings.Count(all, "profile-07") < 8 {
		t.Error("--all does not show every cell of an arm")
	}
}

// What is to be known of many arms is said once, with how many it is about.
func TestSameWarningIsSaidOnce(t *testing.T) {
	r := crowd(7)
	r.Warnings = nil
	for _, a := range r.Plan.Arms {
		r.Warnings = append(r.Warnings, analysis.Warning{Arm: a.Name, Finding: analysis.Remark{From: analysis.FromLayer, Text: "seen from afar"}})
	}
	for _, list := range [][]analysis.Comparison{r.Comparisons, r.Controls} {
		for i := range list {
			list[i].Warnings = nil
		}
	}
	r.Warnings = append(r.Warnings, analysis.Warning{Finding: analysis.Uncontrolled{}})
	got := arrange(r).warnings(true)
	if len(got) != 2 || !strings.HasPrefix(got[0], "there is no control arm") || got[1] != "plain; control; profile-01 and 6 more: seen from afar" {
		t.Errorf("warnings are %q", got)
	}
}

// A proof stands in one matrix, whatever the number of arms.
func TestProofMatrix(t *testing.T) {
	r := crowd(7)
	r.Proofs[0].Failed, r.Proofs[0].Passed = 2, 8
	md := asMarkdown(t, Run(r, RunOptions{}))
	says(t, "Markdown", md, "| arm | seccomp |", "| plain | **× off, 2 of 70 checks failed** |", "| profile-03 | on, 60 checks, with a caveat |")
}
