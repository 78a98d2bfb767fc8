package analysis

import (
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
	return v.Between(cell, v.table.plan.ArmWith(experiment.Baseline), arm, m)
}

// Between is the same of any two arms, the first in the baseline's place.
func (v *Values) Between(cell, base, arm string, m experiment.Metric) contrast.Data {
	c, a, ok := v.table.place(cell, arm)
	b, okBase := v.table.arms[base]
	if !ok || !okBase {
		return contrast.Data{Metric: m, Paired: v.table.plan.Paired()}
	}
	return v.table.compared(c, a, b, m)
}

// Sample is every usable value of an arm, in the order measured; of several valid
// trials of a round the last.
func (v *Values) Sample(cell, arm string, m experiment.Metric) []float64 {
	c, a, ok := v.table.place(cell, arm)
	if !ok {
		return nil
	}
	return v.table.sample(c, a, m)
}

// compared collects what arm a and the baseline b have to say of a metric.
func (t *table) compared(c, a, b int, m experiment.Metric) contrast.Data {
	if t.plan.Paired() {
		return t.pair(c, a, b, m)
	}
	return contrast.Data{Metric: m, Baseline: t.sample(c, b, m), Treated: t.sample(c, a, m)}
}

// sample is every usable value of an arm, in the order measured.
func (t *table) sample(c, a int, m experiment.Metric) []float64 {
	values := make([]float64, 0, len(t.slots[c][a]))
	for _, s := range t.slots[c][a] {
		if v, ok := value(s.valid, m); ok {
			values = append(values, v)
		}
	}
	return values
}

// pair collects the pairs of arm a with the baseline b in cell c.
func (t *table) pair(c, a, b int, m experiment.Metric) contrast.Data {
	n := len(t.at[c])
	p := contrast.Data{Metric: m, Paired: true, Rounds: make([]int, 0, n), Moved: make([]int, 0, n),
		Contrasts: make([]float64, 0, n), Baseline: make([]float64, 0, n), Treated: make([]float64, 0, n)}
	arm, base := t.slots[c][a], t.slots[c][b]
	for i := range arm {
		x, okArm := value(arm[i].valid, m)
		y, okBase := value(base[i].valid, m)
		if !okArm || !okBase {
			continue
		}
		p.Rounds = append(p.Rounds, t.at[c][i])
		p.Treated = append(p.Treated, x)
		p.Baseline = append(p.Baseline, y)
		p.Contrasts = append(p.Contrasts, contrast.Of(x, y, m))
		p.Moved = append(p.Moved, arm[i].valid.Position-base[i].valid.Position)
		if t.at[c][i] <= t.plan.Rounds {
			p.Pilot++
		}
	}
	return p
}
