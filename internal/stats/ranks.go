package stats

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// midRanks ranks x from 1. Equal values share the mean of their ranks. The result ties is the sum of t³-t over the
// groups of t equal values: 0 means no ties.
func midRanks(x []float64) (ranks []float64, ties float64) {
	order := ascending(x)
	ranks = make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			ranks[at] = float64(i+j+1) / 2
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}

// ascending returns the indices of values from the smallest to the largest. Equal values keep their order.
func ascending(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return order
}

func sortedCopy(x []float64) []float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return s
}

// rankNull is the null distribution of a sum of ranks.
type rankNull struct {
	cdf      []float64 // distribution function from 0; nil: the distribution is taken as normal
	mean, sd float64   // of the normal distribution
}

// depth returns the largest k with P(T ≤ k-1) ≤ alpha/2; 0: no k fulfils this. The interval at the level alpha
// reaches from the k-th smallest to the k-th largest of the values that the statistic counts.
func (r rankNull) depth(alpha float64) (k int) {
	level := alpha / 2 * (1 + 1e-12) // 1-0.95 is slightly larger than 0.05
	if r.cdf == nil {
		return max(0, 1+int(math.Floor(r.mean+r.sd*distuv.UnitNormal.Quantile(level)-0.5)))
	}
	for k < len(r.cdf) && r.cdf[k] <= level {
		k++
	}
	return k
}

// level returns the attained significance level of the discrete test at a nominal level; 0: no claim is possible.
func (r rankNull) level(alpha float64) float64 {
	switch depth := r.depth(alpha); {
	case depth < 1:
		return 0
	case r.cdf == nil:
		return alpha
	default:
		return 2 * r.cdf[depth-1]
	}
}

// cumulated returns the distribution function of probabilities. The function is computed once per key.
func cumulated[K comparable](known *sync.Map, key K, probabilities func() []float64) []float64 {
	if cdf, ok := known.Load(key); ok {
		return cdf.([]float64)
	}
	p := probabilities()
	for k := 1; k < len(p); k++ {
		p[k] += p[k-1]
	}
	known.Store(key, p)
	return p
}
