package analysis

import (
	"tare/analysis/contrast"
	"tare/experiment"
)

// pair collects the pairs of arm a with the baseline b in cell c.
func (t *table) pair(c, a, b int, m experiment.Metric) contrast.Data {
	p := contrast.Data{Metric: m, Paired: true}
	arm, base := t.slots[c][a], t.slots[c][b]
	n := len(t.rounds)
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
		p.Rounds = append(p.Rounds, t.rounds[i])
		p.Treated = append(p.Treated, x)
		p.Baseline = append(p.Baseline, y)
		p.Contrasts = append(p.Contrasts, contrast.Of(x, y, m))
		p.Moved = append(p.Moved, arm[i].valid.Position-base[i].valid.Position)
		if t.rounds[i] <= t.plan.Rounds {
			p.Pilot++
		}
	}
	return p
}
