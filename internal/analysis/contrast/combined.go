package contrast

import (
	"math"
	"slices"

	"tare/internal/experiment"
	"tare/internal/stats"
)

// MethodRandomEffects is the method for an overhead that several runs have estimated, each on an
// occasion of its own: stats.RandomEffects.
const MethodRandomEffects = "random-effects"

// Combined joins the overheads of several runs, given as contrasts with their standard errors. Two runs are
// enough for a claim, since the method does not use ranks.
func Combined(m experiment.Metric, contrasts, errs []float64) Data {
	d := Data{Metric: m, Paired: true, Contrasts: contrasts, Moved: make([]int, len(contrasts)), errs: errs}
	d.estimate = func(r Rules) Estimate {
		p, err := d.Pooled(r.Confidence)
		v := r.view(p.Estimate, err)
		return Estimate{SD: Deviation(contrasts), Method: MethodRandomEffects, Main: v, T: v}
	}
	return d
}

// Pooled returns the joint estimate of the runs, for data from Combined.
func (d *Data) Pooled(confidence float64) (stats.Pooled, error) {
	return stats.RandomEffects(d.Contrasts, d.errs, confidence)
}

// exceeds does what Rules.Exceeds does, for data from Combined, with a limit on the scale of contrasts.
func (d *Data) exceeds(limit float64) float64 {
	contrasts := slices.Clone(d.Contrasts)
	for i, x := range contrasts {
		contrasts[i] = Cost(x, d.Metric)
	}
	p, err := stats.RandomEffects(contrasts, d.errs, 0.95) // the p-value does not depend on this confidence
	if err != nil {
		return 1
	}
	return p.Exceeds(Cost(limit, d.Metric))
}

// Error returns the standard error of an estimate, on the scale of contrasts, from its interval and its
// number of values. It is half the interval's width, divided by the quantile of t with values − 1 degrees
// of freedom. It is 0 if the interval has no width.
func Error(at stats.Interval, values int, confidence float64) float64 {
	half := (at.Hi - at.Lo) / 2
	if values < 2 || !(half > 0) || math.IsInf(half, 0) {
		return 0
	}
	return half / stats.StudentQuantile((1+confidence)/2, float64(values-1))
}

// FromOverheads returns the contrast of an overhead with its interval, with its bounds in order. It
// is the inverse of Overheads.
func FromOverheads(o stats.Interval, m experiment.Metric) stats.Interval {
	return o.Map(func(overhead float64) float64 { return FromOverhead(overhead, m) })
}
