package analysis

import (
	"slices"
	"testing"

	"tare/internal/layer"
)

// If an arm's layer had nothing to do in any of its trials, a claim on the arm is not that layer's
// effect.
func TestUnexercised(t *testing.T) {
	plan := testPlan(12, timeOnly, "layer")
	warned := func(effect float64, idle func(round int) bool) bool {
		trials := testTrials(plan, 12, noisy(1, 0.01, map[string]float64{"layer": effect}))
		for i := range trials {
			if trials[i].Arm == "layer" {
				trials[i].Checks = append(trials[i].Checks, layer.Check{Layer: "bpflsm", Name: "hits", OK: true, Unexercised: idle(trials[i].Round)})
			}
		}
		return slices.ContainsFunc(Analyze(plan, trials, nil).Warnings, func(w Warning) bool {
			return w.Arm == "layer" && w.Cell != "" && figures(w.Finding) == `unexercised {"layer":"bpflsm"}`
		})
	}
	always := func(int) bool { return true }
	if !warned(1.2, always) {
		t.Error("a claim without hits gives no warning")
	}
	if warned(1, always) {
		t.Error("a warning without a claim")
	}
	if warned(1.2, func(round int) bool { return round > 1 }) {
		t.Error("a warning although a trial had hits")
	}
}
