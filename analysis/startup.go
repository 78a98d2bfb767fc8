package analysis

import (
	"maps"
	"math"
	"slices"

	"tare/experiment"
	"tare/stats"
)

// startShare is the share of what is measured from which a start is said.
const startShare = 0.1

// startUps warns where much of the time of an arm's programs is the start of what stands in front of them: it is paid once
// for each start, however long a program runs, so that a share of the whole holds for programs of that length alone.
func startUps(t *table, run *Run) []Warning {
	var list []Warning
	for _, c := range run.Comparisons {
		cell := slices.IndexFunc(t.plan.Cells, func(x experiment.Cell) bool { return x.ID == c.Cell })
		arm := slices.IndexFunc(t.plan.Arms, func(a experiment.PlannedArm) bool { return a.Name == c.Arm })
		if !c.Metric.FromStart || c.Control || cell < 0 || arm < 0 {
			continue
		}
		took := starts(t.slots[cell][arm])
		for _, program := range slices.Sorted(maps.Keys(took)) {
			start, whole := stats.Median(took[program]), c.Treated.Median
			if start > startShare*whole {
				list = append(list, Warning{Cell: c.Cell, Metric: c.Metric.Name, Arm: c.Arm, Exploratory: !c.Metric.Headline,
					Finding: StartUp{Program: program, Start: start, Run: max(whole-start, 0), Most: start > math.Abs(whole-c.Baseline.Median)/2}})
			}
		}
	}
	return list
}

// starts are the start-ups that the checks of trials have, in seconds, by program. Trials of one set-up have the same one.
func starts(slots []slot) map[string][]float64 {
	took := map[string][]float64{}
	for _, s := range slots {
		if s.valid == nil {
			continue
		}
		for _, c := range s.valid.Checks {
			if c.Program != "" {
				took[c.Program] = append(took[c.Program], c.StartUp.Seconds())
			}
		}
	}
	return took
}
