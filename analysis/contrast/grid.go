package contrast

import (
	"math"
	"slices"

	"tare/experiment"
)

// grid is the step between neighbouring values, as a contrast, where the values lie on a
// grid that is coarse beside their noise: a clock of few digits, a tool that rounds. 0: they
// do not. It is taken for one where at most half of the values are distinct.
//
// Contrasts of such values lie on a grid, too. Where the step is several times the noise, the
// typical value of each arm can lie half a step from its true one, on either side, however many
// rounds there are. The interval therefore reaches half a step further on both sides.
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

// wider is a view whose interval reaches further on both sides.
func (v View) wider(by float64) View {
	v.At.Lo, v.At.Hi = v.At.Lo-by, v.At.Hi+by
	return v
}
