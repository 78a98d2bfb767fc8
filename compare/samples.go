package compare

import (
	"math"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/stats"
)

// MethodWelchSum is the method of a change of overheads of which one at least
// comes from trials without pairs: Welch's t for the difference of two
// differences of means.
const MethodWelchSum = "welch-sum"

// sides are the values of two arms of one run on one metric.
type sides struct{ contrast.Data }

// steepest bounds a contrast whose exponential is taken.
const steepest = 600

// factors are the overheads by round on a scale that two of them can be
// compared on: the cost factor arm ÷ baseline, or the amount by which the arm
// costs more.
func (s sides) factors() []float64 {
	if s.Metric.Scale == experiment.Difference {
		return s.Contrasts
	}
	f := make([]float64, len(s.Contrasts))
	for i, x := range s.Contrasts {
		f[i] = math.Exp(min(max(x, -steepest), steepest))
	}
	return f
}

// changed compares the overhead on one side with that on the other. Paired, each
// is a sample of overheads by round, and the two samples are independent: they
// are compared as any two samples are. Unpaired, an overhead is itself a
// difference of two samples; how to estimate it then comes with the data, and the
// data stand for the sizes only.
func changed(from, to sides) (contrast.Data, func(contrast.Rules) contrast.Estimate) {
	m := from.Metric
	if m.Scale == experiment.Difference {
		m.Better = experiment.Lower // amounts are signed already: more is a cost
	}
	if from.Paired && to.Paired {
		return contrast.Data{Metric: m, Baseline: from.factors(), Treated: to.factors()}, nil
	}
	d := contrast.Data{Metric: m, Baseline: from.smaller(), Treated: to.smaller()}
	return d, func(r contrast.Rules) contrast.Estimate {
		e := welchSum(from, to, r)
		e.Spread = [2]float64{from.spread(), to.spread()}
		e.SD = contrast.Finite(math.Hypot(e.Spread[0], e.Spread[1]) / math.Sqrt2)
		return e
	}
}

// welchSum is (to's arm − to's baseline) − (from's arm − from's baseline).
func welchSum(from, to sides, r contrast.Rules) contrast.Estimate {
	samples := append(from.weighted(-1), to.weighted(1)...)
	v := contrast.View{P: 1, Equiv: 1}
	if e, err := stats.WelchSum(samples, r.Confidence); err == nil {
		v = contrast.View{OK: true, At: e.Interval, P: e.P, Equiv: 1}
		if r.Margin > 0 && from.Metric.Scale != experiment.Difference {
			if p, err := stats.EquivalenceWelchSum(samples, r.Margin); err == nil {
				v.Equiv = p
			}
		}
	}
	return contrast.Estimate{Method: MethodWelchSum, Main: v, T: v}
}

// weighted gives the overhead as samples of contrasts.
func (s sides) weighted(weight float64) []stats.Weighted {
	if s.Paired {
		return []stats.Weighted{{Weight: weight, Values: s.Contrasts}}
	}
	return []stats.Weighted{{Weight: weight, Values: s.scaled(s.Treated)}, {Weight: -weight, Values: s.scaled(s.Baseline)}}
}

// scaled puts values on the scale of contrasts.
func (s sides) scaled(values []float64) []float64 {
	one := 1.0
	if s.Metric.Scale == experiment.Difference {
		one = 0
	}
	x := make([]float64, len(values))
	for i, v := range values {
		x[i] = contrast.Of(v, one, s.Metric)
	}
	return x
}

// smaller is the sample that limits what can be claimed of an overhead.
func (s sides) smaller() []float64 {
	if s.Paired {
		return s.factors()
	}
	if len(s.Baseline) < len(s.Treated) {
		return s.Baseline
	}
	return s.Treated
}

// spread is the deviation that one sample of the smaller size would have if its
// mean were as uncertain as the overhead.
func (s sides) spread() float64 {
	if s.Paired {
		return contrast.Deviation(s.Contrasts)
	}
	if len(s.Baseline) == 0 || len(s.Treated) == 0 {
		return 0
	}
	b, a := contrast.Deviation(s.scaled(s.Baseline)), contrast.Deviation(s.scaled(s.Treated))
	n := float64(len(s.smaller()))
	return math.Sqrt(n * (b*b/float64(len(s.Baseline)) + a*a/float64(len(s.Treated))))
}
