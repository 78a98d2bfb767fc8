package history

import (
	"math"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
)

// scale maps the values of a series to the scale of computation and back: the logarithm for ratio
// metrics, the value itself for difference metrics, with the sign for which larger is worse. A
// difference on this scale is a change.
type scale struct {
	metric experiment.Metric
	of     string
}

func (s Series) scale() scale { return scale{s.Metric, s.Of} }

// sign returns -1 if a larger level is better.
func (s scale) sign() float64 {
	if s.metric.Better == experiment.Higher {
		return -1
	}
	return 1
}

// compute maps a value; ok is false if the result is not finite.
func (s scale) compute(v float64) (y float64, ok bool) {
	switch {
	case s.of == OfOverhead:
		y = s.difference(v)
	case s.metric.Scale == experiment.Difference:
		y = v * s.sign()
	default:
		y = math.Log(v) * s.sign()
	}
	return y, !math.IsNaN(y) && math.Abs(y) <= largest
}

// largest is the largest value in computations; its square, summed over any history, is finite.
const largest = 1e150

// value is the inverse of compute.
func (s scale) value(y float64) float64 {
	switch {
	case s.of == OfOverhead:
		return s.change(y)
	case s.metric.Scale == experiment.Difference:
		return contrast.Finite(y * s.sign())
	}
	return contrast.Finite(math.Exp(y * s.sign()))
}

// change converts a difference of computed values to an overhead: a share, or in the unit of a
// difference metric; positive is worse.
func (s scale) change(d float64) float64 {
	return contrast.Magnitude(d, s.metric)
}

// difference is the inverse of change. It returns +Inf for a share that is too large for any loss.
func (s scale) difference(change float64) float64 {
	return contrast.Cost(contrast.FromOverhead(change, s.metric), s.metric)
}
