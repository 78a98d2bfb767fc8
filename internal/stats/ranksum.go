package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

const (
	maxExactRankSum     = 50 // largest size of either sample for which the interval and a P without ties are exact
	maxExactRankSumTied = 50 // largest size of both samples together for which a P with ties is exact
)

// RankSum estimates the shift of y above x, two independent samples that differ only by a shift. The point is the
// Hodges–Lehmann shift: the median of all differences y[j]-x[i]. The interval comes from the exact null distribution of
// Mann and Whitney's U (Hollander, Wolfe & Chicken, 3rd ed., section 4.3). Its confidence is at least the requested
// one. P is two-sided. Samples that are too small give ErrTooFew (at 95 %, 4 and 4 values are enough, or 3 and 5).
//
// P is exact if each sample has up to 50 values or, with ties, both together. With ties, the interval then contains the
// true shift more often than requested. Larger samples use the normal approximation with continuity correction and
// tie-corrected variance.
func RankSum(x, y []float64, confidence float64) (Estimate, error) {
	const name = "rank sum"
	if err := cmp.Or(checkConfidence(name, confidence), checkSamples(name, x, y, 0)); err != nil {
		return Estimate{}, err
	}
	m, n := len(x), len(y)
	k := 0
	if m > 0 && n > 0 {
		k = rankSumNull(m, n).depth(1 - confidence)
	}
	if k < 1 {
		return Estimate{}, fmt.Errorf("%s: samples of %d and %d allow no interval at %g %%: %w",
			name, m, n, 100*confidence, ErrTooFew)
	}
	all := differences{sortedCopy(x), sortedCopy(y)}
	tails := func(shift float64) (lower, upper float64) { return rankSumTails(all.x, Shifted(all.y, shift)) }
	return rankEstimate(all, k, m+n, tails), nil
}

// differences is the multiset of all y[j]-x[i] of two sorted samples.
type differences struct{ x, y []float64 }

func (d differences) size() int { return len(d.x) * len(d.y) }

func (d differences) bounds() (least, most float64) {
	return d.y[0] - d.x[len(d.x)-1], d.y[len(d.y)-1] - d.x[0]
}

func (d differences) atMost(v float64) int {
	count, j := 0, 0
	for _, low := range d.x { // as x grows, the number of y with y - x ≤ v never falls, so j only grows
		for j < len(d.y) && d.y[j]-low <= v {
			j++
		}
		count += j
	}
	return count
}

func (d differences) between(a, b float64) (members []float64) {
	from := 0
	for _, low := range d.x {
		for from < len(d.y) && d.y[from]-low <= a {
			from++
		}
		for j := from; j < len(d.y) && d.y[j]-low <= b; j++ {
			members = append(members, d.y[j]-low)
		}
	}
	return members
}

// rankSumNull returns the null distribution of U for samples of m and n values.
func rankSumNull(m, n int) rankNull {
	if m > maxExactRankSum || n > maxExactRankSum {
		fm, fn := float64(m), float64(n)
		return rankNull{mean: fm * fn / 2, sd: math.Sqrt(fm * fn * (fm + fn + 1) / 12)}
	}
	return rankNull{cdf: rankSumCDF(m, n)}
}

// rankSumTails returns P(U ≤ u) and P(U ≥ u) for sorted x and y of one distribution. U counts pairs with y above x;
// equal values count half.
func rankSumTails(x, y []float64) (lower, upper float64) {
	m, n := len(x), len(y)
	u, ties := pairsAbove(x, y)
	switch {
	case ties == 0 && m <= maxExactRankSum && n <= maxExactRankSum:
		cdf := rankSumCDF(m, n)
		return cdf[int(u)], cdf[m*n-int(u)]
	case m+n <= maxExactRankSumTied:
		ranks, _ := midRanks(slices.Concat(x, y))
		return drawnSumTails(ranks, n, u+float64(n)*float64(n+1)/2)
	}
	return rankSumNormalTails(m, n, u, ties)
}

// pairsAbove returns U of sorted samples: the number of pairs with y above x. ties is the sum of t³-t over the groups
// of t equal values.
func pairsAbove(x, y []float64) (u, ties float64) {
	for i, j := 0, 0; i < len(x) || j < len(y); {
		v := math.Inf(1)
		if i < len(x) {
			v = x[i]
		}
		if j < len(y) {
			v = min(v, y[j])
		}
		fromX, fromY := i, j
		for i < len(x) && x[i] == v {
			i++
		}
		for j < len(y) && y[j] == v {
			j++
		}
		u += float64(j-fromY) * float64(fromX+i) / 2
		t := float64(i - fromX + j - fromY)
		ties += t*t*t - t
	}
	return u, ties
}

func rankSumNormalTails(m, n int, u, ties float64) (lower, upper float64) {
	fm, fn := float64(m), float64(n)
	total := fm + fn
	variance := fm * fn / 12 * (total + 1 - ties/(total*(total-1)))
	if variance <= 0 {
		return 1, 1 // all values are equal
	}
	return normalTails(u, fm*fn/2, math.Sqrt(variance))
}

// rankSumCDF returns P(U ≤ u) for u = 0 … mn, for m values of x and n of y (Mann and Whitney's recurrence).
func rankSumCDF(m, n int) []float64 {
	return cumulated([3]any{"rank sum", m, n}, func() []float64 {
		row := make([][]float64, n+1) // row[j]: distribution of U for i values of x and j values of y
		for j := range row {
			row[j] = []float64{1}
		}
		for i := 1; i <= m; i++ {
			for j := 1; j <= n; j++ {
				fromX, fromY := float64(i)/float64(i+j), float64(j)/float64(i+j)
				p := make([]float64, i*j+1)
				for u, q := range row[j] {
					p[u] += fromX * q
				}
				for u, q := range row[j-1] {
					p[u+i] += fromY * q
				}
				row[j] = p
			}
		}
		return row[n]
	})
}

// drawnSumTails returns P(S ≤ sum) and P(S ≥ sum) for the sum S of n random mid-ranks. Float64 holds the numbers of
// draws exactly.
func drawnSumTails(ranks []float64, n int, sum float64) (lower, upper float64) {
	total := 0
	for _, r := range ranks {
		total += int(2 * r)
	}
	ways := make([][]float64, n+1) // ways[j][s]: number of ways to draw j mid-ranks with a doubled sum of s
	for j := range ways {
		ways[j] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		w := int(2 * r)
		for j := n; j >= 1; j-- {
			for s := total; s >= w; s-- {
				ways[j][s] += ways[j-1][s-w]
			}
		}
	}
	at, all := int(2*sum), floats.Sum(ways[n])
	return floats.Sum(ways[n][:at+1]) / all, floats.Sum(ways[n][at:]) / all
}
