package contrast

import (
	"math"

	"tare/internal/experiment"
	"tare/internal/stats"
)

// boundedExp returns the exponential of a contrast that is limited to ±600, so that the result is finite and not 0.
func boundedExp(x float64) float64 { return math.Exp(min(max(x, -600), 600)) }

// Changed compares the overheads of two runs as independent samples, one value per round. If a run has no pairs, all
// samples of both runs give the change, and the result's values only show their number.
func Changed(from, to Data) Data {
	d := Data{Metric: from.Metric, Baseline: from.smaller(), Treated: to.smaller(),
		Missing: Missing{Baseline: from.Missing.Count(), Treated: to.Missing.Count()}} // a pair has no overhead if its arm or its baseline failed
	if d.Metric.Scale == experiment.Difference {
		d.Metric.Better = experiment.Lower // amounts already have the sign of a cost
	}
	if from.Paired && to.Paired {
		return d
	}
	d.estimate = func(r Rules) Estimate {
		samples := append(from.weighted(-1), to.weighted(1)...)
		v := r.view(stats.WelchSum(samples, r.Confidence))
		return Estimate{Method: MethodWelchSum, Main: v, T: v}.spreads(from.spread(), to.spread())
	}
	return d
}

// factors returns the overheads by round, or by set-up: the ratio arm ÷ baseline or, for a difference metric, the
// amount that the arm costs more.
func (d *Data) factors() []float64 {
	contrasts, _, _ := d.Units()
	if d.Metric.Scale == experiment.Difference {
		return contrasts
	}
	return stats.Mapped(contrasts, boundedExp)
}

// weighted returns the overhead as a weighted sum of sample means: of the pairs' contrasts, or of the arm's values
// minus the baseline's.
func (d *Data) weighted(weight float64) []stats.Weighted {
	if d.Paired {
		contrasts, _, _ := d.Units()
		return []stats.Weighted{{Weight: weight, Values: contrasts}}
	}
	base, arm := d.Scaled()
	return []stats.Weighted{{Weight: weight, Values: arm}, {Weight: -weight, Values: base}}
}

// smaller returns the values whose number limits claims on an overhead: one value per pair or, without pairs, the
// values of the arm that has fewer.
func (d *Data) smaller() []float64 {
	switch {
	case d.Paired:
		return d.factors()
	case len(d.Baseline) < len(d.Treated):
		return d.Baseline
	}
	return d.Treated
}

// spread returns the contrasts' standard deviation. Unpaired data count as one sample of the smaller size, whose mean
// has the overhead's standard error.
func (d *Data) spread() float64 {
	if d.Paired {
		contrasts, _, _ := d.Units()
		return Deviation(contrasts)
	}
	if d.Size() == 0 {
		return 0
	}
	base, arm := d.Scaled()
	b, a := Deviation(base), Deviation(arm)
	return math.Sqrt(float64(d.Size()) * (b*b/float64(len(base)) + a*a/float64(len(arm))))
}

// MethodOccasions is appended to the method of a change whose interval includes the variation between occasions.
const MethodOccasions = "+occasions"

// WithOccasions widens the interval by deviation, an overhead's standard deviation between runs, as a contrast. A
// change varies by √2 times as much (Student's t). A claim must hold both between runs and within runs.
func (d Data) WithOccasions(deviation float64, runs int) Data {
	if !(deviation > 0) || runs < 2 {
		return d
	}
	of := d
	d.imputed = func(sign, margin float64) Data { return of.Imputed(sign, margin).WithOccasions(deviation, runs) }
	d.estimate = func(r Rules) Estimate {
		e := r.Estimate(&of)
		if !e.Main.OK {
			return e
		}
		at, se := e.Main.At.Point, math.Sqrt2*deviation
		tail := func(distance float64) float64 { return stats.StudentTail(distance/se, float64(runs-1)) }
		half := stats.StudentQuantile((1+r.Confidence)/2, float64(runs-1)) * se
		wide := View{OK: true, At: stats.Interval{Point: at, Lo: at - half, Hi: at + half},
			P: 2 * tail(math.Abs(at)), Equiv: tail(r.MarginOf(&of) - math.Abs(at))}
		e.Method, e.Main, e.T = e.Method+MethodOccasions, hull(e.Main, wide), hull(e.T, wide)
		return e
	}
	return d
}

// MethodRandomEffects is the method for an overhead that is estimated from several runs, each on its own occasion. It
// uses stats.RandomEffects.
const MethodRandomEffects = "random-effects"

// Combined joins the overheads of several runs, given as contrasts with standard errors. Two runs are enough for a
// claim, since it uses no ranks.
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

// exceeds returns the one-sided p-value of "the overhead is limit or less", on the scale of contrasts, for data from
// Combined.
func (d *Data) exceeds(limit float64) float64 {
	contrasts := stats.Mapped(d.Contrasts, func(x float64) float64 { return Cost(x, d.Metric) })
	p, err := stats.RandomEffects(contrasts, d.errs, 0.95) // the p-value is the same for every confidence, so any confidence will do
	if err != nil {
		return 1
	}
	return p.Exceeds(Cost(limit, d.Metric))
}

// Error returns the standard error of an estimate, as a contrast, from its interval by Student's t. It is 0 if the
// interval has no finite width.
func Error(at stats.Interval, values int, confidence float64) float64 {
	half := (at.Hi - at.Lo) / 2
	if values < 2 || !(half > 0) || math.IsInf(half, 0) {
		return 0
	}
	return half / stats.StudentQuantile((1+confidence)/2, float64(values-1))
}

// FromOverheads converts an interval of overheads to an interval of contrasts. It is the inverse of Overheads, and puts
// the bounds in ascending order.
func FromOverheads(o stats.Interval, m experiment.Metric) stats.Interval {
	return o.Map(func(overhead float64) float64 { return FromOverhead(overhead, m) })
}
