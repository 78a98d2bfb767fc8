package history

import (
	"math"

	"tare/analysis"
	"tare/analysis/contrast"
	"tare/experiment"
	"tare/stats"
)

// scale maps the values of a series to the scale of computation and back: the
// logarithm for ratio metrics, the value itself for difference metrics, turned
// so that larger is worse. A difference on it is a change.
type scale struct {
	metric experiment.Metric
	of     string
}

func (s Series) scale() scale { return scale{s.Metric, s.Of} }

// sign is -1 where a larger contrast is better.
func (s scale) sign() float64 {
	level := s.of == OfLevel || s.metric.Scale != experiment.Difference
	if s.metric.Better == experiment.Higher && level {
		return -1
	}
	return 1
}

// compute maps a value; what has no finite place there is not ok.
func (s scale) compute(v float64) (y float64, ok bool) {
	switch {
	case s.of == OfOverhead:
		y = contrast.FromOverhead(v, s.metric)
	case s.metric.Scale == experiment.Difference:
		y = v
	default:
		y = math.Log(v)
	}
	y *= s.sign()
	return y, !math.IsNaN(y) && math.Abs(y) <= largest
}

// largest is the largest value computed with; its square, summed over any
// history, is finite.
const largest = 1e150

// value is the inverse of compute.
func (s scale) value(y float64) float64 {
	y *= s.sign()
	switch {
	case s.of == OfOverhead:
		return contrast.Overhead(y, s.metric)
	case s.metric.Scale == experiment.Difference:
		return contrast.Finite(y)
	}
	return contrast.Finite(math.Exp(y))
}

func (s scale) values(i stats.Interval) analysis.Interval {
	return ordered(s.value(i.Point), s.value(i.Lo), s.value(i.Hi))
}

// change is a difference of computed values as an overhead: a share, or in the
// unit of a difference metric; positive is worse.
func (s scale) change(d float64) float64 {
	if s.metric.Scale == experiment.Difference {
		return contrast.Finite(d)
	}
	return contrast.Overhead(d*s.sign(), s.metric)
}

func (s scale) changes(i stats.Interval) analysis.Interval {
	return ordered(s.change(i.Point), s.change(i.Lo), s.change(i.Hi))
}

// difference is the inverse of change; a share that nothing can lose gives +Inf.
func (s scale) difference(change float64) float64 {
	if s.metric.Scale == experiment.Difference {
		return change
	}
	return contrast.FromOverhead(change, s.metric) * s.sign()
}

func ordered(point, a, b float64) analysis.Interval {
	return analysis.Interval{Point: point, Lo: min(a, b), Hi: max(a, b)}
}
