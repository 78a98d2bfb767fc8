package analysis

import (
	"slices"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/journal"
)

// Values are the values of a run's trials where they stand in the plan: what the
// comparisons of an analysis rest on, for those who ask another question of them.
type Values struct{ table *table }

// ValuesOf sorts the trials of a run, in the order of its journal, into the plan.
func ValuesOf(plan *experiment.Plan, trials []journal.Trial) *Values {
	return &Values{tabulate(plan, trials, validOnly)}
}

// Data is what an arm and the baseline have to say of a metric in a cell: the
// valid values that Analyze compares. It is empty where the plan has no such
// cell, arm or baseline.
func (v *Values) Data(cell, arm string, m experiment.Metric) contrast.Data {
	base := role(v.table.plan, experiment.Baseline)
	if base < 0 {
		return contrast.Data{Metric: m, Paired: v.table.plan.Paired()}
	}
	return v.Between(cell, v.table.plan.Arms[base].Name, arm, m)
}

// Between is the same of any two arms, the first in the baseline's place.
func (v *Values) Between(cell, base, arm string, m experiment.Metric) contrast.Data {
	plan := v.table.plan
	c := slices.IndexFunc(plan.Cells, func(x experiment.Cell) bool { return x.ID == cell })
	place := func(name string) int {
		return slices.IndexFunc(plan.Arms, func(x experiment.PlannedArm) bool { return x.Name == name })
	}
	a, b := place(arm), place(base)
	if c < 0 || a < 0 || b < 0 {
		return contrast.Data{Metric: m, Paired: plan.Paired()}
	}
	return v.table.compared(c, a, b, m)
}
