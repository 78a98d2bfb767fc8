package contrast

import (
	"math"

	"tare/internal/experiment"
	"tare/internal/stats"
)

// Scaled returns the values of both arms on the scale of contrasts: logarithms for a ratio metric, signed
// values for a difference metric. On this scale, the arm is assumed to shift all values by the same amount.
func (d *Data) Scaled() (base, arm []float64) {
	return scaled(d.Baseline, d.Metric), scaled(d.Treated, d.Metric)
}

func scaled(values []float64, m experiment.Metric) []float64 {
	x := make([]float64, len(values))
	for i, v := range values {
		x[i] = Scaled(v, m)
	}
	return x
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

// twoSamples estimates the shift from one independent sample to another. It uses ranks and Welch's t
// together if the values allow both, otherwise the one that they allow.
func (r Rules) twoSamples(base, arm []float64) Estimate {
	e := Estimate{}.spreads(Deviation(base), Deviation(arm))
	e.T = r.view(stats.WelchT(base, arm, r.Confidence))
	rank := r.view(stats.RankSum(base, arm, r.Confidence))
	switch {
	case rank.OK && e.T.OK:
		e.Method, e.Main = MethodTwoSample, hull(rank, e.T)
	case rank.OK:
		e.Method, e.Main = methodRankSum, rank
	default:
		e.Method, e.Main = MethodWelch, e.T
	}
	return e
}

// spreads sets the standard deviations of both arms, and their root mean square.
func (e Estimate) spreads(base, arm float64) Estimate {
	e.Spread, e.SD = [2]float64{base, arm}, Finite(math.Hypot(base, arm)/math.Sqrt2)
	return e
}

// Middle returns the contrast that is shown if no estimate is possible: the median contrast of pairs, or
// the contrast of the medians of two samples. It is 0 without values.
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

// LeastP returns the smallest two-sided p-value that the rank test can give for data of this size, whatever
// the values. Pairs that all have the same sign give this p-value, and so do two samples that do not
// overlap. A claim at a smaller significance level is impossible.
func (r Rules) LeastP(d *Data) float64 {
	if d.errs != nil {
		return 0 // the method does not use ranks
	}
	if !d.Paired {
		return stats.RankSumLeast(len(d.Baseline), len(d.Treated))
	}
	contrasts, deltas, _ := d.Units()
	pairs, triples := len(contrasts), 0
	for _, a := range deltas {
		if !math.IsNaN(a) {
			pairs, triples = pairs-1, triples+1
		}
	}
	if least := stats.AlignedRankLeast(pairs+triples, 0); !enough(least, r.Alpha) {
		return r.TwoSided(least) // so few rounds cannot show that the control differs from the baseline, so the control takes no part
	}
	return r.TwoSided(stats.AlignedRankLeast(pairs, triples))
}

// enough reports whether the smallest possible p-value allows a claim at a significance level.
func enough(least, level float64) bool { return least <= level*(1+1e-9) }

// mostFewest is the largest number that Fewest returns.
const mostFewest = 1000

// Fewest returns the smallest number of pairs, or of values in each of two samples, with which the rank
// test can give a two-sided p-value of alpha.
func Fewest(paired bool, alpha float64) int {
	return fewest(func(n int) bool {
		if paired {
			return enough(stats.AlignedRankLeast(n, 0), alpha)
		}
		return enough(stats.RankSumLeast(n, n), alpha)
	})
}

// Fewest returns the smallest number of pairs or values for alpha divided by the family, the number of
// hypotheses that share alpha. With controlled set, pairs compare the arm with baseline and control
// together.
func (r Rules) Fewest(paired, controlled bool, family int) int {
	if !controlled {
		return Fewest(paired, r.Alpha/float64(family))
	}
	return max(Fewest(true, r.Alpha), fewest(func(n int) bool {
		controlled := n
		if r.controlled != nil {
			controlled = r.controlled(n)
		}
		return enough(stats.AlignedRankLeast(n-controlled, controlled), r.Alpha/float64(family))
	}))
}

func fewest(allows func(n int) bool) int {
	for n := 1; n < mostFewest; n++ {
		if allows(n) {
			return n
		}
	}
	return mostFewest
}
