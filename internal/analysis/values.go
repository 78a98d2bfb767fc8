package analysis

import (
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// Values holds a run's values by cell and arm of the plan, for comparisons that Analyze does not make, such as
// comparisons between runs.
type Values struct{ table *table }

// ValuesOf sorts a run's trials, in the order of the journal, by cell and arm. It ignores trials after the last round
// that counts.
func ValuesOf(plan *experiment.Plan, trials []journal.Trial) *Values {
	return &Values{tabulate(plan, countedTrials(plan, trials), validOnly)}
}

// Data returns the valid values of an arm and of the baseline, as Analyze compares them. The result has no values if
// the plan lacks the cell, the arm or a baseline.
func (v *Values) Data(cell, arm string, m experiment.Metric) contrast.Data {
	return v.Between(cell, v.table.plan.ArmWith(experiment.Baseline), arm, m)
}

// Between returns the valid values of two arms, as data in which the arm base has the role of the baseline.
func (v *Values) Between(cell, base, arm string, m experiment.Metric) contrast.Data {
	c, a, ok := v.table.place(cell, arm)
	b, okBase := v.table.arms[base]
	if !ok || !okBase {
		return contrast.Data{Metric: m, Paired: v.table.plan.Paired()}
	}
	return v.table.compared(c, a, b, m)
}

// Sample returns every usable value of an arm, in the order measured. Of several valid trials of a round, the last
// counts.
func (v *Values) Sample(cell, arm string, m experiment.Metric) []float64 {
	c, a, ok := v.table.place(cell, arm)
	if !ok {
		return nil
	}
	return sample(v.table.slots[c][a], m)
}

func (t *table) compared(c, a, b int, m experiment.Metric) (d contrast.Data) {
	switch d.Metric, d.Paired = m, t.plan.Paired(); {
	case t.unlike(c, a, b) != nil: // arms that do different work have no overhead, so their comparison gets no values
	case d.Paired:
		d = t.pair(c, a, b, m)
	default:
		d.Baseline, d.Treated = sample(t.slots[c][b], m), sample(t.slots[c][a], m)
		d.Missing = contrast.Missing{Baseline: t.failures(c, b), Treated: t.failures(c, a)}
	}
	d.Margin = t.margin(c, m)
	return d
}

// margin returns a metric's margin of equivalence in cell c, on the scale of contrasts; 0: the plan sets none.
func (t *table) margin(c int, m experiment.Metric) float64 {
	if limit, ok := t.plan.Margins.For(m.Name, t.plan.Cells[c].ID); ok {
		// the condition should always hold: the plan's margin has the metric's own scale
		if bound, err := m.Bound(limit); err == nil && bound.Scale == m.Scale {
			return contrast.FromOverhead(bound.Value, experiment.Metric{Scale: bound.Scale})
		}
	}
	return 0
}

func sample(arm []slot, m experiment.Metric) []float64 {
	values := make([]float64, 0, len(arm))
	for trial := range valid(arm) {
		if v, ok := value(trial, m); ok {
			values = append(values, v)
		}
	}
	return values
}

// pair collects the pairs of arms a and b in cell c. On ratio metrics, pairs of treatment and baseline get the
// control's value of the round beside their own values.
func (t *table) pair(c, a, b int, m experiment.Metric) contrast.Data {
	d := contrast.Data{Metric: m, Paired: true, Means: m.Scale == experiment.Difference}
	list := t.completeRounds([]int{c}, []int{b, a}, m, func(who []bool) { d.Missing.Add(who[0], who[1]) })
	control := -1
	if !d.Means && t.plan.Arms[a].Role == experiment.Treatment && t.plan.Arms[b].Role == experiment.Baseline {
		control = role(t.plan, experiment.Control)
	}
	rounds, effects := t.setOf(list, 1), t.orderEffects(c, m)
	d.Rounds, d.SetUps, d.Pilot = rounds.rounds, rounds.setUps, rounds.pilot()
	for _, r := range list {
		base, arm := r.trials[0], r.trials[1]
		d.Baseline, d.Treated = append(d.Baseline, r.values[0]), append(d.Treated, r.values[1])
		d.Moved = append(d.Moved, arm.Position-base.Position)
		place := [3]float64{effects.of(arm), effects.of(base)}
		if control >= 0 {
			beside := t.slot(c, control, r.round).valid
			z, ok := value(beside, m)
			if ok {
				place[2] = effects.of(beside)
			} else {
				z = math.NaN()
			}
			d.Control = append(d.Control, z)
		}
		if effects != nil {
			d.PositionEffects = append(d.PositionEffects, place)
		}
	}
	d.Compare()
	return d
}

// sharedSetUps returns its argument, the number of each round's set-up, if several rounds share a set-up. Otherwise it
// returns nil.
func (t *table) sharedSetUps(setUps []int) []int {
	if t.setUps.Shared() && len(ascending(slices.Clone(setUps))) < len(setUps) {
		return setUps
	}
	return nil
}

// constant reports whether a metric has one value in all trials of a cell, and so measures nothing; false for counts,
// or below fewestConstant values.
func (t *table) constant(c int, m experiment.Metric) bool {
	if m.Discrete || m.Scale == experiment.Difference {
		return false
	}
	count, first := 0, 0.0
	for _, arm := range t.slots[c] {
		for _, v := range sample(arm, m) {
			if count > 0 && v != first {
				return false
			}
			count, first = count+1, v
		}
	}
	return count >= fewestConstant
}

// fewestConstant is the smallest number of equal values that makes a metric count as constant.
const fewestConstant = 6

// UnlikeSetting is a setting of the workload that differs between the files of two arms. The two arms therefore
// measured different work.
type UnlikeSetting struct {
	Name     string   `json:"name"`
	Baseline []string `json:"baseline"` // values in the files of the arm compared with; several values: its files differ
	Arm      []string `json:"arm"`
}

// settingsOf returns, by cell, the settings that differ between files of the cell. Settings that the import declares
// irrelevant are left out.
func settingsOf(plan *experiment.Plan) map[string][]experiment.ImportedSetting {
	by := map[string][]experiment.ImportedSetting{}
	if plan.Import == nil {
		return by
	}
	for _, s := range plan.Import.Settings {
		if !slices.Contains(plan.Import.Allowed, s.Name) {
			by[s.Cell] = append(by[s.Cell], s)
		}
	}
	return by
}

// unlike returns the settings in which the files of arms a and b, or of one of them, differ: the arms measured
// different work. Nil: none.
func (t *table) unlike(c, a, b int) (list []UnlikeSetting) {
	for _, s := range t.settings[t.plan.Cells[c].ID] {
		arm, base := s.Arms[t.plan.Arms[a].Name], s.Arms[t.plan.Arms[b].Name]
		if len(arm) > 0 && len(base) > 0 && (len(arm) > 1 || len(base) > 1 || arm[0] != base[0]) {
			list = append(list, UnlikeSetting{Name: s.Name, Baseline: base, Arm: arm})
		}
	}
	return list
}
