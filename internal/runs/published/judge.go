package published

import (
	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/journal"
)

type differenceKey struct{ cell, metric, a, b string }

// judge returns the verdict on each pair of arms. Pairs with the baseline keep the verdicts of the run.
// Pairs of other arms are judged as a family of their own, by the same rules. In an invalid run, no pair
// gets a verdict.
func judge(run *analysis.Run, trials []journal.Trial, shown []string, reference string) map[differenceKey]*analysis.Comparison {
	verdicts := map[differenceKey]*analysis.Comparison{}
	base := run.Plan.ArmWith(experiment.Baseline)
	restated := map[[2]string]string{}
	for i := range run.Comparisons {
		c := &run.Comparisons[i]
		verdicts[differenceKey{c.Cell, c.Metric.Name, base, c.Arm}] = c
		restated[[2]string{c.Cell, c.Metric.Name}] = c.Restates
	}
	// Comparisons with the control are left to the run's own analysis.
	treatment := func(arm string) bool { return run.Plan.Arm(arm).Role == experiment.Treatment }
	values := analysis.ValuesOf(run.Plan, trials)
	var questions []analysis.Question
	var keys []differenceKey
	for _, cell := range run.Plan.Cells {
		for _, m := range cell.Metrics {
			for _, p := range pairs(run.Plan, shown, reference) {
				at := differenceKey{cell.ID, m.Name, shown[p[0]], shown[p[1]]}
				if verdicts[at] == nil && treatment(at.a) && treatment(at.b) {
					questions = append(questions, analysis.Question{Cell: cell.ID, Arm: at.b, Against: at.a, Observational: run.Observation != nil,
						Restates: restated[[2]string{cell.ID, m.Name}], Data: values.Between(cell.ID, at.a, at.b, m)})
					keys = append(keys, at)
				}
			}
		}
	}
	for i, c := range analysis.Assess(run.Plan, questions, nil).Asked {
		if !run.Valid {
			c.Withhold(analysis.InvalidRuns{})
		} else if !run.Finished {
			c.Suspend(analysis.UnfinishedRuns{})
		}
		verdicts[keys[i]] = &c
	}
	return verdicts
}
