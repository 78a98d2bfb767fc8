package report

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/text"
)

// TestCapacity: every form says how much less load an arm holds, at what, and where it
// collapses beyond.
func TestCapacity(t *testing.T) {
	for name, want := range map[string]string{
		"rate-beyond":  "direct answers 99 % of it; mtls answers 40 % of it, a collapse.",
		"ready-beyond": "direct has 99 % of it ready in time; mtls has 40 % of it ready in time, a collapse.",
	} {
		capacity(t, name, want)
	}
}

func capacity(t *testing.T, beyondName, want string) {
	t.Helper()
	plan := planned("capacity", 12, experiment.PlannedArm{Name: "mtls", Role: experiment.Treatment})
	plan.Arms[0].Name = "direct"
	plan.Cells = []experiment.Cell{{ID: "http", Workload: "http", Kind: "http", Metrics: []experiment.Metric{
		{Name: "capacity", Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio, Objective: "p99 ≤ 20 ms"},
		{Name: beyondName, Better: experiment.Higher, Scale: experiment.Ratio}}}}
	rng := rand.New(rand.NewPCG(2, 1))
	r := analysis.Analyze(plan, simulated(plan, func(_ experiment.Cell, arm experiment.PlannedArm, _, _ int) map[string]float64 {
		capacity, beyond := 10_000., 0.99
		if arm.Name == "mtls" {
			capacity, beyond = 8_900, 0.4
		}
		return map[string]float64{"capacity": capacity * math.Exp(0.005*rng.NormFloat64()), beyondName: beyond * math.Exp(0.005*rng.NormFloat64())}
	}), nil)
	for form, page := range map[string]string{"terminal": asText(t, Run(r, RunOptions{}), text.Options{Width: 120}), "Markdown": asMarkdown(t, Run(r, RunOptions{})), "page": words(render(t, r, RunOptions{}))} {
		page = strings.NewReplacer("\u00a0", " ", "\\", "").Replace(page)
		says(t, form, page, "holds 11.1 %", "less load at p99 ≤ 20 ms", "Loaded beyond its capacity: "+want)
		if strings.Contains(page, "control holds") || strings.Contains(page, "control: holds") {
			t.Errorf("%s tells the control as a result", form)
		}
	}
}
