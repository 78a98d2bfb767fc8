package analysis

import (
	"math"

	"tare/experiment"
	"tare/stats"
)

// pairs are the rounds in which both an arm and the baseline have a valid value
// of a metric in one cell.
//
// The contrast of a round is ln(arm/baseline) for a ratio metric, whatever its
// direction, and the signed difference (positive: cost) for a difference metric.
// All estimates are made on contrasts; overheads are derived from them last.
type pairs struct {
	metric    experiment.Metric
	rounds    []int
	contrasts []float64
	baseline  []float64
	treated   []float64
	// moved is the arm's place in its block minus the baseline's: positive when
	// the arm ran later.
	moved []int
	pilot int // pairs from the pilot's rounds
}

// pair collects the pairs of arm a with the baseline b in cell c.
func (t *table) pair(c, a, b int, m experiment.Metric) pairs {
	p := pairs{metric: m}
	arm, base := t.slots[c][a], t.slots[c][b]
	n := len(t.rounds)
	floats := make([]float64, 0, 3*n)
	take := func() (s []float64) {
		s = floats[len(floats) : len(floats) : len(floats)+n]
		floats = floats[:len(floats)+n]
		return s
	}
	p.contrasts, p.baseline, p.treated = take(), take(), take()
	p.rounds, p.moved = make([]int, 0, n), make([]int, 0, n)
	for i := range arm {
		x, okArm := value(arm[i].valid, m)
		y, okBase := value(base[i].valid, m)
		if !okArm || !okBase {
			continue
		}
		p.rounds = append(p.rounds, t.rounds[i])
		p.treated = append(p.treated, x)
		p.baseline = append(p.baseline, y)
		p.contrasts = append(p.contrasts, contrast(x, y, m))
		p.moved = append(p.moved, arm[i].valid.Position-base[i].valid.Position)
		if t.rounds[i] <= t.plan.Rounds {
			p.pilot++
		}
	}
	return p
}

// contrast compares one value of an arm with one of the baseline. Logarithms are
// taken first so that no quotient overflows; a difference whose square would
// overflow is held at a size that does not.
func contrast(arm, base float64, m experiment.Metric) float64 {
	switch {
	case m.Scale != experiment.Difference:
		return math.Log(arm) - math.Log(base)
	case m.Better == experiment.Higher:
		return min(max(base-arm, -largest), largest)
	}
	return min(max(arm-base, -largest), largest)
}

// largest is the largest contrast; its square, summed over any run, is finite.
const largest = 1e150

// overhead turns a contrast into an overhead: a share of the baseline for a
// ratio metric, in the metric's unit for a difference metric.
func overhead(x float64, m experiment.Metric) float64 {
	switch {
	case m.Scale == experiment.Difference:
		return finite(x)
	case m.Better == experiment.Higher:
		return finite(0 - math.Expm1(x)) // not -0
	}
	return finite(math.Expm1(x))
}

// overheads does the same for an interval and puts its bounds in order.
func overheads(at stats.Interval, m experiment.Metric) Interval {
	i := Interval{Point: overhead(at.Point, m), Lo: overhead(at.Lo, m), Hi: overhead(at.Hi, m)}
	if i.Lo > i.Hi {
		i.Lo, i.Hi = i.Hi, i.Lo
	}
	return i
}

// finite keeps a number fit for JSON and for arithmetic: infinities become the
// largest finite numbers, and what is not a number becomes 0.
func finite(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return 0
	case x > math.MaxFloat64:
		return math.MaxFloat64
	case x < -math.MaxFloat64:
		return -math.MaxFloat64
	}
	return x
}
