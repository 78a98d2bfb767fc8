package stats

import (
	"fmt"
	"math"
	"slices"
)

// Lag1 returns the autocorrelation of x at lag one, as R's acf: about -1/n ± 2/√n for independent values. It is 0 for
// constant x or under 3 values; NaN: x is not finite.
func Lag1(x []float64) float64 {
	if checkFinite("", x) != nil {
		return math.NaN()
	}
	if len(x) < 3 {
		return 0
	}
	mean, sd := meanSD(x)
	if negligible(sd, math.Abs(mean)) {
		return 0
	}
	products := 0.0
	for i := 1; i < len(x); i++ {
		products += (x[i] - mean) * (x[i-1] - mean)
	}
	return products / squares(x, mean)
}

// maxExactOrder is the largest n for which OrderEffect counts all permutations: 8! = 40,320.
const maxExactOrder = 8

// OrderEffect returns the two-sided p-value of "values do not depend on their position in the round", by Spearman's
// rank correlation (4 values at least). In a comparison, a value is the log ratio of a round. Its position is the
// treatment's position in the round minus the baseline's.
//
// The test is exact, since the order of trials is drawn anew in every round. For up to 8 values, all permutations are
// counted. For more values, r·√((n-2)/(1-r²)) is assumed to be t distributed with n-2 degrees of freedom. Positions
// that
// are all the same give ErrConstant; values that are all the same give 1.
func OrderEffect(values []float64, positions []int) (p float64, err error) {
	const name = "order effect"
	if len(values) != len(positions) {
		return 0, fmt.Errorf("%s: %d values but %d positions: %w", name, len(values), len(positions), errArgument)
	}
	if err := checkValues(name, values, 4); err != nil {
		return 0, err
	}
	at := make([]float64, len(positions))
	for i, position := range positions {
		at[i] = float64(position)
	}
	x, tiesX := midRanks(values)
	y, tiesY := midRanks(at)
	n := float64(len(values))
	all := n*n*n - n // the value that tiesX or tiesY has if all values are equal
	if tiesY == all {
		return 0, fmt.Errorf("%s: every position is %d: %w", name, positions[0], ErrConstant)
	}
	if tiesX == all {
		return 1, nil
	}
	if len(values) <= maxExactOrder {
		return permutedProductP(x, y), nil
	}
	sum := 0.0
	for i := range x {
		sum += (x[i] - (n+1)/2) * (y[i] - (n+1)/2)
	}
	r := sum / math.Sqrt((all-tiesX)/12*(all-tiesY)/12)
	least := 2 / math.Gamma(n+1) // smallest p-value that any permutation test can give
	if math.Abs(r) >= 1 {
		return least, nil
	}
	return max(least, min(1, 2*StudentTail(math.Abs(r)*math.Sqrt((n-2)/(1-r*r)), n-2))), nil
}

// permutedProductP returns the share of permutations of y whose sum of products with x is at least as far from the mean
// as the observed sum.
func permutedProductP(x, y []float64) float64 {
	n := len(x)
	var sum, sumX, sumY float64
	for i := range x {
		sum += x[i] * y[i]
		sumX += x[i]
		sumY += y[i]
	}
	mean := sumX * sumY / float64(n)
	const rounding = 1e-9 // products of mid-ranks are multiples of ¼, so only rounding errors are smaller
	observed := math.Abs(sum-mean) - rounding
	extreme, total := 0, 0
	var visit func(i int, partial float64)
	visit = func(i int, partial float64) {
		if i == n {
			total++
			if math.Abs(partial-mean) >= observed {
				extreme++
			}
			return
		}
		for j := i; j < n; j++ {
			y[i], y[j] = y[j], y[i]
			visit(i+1, partial+x[i]*y[i])
			y[i], y[j] = y[j], y[i]
		}
	}
	visit(0, 0)
	return float64(extreme) / float64(total)
}

const (
	maxExactTrend = 50  // largest n for which a P of Trend without ties is exact
	maxTrendPairs = 300 // largest number of values for which the slope uses all pairs; a longer series becomes medians of blocks
)

// Trend tests whether a series, in the order measured, rises or falls all along. P is the two-sided p-value of Mann
// and Kendall's test of "no trend" (Mann 1945; Kendall, Rank Correlation Methods, 4th ed., chapters 4 and 5). The
// slope is Theil and Sen's, the median slope of all pairs, in the values' unit per index (Hollander, Wolfe & Chicken,
// section 9.3). Trend needs at least 4 values; significance at 5 % needs at least 5.
//
// Values must be independent: with positive autocorrelation, slow waves look like trends. P is exact for up to 50
// values
// without ties. Otherwise it is the normal approximation with continuity correction and tie-corrected variance. For
// more
// than 300 values, the slope comes from the medians of at most 300 blocks.
func Trend(x []float64) (slope, p float64, err error) {
	if err := checkValues("trend", x, 4); err != nil {
		return 0, 0, err
	}
	medians, size := blockMedians(x, maxTrendPairs)
	slopes := make([]float64, 0, len(medians)*(len(medians)-1)/2)
	for j := range medians {
		for i := range j {
			slopes = append(slopes, (medians[j]-medians[i])/float64(j-i))
		}
	}
	slices.Sort(slopes)
	return Quantile(slopes, 0.5) / float64(size), mannKendall(x), nil
}

// mannKendall returns the two-sided p-value of "no trend", from the number of rising pairs minus the number of
// falling pairs.
func mannKendall(x []float64) float64 {
	s, ties := kendallScore(x)
	n := len(x)
	pairs := n * (n - 1) / 2
	if ties == 0 && n <= maxExactTrend {
		cdf := inversionCDF(n)
		return twoSided(cdf[(pairs+s)/2], cdf[(pairs-s)/2])
	}
	f := float64(n)
	variance := (f*(f-1)*(2*f+5) - ties) / 18
	if variance <= 0 {
		return 1 // all values are equal
	}
	// halved: the score changes in steps of 2, but the continuity correction expects 1
	return twoSided(normalTails(float64(s)/2, 0, math.Sqrt(variance)/2))
}

// kendallScore returns the number of rising pairs minus the number of falling pairs. ties is the sum of t(t-1)(2t+5)
// over the groups of t equal values.
func kendallScore(x []float64) (score int, ties float64) {
	n := len(x)
	order := ascending(x)
	rank, size := make([]int, n), make([]int, n+1) // ranks from 1; equal values share a rank
	last := 0
	for i, at := range order {
		if i == 0 || x[at] != x[order[i-1]] {
			last++
		}
		rank[at] = last
		size[last]++
	}
	for _, t := range size {
		f := float64(t)
		ties += f * (f - 1) * (2*f + 5)
	}
	tree := make([]int, last+1)
	upTo := func(rank int) (count int) {
		for at := rank; at > 0; at &= at - 1 {
			count += tree[at]
		}
		return count
	}
	for i, r := range rank {
		score += upTo(r-1) - (i - upTo(r))
		for at := r; at <= last; at += at & -at {
			tree[at]++
		}
	}
	return score, ties
}

// inversionCDF returns P(K ≤ k) for each k. K is the number of ascending pairs in a random order of n different values.
func inversionCDF(n int) []float64 {
	return cumulated([2]any{"inversions", n}, func() []float64 {
		p := []float64{1}
		for i := 2; i <= n; i++ {
			next := make([]float64, len(p)+i-1)
			for k, q := range p {
				for j := range i {
					next[k+j] += q / float64(i)
				}
			}
			p = next
		}
		return p
	})
}
