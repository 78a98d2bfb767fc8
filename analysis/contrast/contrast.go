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

	"tare/experiment"
	"tare/stats"
)

// Data is what two arms have to say of one metric in one cell.
type Data struct {
	Metric   experiment.Metric
	Baseline []float64 // values, in the metric's unit
	Treated  []float64
	// Paired says that values of the same index are of the same round. The fields
	// below are then set, one entry for each pair, and nil otherwise.
	Paired    bool
	Contrasts []float64
	Rounds    []int
	// Moved is the arm's place in its block minus the baseline's: positive when
	// the arm ran later.
	Moved []int
	Pilot int // pairs from the pilot's rounds

	estimate func(Rules) Estimate // where the values do not say how they are to be estimated; nil: they do
}

// Size is the number of independent values that a claim rests on: pairs, or the
// values of the smaller sample.
func (d *Data) Size() int {
	if d.Paired {
		return len(d.Contrasts)
	}
	return min(len(d.Baseline), len(d.Treated))
}

// Of compares one value of an arm with one of the baseline. Logarithms are
// taken first so that no quotient overflows; a difference whose square would
// overflow is held at a size that does not.
func Of(arm, base float64, m experiment.Metric) float64 {
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
	i := stats.Interval{Point: Overhead(at.Point, m), Lo: Overhead(at.Lo, m), Hi: Overhead(at.Hi, m)}
	if i.Lo > i.Hi {
		i.Lo, i.Hi = i.Hi, i.Lo
	}
	return i
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
func Magnitude(size float64, m experiment.Metric) float64 { return Overhead(cost(size, m), m) }

// cost gives a contrast the sign of its overhead: positive is a cost.
func cost(x float64, m experiment.Metric) float64 {
	if m.Scale != experiment.Difference && m.Better == experiment.Higher {
		return -x
	}
	return x
}

// Usable says whether a value of a metric can be compared: finite, and positive
// on a ratio scale.
func Usable(v float64, m experiment.Metric) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (m.Scale == experiment.Difference || v > 0)
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
