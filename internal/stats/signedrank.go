package stats

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

const (
	maxExactSignedRank     = 200 // largest n with an exact interval, and with an exact P if there are no ties
	maxExactSignedRankTied = 100 // largest n for which a P with ties or zeros is exact
)

// SignedRank estimates the centre of symmetry of d, usually one difference or log ratio per round. The point is the
// Hodges–Lehmann estimate: the median of all Walsh averages (d[i]+d[j])/2, i ≤ j. The interval comes from the exact
// null
// distribution of Wilcoxon's signed-rank statistic (Hollander, Wolfe & Chicken, 3rd ed., section 3.3). Its confidence
// is at least the requested one. The test needs symmetry but not normality. A 95 % interval needs at least 6 values, a
// 99 % interval 8; fewer values give ErrTooFew.
//
// P is two-sided, and exact with mid-ranks for equal magnitudes. Zeros are ranked and then dropped (Pratt 1959). The
// interval is not corrected for zeros and ties, so it may contain 0 although P is just below 1 - confidence. For n
// above
// 200 (for P with ties or zeros: 100), SignedRank uses the normal approximation with continuity correction.
func SignedRank(d []float64, confidence float64) (Estimate, error) {
	const name = "signed rank"
	if err := checkPairs(name, d, confidence); err != nil {
		return Estimate{}, err
	}
	tails := func(shift float64) (lower, upper float64) { return signedRankTails(Shifted(d, shift)) }
	return rankEstimate(walshAverages(sortedCopy(d)), signedRankNull(len(d)).depth(1-confidence), len(d), tails), nil
}

func checkPairs(name string, d []float64, confidence float64) error {
	if err := cmp.Or(checkConfidence(name, confidence), checkFinite(name, d)); err != nil {
		return err
	}
	if least := LeastSignedRank(1 - confidence); len(d) < least {
		return fmt.Errorf("%s: %d values, at least %d needed at %g %%: %w", name, len(d), least, 100*confidence, ErrTooFew)
	}
	return nil
}

// walshAverages is the multiset of all (s[i]+s[j])/2, i ≤ j, of a sorted sample.
type walshAverages []float64

func (s walshAverages) size() int                     { return len(s) * (len(s) + 1) / 2 }
func (s walshAverages) bounds() (least, most float64) { return s[0], s[len(s)-1] }

func (s walshAverages) atMost(v float64) int {
	count, j := 0, len(s)-1
	for i := range s {
		for j >= i && s[i]/2+s[j]/2 > v {
			j--
		}
		if j < i {
			break
		}
		count += j - i + 1
	}
	return count
}

func (s walshAverages) between(a, b float64) (members []float64) {
	last := len(s) - 1
	for i := range s {
		for last >= i && s[i]/2+s[last]/2 > b {
			last--
		}
		for j := last; j >= i && s[i]/2+s[j]/2 > a; j-- {
			members = append(members, s[i]/2+s[j]/2)
		}
	}
	return members
}

// signedRankNull returns the null distribution of the sum of the positive values' ranks among n values.
func signedRankNull(n int) rankNull {
	if n > maxExactSignedRank {
		f := float64(n)
		return rankNull{mean: f * (f + 1) / 4, sd: math.Sqrt(f * (f + 1) * (2*f + 1) / 24)}
	}
	return rankNull{cdf: signedRankCDF(n)}
}

// LeastSignedRank returns the smallest n that allows an interval with a confidence of 1 - alpha: 2·2⁻ⁿ ≤ alpha.
func LeastSignedRank(alpha float64) int {
	return int(math.Ceil(1 - math.Log2(alpha) - 1e-12))
}

// signedRankTails returns P(T ≤ t) and P(T ≥ t) under symmetry about 0. T is the sum of the ranks of the positive
// values, and t its value in d.
func signedRankTails(d []float64) (lower, upper float64) {
	all, ties := midRanks(Mapped(d, math.Abs))
	ranks := all[:0]
	t := 0.0
	for i, v := range d {
		if v > 0 {
			t += all[i]
		}
		if v != 0 {
			ranks = append(ranks, all[i]) // overwrites only those ranks that were read already
		}
	}
	n := len(ranks)
	plain := ties == 0 && n == len(d)
	switch {
	case n == 0:
		return 1, 1
	case plain && n <= maxExactSignedRank:
		cdf := signedRankCDF(n)
		return cdf[int(t)], cdf[len(cdf)-1-int(t)] // P(T ≥ t) follows from the symmetry of the distribution
	case n <= maxExactSignedRankTied:
		return subsetSumTails(ranks, t)
	}
	var mean, variance float64
	for _, r := range ranks {
		mean += r / 2
		variance += r * r / 4
	}
	return normalTails(t, mean, math.Sqrt(variance))
}

// signedRankCDF returns P(T ≤ t) for t = 0 … n(n+1)/2, computed once for every n.
func signedRankCDF(n int) []float64 {
	return cumulated([2]any{"signed rank", n}, func() []float64 {
		ranks := make([]int, n)
		for i := range ranks {
			ranks[i] = i + 1
		}
		return subsetSumProbabilities(ranks)
	})
}

// subsetSumTails returns P(S ≤ t) and P(S ≥ t) for the sum S of a random subset of the mid-ranks.
func subsetSumTails(ranks []float64, t float64) (lower, upper float64) {
	doubled := make([]int, len(ranks))
	for i, r := range ranks {
		doubled[i] = int(2 * r)
	}
	for s, p := range subsetSumProbabilities(doubled) {
		if s <= int(2*t) {
			lower += p
		}
		if s >= int(2*t) {
			upper += p
		}
	}
	return min(1, lower), min(1, upper)
}

// subsetSumProbabilities returns the distribution of the sum of a subset that contains each weight with probability
// ½.
func subsetSumProbabilities(weights []int) []float64 {
	p := []float64{1}
	for _, w := range weights {
		p = append(p, make([]float64, w)...)
		for s := len(p) - 1; s >= 0; s-- {
			p[s] /= 2
			if s >= w {
				p[s] += p[s-w] / 2
			}
		}
	}
	return p
}

// normalTails returns the tails of a statistic on a grid of step 1 (or ½ with ties), by the normal approximation with
// continuity correction.
func normalTails(t, mean, sd float64) (lower, upper float64) {
	return normalCDF((t + 0.5 - mean) / sd), normalCDF((mean - t + 0.5) / sd)
}

func twoSided(lower, upper float64) float64 { return min(1, 2*min(lower, upper)) }

const (
	signFlips   = 1999 // number of random subsets that SignFlip uses if there are too many to use all
	mostSubsets = 11   // largest number of values with which SignFlip uses all subsets, not a random choice
)

// SignFlip estimates the mean of d, usually one difference per round, if the noise is symmetric. The test of Fisher
// (1935)
// flips the signs of values. The bounds of the interval are means of random subsets (Hartigan 1969, "Using subsample
// values as typical values", Journal of the American Statistical Association 64). SignFlip suits counts: if most
// differences are zero, ranks lose most of the information.
//
// SignFlip needs as many values as [SignedRank]. P is two-sided. With more than 11 values, P comes from 1,999 random
// subsets, which are the same for all samples of one size.
func SignFlip(d []float64, confidence float64) (Estimate, error) {
	const name = "sign flip"
	if err := checkPairs(name, d, confidence); err != nil {
		return Estimate{}, err
	}
	means := subsetMeans(d)
	tail := (1 - confidence) / 2 * (1 + 1e-12)
	k := int(tail * float64(len(means)+1))
	if k < 1 {
		return Estimate{}, fmt.Errorf("%s: %d subsets give no interval of %g %%: %w", name, len(means), 100*confidence, ErrTooFew)
	}
	e := Estimate{Interval: Interval{Point: floats.Sum(d) / float64(len(d)), Lo: means[k-1], Hi: means[len(means)-k]}, N: len(d)}
	e.Lo, e.Hi = min(e.Lo, e.Point), max(e.Hi, e.Point)
	e.P = twoSided(tailAt(means, 0))
	e.equivalence = bothTails(func(shift float64) (lower, upper float64) {
		lower, upper = tailAt(means, -shift)
		return upper, lower
	})
	return e, nil
}

// tailAt returns the share of the sorted subset means that are at most v, and at least v. Both shares count one more
// mean, equal to v.
func tailAt(means []float64, v float64) (lower, upper float64) {
	below, _ := slices.BinarySearch(means, v)
	upTo, _ := slices.BinarySearch(means, math.Nextafter(v, math.Inf(1)))
	all := float64(len(means) + 1)
	return float64(upTo+1) / all, float64(len(means)-below+1) / all
}

// subsetMeans returns the sorted means of all nonempty subsets of x, or of random subsets if x is long.
func subsetMeans(x []float64) []float64 {
	n := len(x)
	var means []float64
	add := func(in func(i int) bool) {
		sum, count := 0.0, 0
		for i, v := range x {
			if in(i) {
				sum, count = sum+v, count+1
			}
		}
		if count > 0 {
			means = append(means, sum/float64(count))
		}
	}
	if n <= mostSubsets {
		for set := range 1 << n {
			add(func(i int) bool { return set>>i&1 == 1 })
		}
	} else {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		for len(means) < signFlips {
			var bits uint64
			add(func(i int) bool {
				if i%64 == 0 {
					bits = rng.Uint64()
				}
				return bits>>(i%64)&1 == 1
			})
		}
	}
	slices.Sort(means)
	return means
}
