package compare

import (
	"math"

	"tare/analysis"
	"tare/analysis/contrast"
	"tare/experiment"
	"tare/stats"
)

// MethodWelchSum is the method of a change of overheads of which one at least
// comes from trials without pairs: Welch's t for the difference of two
// differences of means.
const MethodWelchSum = "welch-sum"

// sides are the values of two arms of one run on one metric: contrasts where
// trials of one round belong together, both samples where they don't.
type sides struct {
	metric    experiment.Metric
	paired    bool
	rounds    []int
	contrasts []float64
	moved     []int
	base, arm []float64
}

// between gives the sides of an arm and of what it is compared with.
func between(run *analysis.Run, cell string, m experiment.Metric, base, arm string) sides {
	s := sides{metric: m, paired: run.Plan.Paired()}
	b, a := series(run, cell, m.Name, base), series(run, cell, m.Name, arm)
	if a == nil || b == nil {
		return s
	}
	if !s.paired {
		s.base, s.arm = b.Values, a.Values
		return s
	}
	for i, k := 0, 0; i < len(a.Rounds) && k < len(b.Rounds); {
		switch {
		case a.Rounds[i] < b.Rounds[k]:
			i++
		case a.Rounds[i] > b.Rounds[k]:
			k++
		default:
			s.rounds = append(s.rounds, a.Rounds[i])
			s.arm, s.base = append(s.arm, a.Values[i]), append(s.base, b.Values[k])
			s.contrasts = append(s.contrasts, contrast.Of(a.Values[i], b.Values[k], m))
			i, k = i+1, k+1
		}
	}
	return s
}

// data makes the sides a comparison of the two arms themselves.
func (s sides) data() contrast.Data {
	d := contrast.Data{Metric: s.metric, Paired: s.paired, Baseline: s.base, Treated: s.arm}
	if s.paired {
		d.Contrasts, d.Rounds, d.Moved = s.contrasts, s.rounds, make([]int, len(s.rounds))
	}
	return d
}

// steepest bounds a contrast whose exponential is taken.
const steepest = 600

// factors are the overheads by round on a scale that two of them can be
// compared on: the cost factor arm ÷ baseline, or the amount by which the arm
// costs more.
func (s sides) factors() []float64 {
	if s.metric.Scale == experiment.Difference {
		return s.contrasts
	}
	f := make([]float64, len(s.contrasts))
	for i, x := range s.contrasts {
		f[i] = math.Exp(min(max(x, -steepest), steepest))
	}
	return f
}

// changed compares the overhead on one side with that on the other. Paired, each
// is a sample of overheads by round, and the two samples are independent: they
// are compared as any two samples are. Unpaired, an overhead is itself a
// difference of two samples; the estimate then comes with the data, and the data
// stand for the sizes only.
func changed(from, to sides, r contrast.Rules) (contrast.Data, *contrast.Estimate) {
	m := from.metric
	if m.Scale == experiment.Difference {
		m.Better = experiment.Lower // amounts are signed already: more is a cost
	}
	if from.paired && to.paired {
		return contrast.Data{Metric: m, Baseline: from.factors(), Treated: to.factors()}, nil
	}
	d := contrast.Data{Metric: m, Baseline: from.smaller(), Treated: to.smaller()}
	e := welchSum(from, to, r)
	e.Spread = [2]float64{from.spread(), to.spread()}
	e.SD = contrast.Finite(math.Hypot(e.Spread[0], e.Spread[1]) / math.Sqrt2)
	return d, &e
}

// welchSum is (to's arm − to's baseline) − (from's arm − from's baseline).
func welchSum(from, to sides, r contrast.Rules) contrast.Estimate {
	samples := append(from.weighted(-1), to.weighted(1)...)
	v := contrast.View{P: 1, Equiv: 1}
	if e, err := stats.WelchSum(samples, r.Confidence); err == nil {
		v = contrast.View{OK: true, At: e.Interval, P: e.P, Equiv: 1}
		if r.Margin > 0 && from.metric.Scale != experiment.Difference {
			if p, err := stats.EquivalenceWelchSum(samples, r.Margin); err == nil {
				v.Equiv = p
			}
		}
	}
	return contrast.Estimate{Method: MethodWelchSum, Main: v, T: v}
}

// weighted gives the overhead as samples of contrasts.
func (s sides) weighted(weight float64) []stats.Weighted {
	if s.paired {
		return []stats.Weighted{{Weight: weight, Values: s.contrasts}}
	}
	return []stats.Weighted{{Weight: weight, Values: s.scaled(s.arm)}, {Weight: -weight, Values: s.scaled(s.base)}}
}

// scaled puts values on the scale of contrasts.
func (s sides) scaled(values []float64) []float64 {
	one := 1.0
	if s.metric.Scale == experiment.Difference {
		one = 0
	}
	x := make([]float64, len(values))
	for i, v := range values {
		x[i] = contrast.Of(v, one, s.metric)
	}
	return x
}

// smaller is the sample that limits what can be claimed of an overhead.
func (s sides) smaller() []float64 {
	if s.paired {
		return s.factors()
	}
	if len(s.base) < len(s.arm) {
		return s.base
	}
	return s.arm
}

// spread is the deviation that one sample of the smaller size would have if its
// mean were as uncertain as the overhead.
func (s sides) spread() float64 {
	if s.paired {
		return contrast.Deviation(s.contrasts)
	}
	if len(s.base) == 0 || len(s.arm) == 0 {
		return 0
	}
	b, a := contrast.Deviation(s.scaled(s.base)), contrast.Deviation(s.scaled(s.arm))
	n := float64(len(s.smaller()))
	return math.Sqrt(n * (b*b/float64(len(s.base)) + a*a/float64(len(s.arm))))
}
