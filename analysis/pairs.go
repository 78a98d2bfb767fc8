package analysis

import (
	"tare/analysis/contrast"
	"tare/experiment"
)

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
	p := contrast.Data{Metric: m, Paired: true}
	arm, base := t.slots[c][a], t.slots[c][b]
	n := len(t.at[c])
	floats := make([]float64, 0, 3*n)
	take := func() (s []float64) {
		s = floats[len(floats) : len(floats) : len(floats)+n]
		floats = floats[:len(floats)+n]
		return s
	}
	p.Contrasts, p.Baseline, p.Treated = take(), take(), take()
	p.Rounds, p.Moved = make([]int, 0, n), make([]int, 0, n)
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
