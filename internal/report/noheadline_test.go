package report

import (
	"math/rand/v2"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/text"
)

// A run without headline metrics shows the others on a terminal; one with some names how many it leaves out.
func TestNoHeadline(t *testing.T) {
	for headline, want := range map[bool]string{true: "1 exploratory metric is not shown", false: "lookups"} {
		plan := planned("dns", 8, experiment.PlannedArm{Name: "mesh", Role: experiment.Treatment})
		plan.Cells = []experiment.Cell{{ID: "dns", Workload: "dns", Kind: "dns", Metrics: []experiment.Metric{
			{Name: "latency", Unit: "s", Better: experiment.Lower, Headline: headline, Scale: experiment.Ratio},
			{Name: "lookups", Unit: "1/s", Better: experiment.Lower, Scale: experiment.Difference}}}}
		rng := rand.New(rand.NewPCG(3, 1))
		r := analysis.Analyze(plan, simulated(plan, func(experiment.Cell, experiment.PlannedArm, int, int) map[string]float64 {
			return map[string]float64{"latency": 1 + 0.01*rng.Float64(), "lookups": 2 + 0.1*rng.Float64()}
		}), nil)
		says(t, "terminal", asText(t, Run(r, RunOptions{}), text.Options{Width: 120}), want)
	}
}
