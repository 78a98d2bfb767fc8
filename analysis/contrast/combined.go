package contrast

import (
	"math"
	"slices"

	"tare/experiment"
	"tare/stats"
)

// MethodRandomEffects is that of an overhead that several runs have estimated, each
// on an occasion of its own: stats.RandomEffects.
const MethodRandomEffects = "random-effects"

// Combined joins the overheads of several runs: their contrasts, each with its
// standard error. A claim needs no least number of them but two, since it rests on
// no ranks.
func Combined(m experiment.Metric, contrasts, errs []float64) Data {
	d := Data{Metric: m, Paired: true, Contrasts: contrasts, Moved: make([]int, len(contrasts)), errs: errs}
	d.estimate = func(r Rules) Estimate {
		p, err := d.Pooled(r.Confidence)
		v := r.seen(p.Estimate, err)
		return Estimate{SD: Deviation(contrasts), Method: MethodRandomEffects, Main: v, T: v}
	}
	return d
}

// Pooled is what the runs say together, of data that Combined made.
func (d *Data) Pooled(confidence float64) (stats.Pooled, error) {
	return stats.RandomEffects(d.Contrasts, d.errs, confidence)
}

// exceeds is Rules.Exceeds of data that Combined made, for the contrast of a limit.
func (d *Data) exceeds(limit float64) float64 {
	contrasts := slices.Clone(d.Contrasts)
	for i, x := range contrasts {
		contrasts[i] = Cost(x, d.Metric)
	}
	p, err := stats.RandomEffects(contrasts, d.errs, 0.95) // the p has no confidence
	if err != nil {
		return 1
	}
	return p.Exceeds(Cost(limit, d.Metric))
}

// Error is the standard error of an estimate with an interval on the scale of
// contrasts, which rests on so many values: half the interval's width over the
// quantile of t with one degree of freedom less. It is 0 where there is none.
func Error(at stats.Interval, values int, confidence float64) float64 {
	half := (at.Hi - at.Lo) / 2
	if values < 2 || !(half > 0) || math.IsInf(half, 0) {
		return 0
	}
	return half / stats.StudentQuantile((1+confidence)/2, float64(values-1))
}

// FromOverheads is the contrast of an estimate with its interval, its bounds in
// order: the inverse of Overheads.
func FromOverheads(o stats.Interval, m experiment.Metric) stats.Interval {
	return o.Map(func(overhead float64) float64 { return FromOverhead(overhead, m) })
}
