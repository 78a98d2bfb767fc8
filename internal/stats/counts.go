package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/mathext"
)

// ClopperPearson returns the exact interval of a share, given k of n (Clopper and Pearson 1934): at least the requested
// confidence. n = 0 gives 0 to 1.
func ClopperPearson(k, n int, confidence float64) (Interval, error) {
	const name = "Clopper–Pearson interval"
	if err := checkConfidence(name, confidence); err != nil {
		return Interval{}, err
	}
	if k < 0 || k > n {
		return Interval{}, fmt.Errorf("%s: %d of %d: %w", name, k, n, errArgument)
	}
	if n == 0 {
		return Interval{Hi: 1}, nil
	}
	i := Interval{Point: float64(k) / float64(n), Hi: 1}
	tail := (1 - confidence) / 2
	if k > 0 {
		i.Lo = mathext.InvRegIncBeta(float64(k), float64(n-k+1), tail)
	}
	if k < n {
		i.Hi = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-tail)
	}
	return i, nil
}

// FisherExact returns the two-sided p-value of "a of m and b of n have equal chances". As R's fisher.test, it sums the
// tables at most as likely as the observed one. Impossible counts give NaN.
func FisherExact(a, m, b, n int) (p float64) {
	if a < 0 || a > m || b < 0 || b > n {
		return math.NaN()
	}
	d := stats.HypergeometicDist{N: m + n, K: a + b, Draws: m}
	const alike = 1 + 1e-7 // probabilities whose ratio is at most this count as equal, because of rounding; as in R
	seen := d.PMF(float64(a)) * alike
	for k := max(0, a+b-n); k <= min(m, a+b); k++ {
		if one := d.PMF(float64(k)); one <= seen {
			p += one
		}
	}
	return math.Min(1, p)
}

// FisherLeast returns the smallest p-value of FisherExact with this total count in samples of m and n. If it is above
// the level, a correction may drop the test (Tarone 1990).
func FisherLeast(total, m, n int) float64 {
	if total < 0 || total > m+n {
		return 1
	}
	low, high := max(0, total-n), min(m, total)
	return min(FisherExact(low, m, total-low, n), FisherExact(high, m, total-high, n))
}

// PermutedCounts returns the two-sided p-value of "counts fall on arms by chance". Counts are permuted within blocks.
// The first of each block is the arm's.
func PermutedCounts(blocks [][]int) float64 {
	chance := []float64{1} // chance[s]: probability that the arm's sum is s
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
