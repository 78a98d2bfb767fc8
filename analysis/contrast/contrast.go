// Package contrast compares two arms on one metric: from their values to
// estimates of the overhead, each with its interval and tests.
//
// Everything is estimated on contrasts: ln(arm/baseline) for a ratio metric,
// whatever its direction, and the signed difference (positive: cost) for a
// difference metric. Overheads are derived from contrasts last, so that an
// interval keeps its confidence through the change of scale.
//
// Two kinds of data come here. Paired: one value of each arm from the same
// round, so that what slows the machine down for a while cancels; these are the
// trials of tare run. Unpaired: two independent samples, as most other tools
// leave them; what drifts between the two is then part of the difference, and
// no method can take it out again.
package contrast

import (
	"math"
	"slices"

	"tare/experiment"
	"tare/stats"
)

// Data is what two arms have to say of one metric in one cell.
type Data struct {
	Metric   experiment.Metric
	Margin   float64   // of equivalence of its own, on the scale of contrasts; 0: that of the rules, if any
	Baseline []float64 // values, in the metric's unit
	Treated  []float64
	// Paired says that values of the same index are of the same round. The fields
	// below are then set, one entry for each pair, and nil otherwise.
	Paired bool
	// Control is the values of a second copy of the baseline, where both together are the
	// reference; NaN in a round that has none. Nil: the baseline alone is.
	Control   []float64
	Contrasts []float64 // with the mean of the references; Compare makes them, or they are given without values
	Rounds    []int
	// Moved is the arm's place in its block minus the baseline's: positive when
	// the arm ran later.
	Moved []int
	// SetUps is the set-up of each pair where several share one, whose luck they then share,
	// too: the means over set-ups are what is independent. Nil: each pair is.
	SetUps []int
	Pilot  int // pairs from the pilot's rounds
	// Places are the effects of the places within the round, on the scale of contrasts, that
	// are taken from the treated value, the baseline's and the control's; nil: none are.
	Places [][3]float64
	// Means asks for the difference of means, and not of typical rounds: counts are mostly
	// zero in most rounds.
	Means bool
	// Uneven says that contrasts are sums of values of which a few weigh more than the others,
	// as a slope is: what noise they have need not be symmetric where that of the values is the same.
	Uneven bool
	// Missing counts the trials that failed and so have no value.
	Missing Missing

	controlDelta []float64                       // half the control minus the baseline on the scale of contrasts, NaN without one; nil without Control
	estimate     func(Rules) Estimate            // where the values do not say how they are to be estimated; nil: they do
	imputed      func(sign, margin float64) Data // Imputed of what Over was given; nil: it was not
	errs         []float64                       // standard errors of the contrasts, where runs are combined
}

// Compare sets the contrasts of pairs from their values.
func (d *Data) Compare() {
	d.Contrasts, d.controlDelta = make([]float64, len(d.Treated)), nil
	if d.Control != nil {
		d.controlDelta = make([]float64, len(d.Treated))
	}
	for i, v := range d.Treated {
		var place [3]float64
		if d.Places != nil {
			place = d.Places[i]
		}
		base := of(v, d.Baseline[i], d.Metric) - place[0] + place[1]
		d.Contrasts[i] = base
		if d.Control == nil {
			continue
		}
		d.controlDelta[i] = math.NaN()
		if !math.IsNaN(d.Control[i]) {
			control := of(v, d.Control[i], d.Metric) - place[0] + place[2]
			d.Contrasts[i], d.controlDelta[i] = base/2+control/2, base/2-control/2
		}
	}
}

// bare says whether only contrasts are known and no values: those of more than two arms.
func (d *Data) bare() bool { return d.Paired && len(d.Baseline) != len(d.Contrasts) }

// Controlled counts the pairs whose reference is the mean of baseline and control.
func (d *Data) Controlled() (n int) {
	for _, a := range d.controlDelta {
		if !math.IsNaN(a) {
			n++
		}
	}
	return n
}

// Size is the number of independent values that a claim rests on: pairs, or set-ups that
// several pairs share, or the values of the smaller sample.
func (d *Data) Size() int {
	switch {
	case d.SetUps != nil:
		return len(d.blocks())
	case d.Paired:
		return len(d.Contrasts)
	}
	return min(len(d.Baseline), len(d.Treated))
}

// blocks gives the pairs of each set-up, by index.
func (d *Data) blocks() [][]int {
	var list [][]int
	at := map[int]int{}
	for i, s := range d.SetUps {
		k, known := at[s]
		if !known {
			k = len(list)
			at[s] = k
			list = append(list, nil)
		}
		list[k] = append(list[k], i)
	}
	return list
}

// Units are the independent values of pairs: themselves, or the means over each set-up of
// several. A set-up of which some round has no control is compared with the baseline alone.
// Of the units, the first pilot ones are of the pilot's rounds.
func (d *Data) Units() (contrasts, deltas []float64, pilot int) {
	if d.SetUps == nil {
		return d.Contrasts, d.controlDelta, d.Pilot
	}
	blocks := d.blocks()
	if d.controlDelta != nil {
		deltas = make([]float64, len(blocks))
	}
	contrasts = make([]float64, len(blocks))
	for k, block := range blocks {
		lone := deltas != nil && slices.ContainsFunc(block, func(i int) bool { return math.IsNaN(d.controlDelta[i]) })
		for _, i := range block {
			c := d.Contrasts[i]
			switch {
			case lone && !math.IsNaN(d.controlDelta[i]):
				c += d.controlDelta[i] // to the baseline
			case deltas != nil && !lone:
				deltas[k] += d.controlDelta[i] / float64(len(block))
			}
			contrasts[k] += c / float64(len(block))
		}
		if lone {
			deltas[k] = math.NaN()
		}
		if block[len(block)-1] < d.Pilot {
			pilot++
		}
	}
	return contrasts, deltas, pilot
}

// of compares one value of an arm with one of the baseline. Logarithms are
// taken first so that no quotient overflows; a difference whose square would
// overflow is held at a size that does not.
func of(arm, base float64, m experiment.Metric) float64 {
	switch {
	case m.Scale != experiment.Difference:
		return math.Log(arm) - math.Log(base)
	case m.Better == experiment.Higher:
		return Bounded(base - arm)
	}
	return Bounded(arm - base)
}

// largest is the largest contrast; its square, summed over any run, is finite.
const largest = 1e150

// Bounded holds a contrast at a size that does not overflow.
func Bounded(x float64) float64 { return min(max(x, -largest), largest) }

// Overhead turns a contrast into an overhead: a share of the baseline for a
// ratio metric, in the metric's unit for a difference metric.
func Overhead(x float64, m experiment.Metric) float64 {
	switch {
	case m.Scale == experiment.Difference:
		return Finite(x)
	case m.Better == experiment.Higher:
		return Finite(0 - math.Expm1(x)) // not -0
	}
	return Finite(math.Expm1(x))
}

// Overheads does the same for an interval and puts its bounds in order.
func Overheads(at stats.Interval, m experiment.Metric) stats.Interval {
	return at.Map(func(x float64) float64 { return Overhead(x, m) })
}

// FromOverhead is the contrast of an overhead: the inverse of Overhead. An
// overhead of the whole baseline or more, on a metric of which more is better,
// has none: it gives -Inf.
func FromOverhead(overhead float64, m experiment.Metric) float64 {
	switch {
	case m.Scale == experiment.Difference:
		return overhead
	case m.Better == experiment.Higher:
		return math.Log1p(-min(overhead, 1))
	}
	return math.Log1p(overhead)
}

// Magnitude is the size of a contrast as an overhead.
func Magnitude(size float64, m experiment.Metric) float64 { return Overhead(Cost(size, m), m) }

// Cost gives a contrast the sign of its overhead: positive is a cost.
func Cost(x float64, m experiment.Metric) float64 {
	if m.Scale != experiment.Difference && m.Better == experiment.Higher {
		return -x
	}
	return x
}

// Finite keeps a number fit for JSON and for arithmetic: infinities become the
// largest finite numbers, and what is not a number becomes 0.
func Finite(x float64) float64 {
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

// Deviation is the sample standard deviation, 0 for fewer than two values.
func Deviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	var mean, sum float64
	for i, v := range x {
		mean += (v - mean) / float64(i+1)
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return Finite(math.Sqrt(sum / float64(len(x)-1)))
}
