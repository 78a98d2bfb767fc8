package contrast

import (
	"math"

	"tare/experiment"
	"tare/stats"
)

// samples gives the values of both arms on the scale on which they are taken to
// differ by a shift, the contrast: logarithms for a ratio metric, signed values
// for a difference metric.
func (d *Data) samples() (base, arm []float64) {
	return scaled(d.Baseline, d.Metric), scaled(d.Treated, d.Metric)
}

func scaled(values []float64, m experiment.Metric) []float64 {
	x := make([]float64, len(values))
	for i, v := range values {
		switch {
		case m.Scale != experiment.Difference:
			x[i] = math.Log(v)
		case m.Better == experiment.Higher:
			x[i] = min(max(-v, -largest), largest)
		default:
			x[i] = min(max(v, -largest), largest)
		}
	}
	return x
}

// twoSamples estimates the shift from one independent sample to another: by ranks
// and by Welch's t together where the sizes allow both, by t alone below that.
func (r Rules) twoSamples(base, arm []float64, m experiment.Metric) Estimate {
	e := Estimate{}.spreads(Deviation(base), Deviation(arm))
	byT, err := stats.WelchT(base, arm, r.Confidence)
	e.T = r.seen(m, byT, err, func() (float64, error) { return stats.EquivalenceWelch(base, arm, r.Margin) })
	byRanks, err := stats.RankSum(base, arm, r.Confidence)
	rank := r.seen(m, byRanks, err, func() (float64, error) { return stats.EquivalenceRankSum(base, arm, r.Margin) })
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
	base, arm := d.samples()
	return stats.Median(arm) - stats.Median(base)
}

// LeastP is the smallest two-sided p that the rank test of the data can give,
// whatever the values: that of pairs which all have one sign, or of samples of
// which one lies all above the other. A claim at a smaller level is impossible.
func (d *Data) LeastP() float64 {
	if d.Paired {
		return leastOfPairs(len(d.Contrasts))
	}
	return stats.RankSumLeast(len(d.Baseline), len(d.Treated))
}

func leastOfPairs(n int) float64 { return math.Min(1, math.Exp2(1-float64(n))) }

// mostFewest is the largest number that Fewest gives.
const mostFewest = 1000

// Fewest is the smallest number of pairs, or of values of each of two samples, at
// which the rank test can give a two-sided p of alpha at all.
func Fewest(paired bool, alpha float64) int {
	n := 1
	for ; n < mostFewest; n++ {
		least := leastOfPairs(n)
		if !paired {
			least = stats.RankSumLeast(n, n)
		}
		if least <= alpha*(1+1e-9) {
			break
		}
	}
	return n
}
