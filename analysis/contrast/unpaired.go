package contrast

import (
	"math"

	"tare/experiment"
	"tare/stats"
)

// Scaled gives the values of both arms on the scale on which they are taken to
// differ by a shift, the contrast: logarithms for a ratio metric, signed values
// for a difference metric.
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

// Scaled is a value on the scale of contrasts.
func Scaled(v float64, m experiment.Metric) float64 {
	switch {
	case m.Scale != experiment.Difference:
		return math.Log(v)
	case m.Better == experiment.Higher:
		return Bounded(-v)
	}
	return Bounded(v)
}

// twoSamples estimates the shift from one independent sample to another: by ranks
// and by Welch's t together where the sizes allow both, by t alone below that.
func (r Rules) twoSamples(base, arm []float64) Estimate {
	e := Estimate{}.spreads(Deviation(base), Deviation(arm))
	e.T = r.seen(stats.WelchT(base, arm, r.Confidence))
	rank := r.seen(stats.RankSum(base, arm, r.Confidence))
	switch {
	case rank.OK && e.T.OK:
		e.Method, e.Main = MethodTwoSample, hull(rank, e.T)
	case rank.OK:
		e.Method, e.Main = MethodRankSum, rank
	default:
		e.Method, e.Main = MethodWelch, e.T
	}
	return e
}

// spreads sets the deviations of both arms, and what follows from them.
func (e Estimate) spreads(base, arm float64) Estimate {
	e.Spread, e.SD = [2]float64{base, arm}, Finite(math.Hypot(base, arm)/math.Sqrt2)
	return e
}

// Middle is the contrast that stands where there is no estimate: the median one
// of pairs, or that of the medians of two samples. It is 0 without values.
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

// LeastP is the smallest two-sided p that the rank test of the data can give,
// whatever the values: that of pairs which all have one sign, or of samples of
// which one lies all above the other. A claim at a smaller level is impossible.
func (r Rules) LeastP(d *Data) float64 {
	if d.errs != nil {
		return 0 // no ranks
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
		return r.TwoSided(least) // the control cannot be shown to differ: it takes no part
	}
	return r.TwoSided(stats.AlignedRankLeast(pairs, triples))
}

// enough says whether a claim at a level is possible with that least p.
func enough(least, level float64) bool { return least <= level*(1+1e-9) }

// mostFewest is the largest number that Fewest gives.
const mostFewest = 1000

// Fewest is the smallest number of pairs, or of values of each of two samples, at
// which the rank test can give a two-sided p of alpha at all.
func Fewest(paired bool, alpha float64) int {
	return fewest(func(n int) bool {
		if paired {
			return enough(stats.AlignedRankLeast(n, 0), alpha)
		}
		return enough(stats.RankSumLeast(n, n), alpha)
	})
}

// Fewest is the same at alpha over the number of hypotheses that share it; controlled says that baseline and control
// are the reference of pairs together.
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
