// Package contrast compares two arms on one metric: it estimates the overhead from the arms' values, with its interval
// and tests.
//
// Estimates are made on contrasts. For a ratio metric, a contrast is ln(arm/baseline), whether higher or lower values
// are better. For a difference metric, a contrast is the signed difference (positive: cost). Contrasts become overheads
// at the very end, so an interval keeps its confidence.
//
// Paired data have one value of each arm from the same round, so slow phases of the machine cancel. The trials of tare
// run are paired. Unpaired data are two independent samples, as most other tools produce them. In unpaired data, drift
// of the machine between the samples is part of the difference.
package contrast

import (
	"math"
	"slices"

	"tare/internal/experiment"
	"tare/internal/stats"
)

// Data holds the values of two arms on one metric in one cell.
type Data struct {
	Metric   experiment.Metric
	Margin   float64   // margin of equivalence for this comparison, on the scale of contrasts; 0: Rules.Margin applies
	Baseline []float64 // values, in the metric's unit
	Treated  []float64
	// Paired is set if values with one index are from the same round. Control, Contrasts, Rounds and Moved then have
	// one entry per pair; in unpaired data, they are nil.
	Paired bool
	// Control holds the control's value of each pair, or NaN. The arm is compared with the mean of baseline and
	// control. Nil: with the baseline alone.
	Control   []float64
	Contrasts []float64 // contrasts of arm and reference by pair, from Compare; data without values bring their own
	Rounds    []int
	Moved     []int // the arm's position in the round minus the baseline's position: positive if the arm ran later
	// SetUps holds the set-up number of each pair, if pairs share set-ups. The independent values are then the means
	// over set-ups. Nil: each pair is independent.
	SetUps []int
	Pilot  int // number of pairs from rounds that belong to the run's pilot
	// PositionEffects holds three effects of positions in the round for each pair, as contrasts. Tare subtracts them
	// from arm, baseline and control. Nil: none.
	PositionEffects [][3]float64
	Means           bool // compare means, not typical rounds: the values are counts that are zero in most rounds
	// Uneven is set if contrasts have unequal weights, as a slope has. They may be skewed even if noise has one
	// distribution in all arms.
	Uneven  bool
	Missing Missing // trials that have no value because the program failed

	controlDelta []float64                       // by pair, half the contrast of control with baseline; NaN or nil: no control
	estimate     func(Rules) Estimate            // function that computes the estimate; nil: the estimate follows from the values alone
	imputed      func(sign, margin float64) Data // Imputed's result before WithOccasions was called; nil: it was not called
	errs         []float64                       // standard errors of the contrasts of combined runs
}

// Compare computes the contrasts of pairs from their values.
func (d *Data) Compare() {
	d.Contrasts, d.controlDelta = make([]float64, len(d.Treated)), nil
	if d.Control != nil {
		d.controlDelta = make([]float64, len(d.Treated))
	}
	for i, v := range d.Treated {
		var place [3]float64
		if d.PositionEffects != nil {
			place = d.PositionEffects[i]
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

// withoutValues reports whether the pairs have only contrasts: a contrast of more than two arms, such as a slope, has
// no values of arm and baseline.
func (d *Data) withoutValues() bool { return d.Paired && len(d.Baseline) != len(d.Contrasts) }

// Controlled counts the pairs in which the arm is compared with the mean of baseline and control.
func (d *Data) Controlled() (n int) {
	for _, a := range d.controlDelta {
		if !math.IsNaN(a) {
			n++
		}
	}
	return n
}

// Size returns the number of independent values behind a claim: of pairs, of set-ups if pairs share them, or of the
// smaller sample without pairs.
func (d *Data) Size() int {
	switch {
	case d.SetUps != nil:
		return len(d.blocks())
	case d.Paired:
		return len(d.Contrasts)
	}
	return min(len(d.Baseline), len(d.Treated))
}

// blocks returns the indices of the pairs of each set-up.
func (d *Data) blocks() (list [][]int) {
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

// Units returns the independent contrasts: of pairs, or means over shared set-ups. A set-up with a round without
// control uses the baseline alone. pilot is the number of units that belong to the pilot.
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
				c += d.controlDelta[i] // the contrast is now relative to the baseline alone
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

// of returns the contrast of an arm's value with the baseline's value. For ratios, it subtracts logarithms, so that no
// quotient overflows.
func of(arm, base float64, m experiment.Metric) float64 {
	switch {
	case m.Scale != experiment.Difference:
		return math.Log(arm) - math.Log(base)
	case m.Better == experiment.Higher:
		return Bounded(base - arm)
	}
	return Bounded(arm - base)
}

// Scaled converts the values of both arms to the scale of contrasts: logarithms for a ratio metric, signed values for a
// difference metric.
func (d *Data) Scaled() (base, arm []float64) {
	scaled := func(v float64) float64 { return Scaled(v, d.Metric) }
	return stats.Mapped(d.Baseline, scaled), stats.Mapped(d.Treated, scaled)
}

// Scaled converts a value to the scale of contrasts.
func Scaled(v float64, m experiment.Metric) float64 {
	switch {
	case m.Scale != experiment.Difference:
		return math.Log(v)
	case m.Better == experiment.Higher:
		return Bounded(-v)
	}
	return Bounded(v)
}

// Bounded limits a contrast to ±1e150, so that sums of squared contrasts stay finite.
func Bounded(x float64) float64 { return min(max(x, -1e150), 1e150) }

// Overhead converts a contrast to an overhead: a share of the baseline for a ratio metric, an amount in the metric's
// unit for a difference metric.
func Overhead(x float64, m experiment.Metric) float64 {
	switch {
	case m.Scale == experiment.Difference:
		return Finite(x)
	case m.Better == experiment.Higher:
		return Finite(0 - math.Expm1(x)) // 0 - x never gives -0
	}
	return Finite(math.Expm1(x))
}

// Overheads converts an interval of contrasts to an interval of overheads, with its bounds in order.
func Overheads(at stats.Interval, m experiment.Metric) stats.Interval {
	return at.Map(func(x float64) float64 { return Overhead(x, m) })
}

// FromOverhead returns the contrast of an overhead, the inverse of Overhead. It is -Inf if higher values are better and
// the overhead is 1 or more.
func FromOverhead(overhead float64, m experiment.Metric) float64 {
	switch {
	case m.Scale == experiment.Difference:
		return overhead
	case m.Better == experiment.Higher:
		return math.Log1p(-min(overhead, 1))
	}
	return math.Log1p(overhead)
}

// Magnitude returns the size of a contrast as an overhead.
func Magnitude(size float64, m experiment.Metric) float64 { return Overhead(Cost(size, m), m) }

// Cost gives a contrast the sign of its overhead: positive is a cost.
func Cost(x float64, m experiment.Metric) float64 {
	if m.Scale != experiment.Difference && m.Better == experiment.Higher {
		return -x
	}
	return x
}

// Finite makes a number finite, as JSON and arithmetic need it: infinities become the largest finite numbers, and NaN
// becomes 0.
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

// Deviation returns the sample standard deviation; 0 for fewer than two values.
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

// Middle returns the contrast to show if no estimate is possible: the median over pairs, or the contrast of two
// samples' medians; 0 without values.
func (d *Data) Middle() float64 {
	if d.Size() == 0 {
		return 0
	}
	if d.Paired {
		return stats.Median(d.Contrasts)
	}
	base, arm := d.Scaled()
	return stats.Median(arm) - stats.Median(base)
}

// grid returns the step, as a contrast, of coarsely rounded values (at most half are distinct); otherwise 0. Intervals
// get half a step wider on both sides.
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
