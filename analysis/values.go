package analysis

import (
	"math"
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
	return &Values{tabulate(plan, thatCount(plan, trials), validOnly)}
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
	d := t.values(c, a, b, m)
	d.Margin = t.margin(c, m)
	return d
}

// margin is the margin of equivalence that the plan has for a metric alone, on the scale of
// contrasts; 0: none.
func (t *table) margin(c int, m experiment.Metric) float64 {
	if limit, ok := t.plan.Margins.For(m.Name, t.plan.Cells[c].ID); ok {
		if bound, err := m.Bound(limit); err == nil && bound.Scale == m.Scale { // else refused where the file is read
			return contrast.MarginFrom(bound)
		}
	}
	return 0
}

func (t *table) values(c, a, b int, m experiment.Metric) contrast.Data {
	if t.unlike(c, a, b) != nil { // a ratio of different work is no overhead
		return contrast.Data{Metric: m, Paired: t.plan.Paired()}
	}
	if t.plan.Paired() {
		return t.pair(c, a, b, m)
	}
	return contrast.Data{Metric: m, Baseline: t.sample(c, b, m), Treated: t.sample(c, a, m),
		Missing: contrast.Missing{Baseline: t.failures(c, b), Treated: t.failures(c, a)}}
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

// pair collects the pairs of arm a with the baseline b in cell c, and the control's values
// beside them: a second copy of the baseline, it serves as a reference as well.
func (t *table) pair(c, a, b int, m experiment.Metric) contrast.Data {
	n := len(t.at[c])
	d := contrast.Data{Metric: m, Paired: true, Means: m.Scale == experiment.Difference,
		Rounds: make([]int, 0, n), Moved: make([]int, 0, n), Baseline: make([]float64, 0, n), Treated: make([]float64, 0, n)}
	arm, base := t.slots[c][a], t.slots[c][b]
	var control []slot
	if k := role(t.plan, experiment.Control); k >= 0 && !d.Means && t.plan.Arms[a].Role == experiment.Treatment && t.plan.Arms[b].Role == experiment.Baseline {
		control = t.slots[c][k]
		d.Control = make([]float64, 0, n)
	}
	setUps := make([]int, 0, n)
	places := t.places(c, m)
	for i := range arm {
		d.Missing.Add(base[i].broke(), arm[i].broke())
		x, okArm := value(arm[i].valid, m)
		y, okBase := value(base[i].valid, m)
		if !okArm || !okBase {
			continue
		}
		d.Rounds = append(d.Rounds, t.at[c][i])
		d.Treated = append(d.Treated, x)
		d.Baseline = append(d.Baseline, y)
		d.Moved = append(d.Moved, arm[i].valid.Position-base[i].valid.Position)
		setUps = append(setUps, arm[i].valid.SetUp)
		if t.at[c][i] <= t.plan.Rounds {
			d.Pilot++
		}
		place := [3]float64{places.of(arm[i].valid), places.of(base[i].valid)}
		if control != nil {
			z, ok := value(control[i].valid, m)
			if !ok {
				z = math.NaN()
			} else {
				place[2] = places.of(control[i].valid)
			}
			d.Control = append(d.Control, z)
		}
		if places != nil {
			d.Places = append(d.Places, place)
		}
	}
	d.SetUps = t.sharedSetUps(setUps)
	d.Compare()
	return d
}

// sharedSetUps are the set-ups of rounds, where they are the unit since several rounds share
// one; else nil.
func (t *table) sharedSetUps(setUps []int) []int {
	if t.setUps.Shared() && len(ascending(slices.Clone(setUps))) < len(setUps) {
		return setUps
	}
	return nil
}

// still says whether all values of a metric are the same in every arm of a cell, although
// there are some: it then measures nothing. Counts may be.
func (t *table) still(c int, m experiment.Metric) bool {
	if m.Discrete || m.Scale == experiment.Difference {
		return false
	}
	count, first := 0, 0.0
	for a := range t.slots[c] {
		for _, s := range t.slots[c][a] {
			v, ok := value(s.valid, m)
			if ok && count > 0 && v != first {
				return false
			}
			if ok {
				count, first = count+1, v
			}
		}
	}
	return count >= stillFewest
}

// stillFewest is the number of equal values from which on a metric is said not to vary.
const stillFewest = 6
