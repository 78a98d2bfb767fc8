package contrast

import (
	"math"
	"slices"

	"tare/internal/experiment"
)

// grid returns the step between neighbouring values, as a contrast, if a tool has rounded the values to a
// grid that is coarse relative to their noise. It is 0 if the values lie on no such grid. Values count as a
// grid if at most half of them are distinct.
//
// Contrasts of such values lie on a grid, too. If the step is several times the noise, the typical value of
// each arm can lie half a step above or below its true value, even with many rounds. The interval is
// therefore made wider by half a step on both sides.
func (d *Data) grid() float64 {
	if d.Metric.Scale == experiment.Difference || len(d.Treated) < 2 {
		return 0
	}
	all := slices.Concat(d.Treated, d.Baseline)
	slices.Sort(all)
	step, distinct := math.Inf(1), 1
	for i := 1; i < len(all); i++ {
		if gap := of(all[i], all[i-1], d.Metric); gap > 0 {
			distinct, step = distinct+1, min(step, gap)
		}
	}
	if distinct == 1 || 2*distinct > len(all) {
		return 0
	}
	return step
}

// wider returns a view whose interval extends further on both sides.
func (v View) wider(by float64) View {
	v.At.Lo, v.At.Hi = v.At.Lo-by, v.At.Hi+by
	return v
}
