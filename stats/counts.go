package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/stat/distuv"
)

// ClopperPearson is the exact interval of a share of which k of n were seen: the
// shares that a binomial test at the level of either side does not reject (Clopper
// and Pearson 1934). It holds the true share at least as often as asked, mostly more
// often. Without any value, n of 0, it is everything from 0 to 1.
func ClopperPearson(k, n int, confidence float64) (Interval, error) {
	const name = "Clopper–Pearson interval"
	if err := checkConfidence(name, confidence); err != nil {
		return Interval{}, err
	}
	if k < 0 || k > n {
		return Interval{}, fmt.Errorf("%s: %d of %d: %w", name, k, n, ErrArgument)
	}
	if n == 0 {
		return Interval{Hi: 1}, nil
	}
	i := Interval{Point: float64(k) / float64(n), Hi: 1}
	tail := (1 - confidence) / 2
	if k > 0 {
		i.Lo = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(tail)
	}
	if k < n {
		i.Hi = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(1 - tail)
	}
	return i, nil
}

// FisherExact is the two-sided p of "a of m and b of n are drawn with the same
// chance" by Fisher's exact test: given how many there are in all, the chance of
// every table that is no more likely than the one seen (as R's fisher.test has it).
// It is exact for any size, and holds less often than its level where there are few.
func FisherExact(a, m, b, n int) (p float64, err error) {
	if a < 0 || a > m || b < 0 || b > n {
		return 0, fmt.Errorf("Fisher's exact test: %d of %d and %d of %d: %w", a, m, b, n, ErrArgument)
	}
	return fisher(a, a+b, m, n), nil
}

// FisherLeast is the smallest p that FisherExact can give for samples of m and n of
// which total are drawn in all. A hypothesis for which that is over the level cannot
// be rejected whatever is seen, and need not be counted among those tested together
// (Tarone 1990), since the total is known without looking at who had how many.
func FisherLeast(total, m, n int) float64 {
	if total < 0 || total > m+n {
		return 1
	}
	return min(fisher(max(0, total-n), total, m, n), fisher(min(m, total), total, m, n))
}

// fisher is the p of a of the m where total of the m + n are drawn.
func fisher(a, total, m, n int) float64 {
	d := stats.HypergeometicDist{N: m + n, K: total, Draws: m}
	const alike = 1 + 1e-7 // probabilities that are the same but for rounding, as in R
	seen := d.PMF(float64(a)) * alike
	p := 0.0
	for k := max(0, total-n); k <= min(m, total); k++ {
		if one := d.PMF(float64(k)); one <= seen {
			p += one
		}
	}
	return math.Min(1, p)
}

// DealtCounts is the two-sided p of "who has which count of a block is chance": the first count of each block is
// that of the arm, and each of the block could as well have been. It is the chance that all blocks, dealt
// out anew, put the arm's sum as far from its expectation.
func DealtCounts(blocks [][]int) float64 {
	chance := []float64{1} // by the arm's sum
	expected, seen := 0.0, 0
	for _, counts := range blocks {
		next, each := make([]float64, len(chance)+slices.Max(counts)), 1/float64(len(counts))
		for _, count := range counts {
			expected += float64(count) * each
			for sum, p := range chance {
				next[sum+count] += p * each
			}
		}
		chance, seen = next, seen+counts[0]
	}
	p, far := 0.0, math.Abs(float64(seen)-expected)
	for sum, one := range chance {
		if math.Abs(float64(sum)-expected) >= far-1e-9 {
			p += one
		}
	}
	return math.Min(1, p)
}
