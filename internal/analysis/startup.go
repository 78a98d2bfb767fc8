package analysis

import (
	"maps"
	"math"
	"slices"

	"tare/internal/stats"
)

// startShare: a wrapper's start is reported if it takes more than this share of the measured time.
const startShare = 0.1

// startUps warns if a wrapper's start takes much of the measured time. The overhead as a share then holds only for
// programs as long as the measured one.
func startUps(t *table, run *Run) (list []Warning) {
	for _, c := range run.Comparisons {
		if !c.Metric.FromStart || c.Control {
			continue
		}
		took := starts(t.slots[t.cells[c.Cell]][t.arms[c.Arm]])
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

// starts returns the start-up times that the trials' checks report, in seconds, by program. All trials of one set-up
// have the same start-up time.
func starts(slots []slot) map[string][]float64 {
	took := map[string][]float64{}
	for v := range valid(slots) {
		for _, c := range v.Checks {
			if c.Program != "" {
				took[c.Program] = append(took[c.Program], c.StartUp.Seconds())
			}
		}
	}
	return took
}
