package published

import (
	"tare/analysis"
	"tare/experiment"
	"tare/journal"
)

// place is where a difference stands.
type place struct{ cell, metric, a, b string }

// judge says what the intervals say of each pair. Of an arm against the baseline
// that is what the run itself says; pairs of other arms are judged as a family
// beside it, by the same rules. In a run that gives no verdicts they get none
// either.
func judge(run *analysis.Run, trials []journal.Trial, shown []string, reference string) map[place]*analysis.Comparison {
	said := map[place]*analysis.Comparison{}
	base := run.Plan.ArmWith(experiment.Baseline)
	restated := map[[2]string]string{}
	for i := range run.Comparisons {
		c := &run.Comparisons[i]
		said[place{c.Cell, c.Metric.Name, base, c.Arm}] = c
		restated[[2]string{c.Cell, c.Metric.Name}] = c.Restates
	}
	// What concerns the control is the run's own affair.
	treatment := func(arm string) bool { return run.Plan.Arm(arm).Role == experiment.Treatment }
	values := analysis.ValuesOf(run.Plan, trials)
	var questions []analysis.Question
	var places []place
	for _, cell := range run.Plan.Cells {
		for _, m := range cell.Metrics {
			for _, p := range pairs(run.Plan, shown, reference) {
				at := place{cell.ID, m.Name, shown[p[0]], shown[p[1]]}
				if said[at] == nil && treatment(at.a) && treatment(at.b) {
					questions = append(questions, analysis.Question{Cell: cell.ID, Arm: at.b, Against: at.a, Observational: run.Observation != nil,
						Restates: restated[[2]string{cell.ID, m.Name}], Data: values.Between(cell.ID, at.a, at.b, m)})
					places = append(places, at)
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
		said[places[i]] = &c
	}
	return said
}
