package stats

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// midRanks ranks x from 1. Equal values share the mean of their ranks. ties is the sum of t³-t over the groups of t
// equal values.
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

// rankNull is the distribution of a sum of ranks if there is no effect.
type rankNull struct {
	cdf      []float64 // cdf[k] is P(T ≤ k), for k = 0, 1, …; nil: T is taken as normal
	mean, sd float64   // mean and standard deviation of the normal distribution
}

// depth returns the largest k with P(T ≤ k-1) ≤ alpha/2, or 0. The interval reaches from the k-th smallest to the k-th
// largest counted value.
func (r rankNull) depth(alpha float64) (k int) {
	level := alpha / 2 * (1 + 1e-12) // as a float64, 1-0.95 is slightly larger than 0.05
	if r.cdf == nil {
		return max(0, 1+int(math.Floor(r.mean+r.sd*mathext.NormalQuantile(level)-0.5)))
	}
	for k < len(r.cdf) && r.cdf[k] <= level {
		k++
	}
	return k
}

// level returns the largest significance level up to alpha that the discrete test attains; 0: no claim is possible.
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

var nullCDFs sync.Map // cache: kind and sizes of a distribution → distribution function

// cumulated sums up probabilities to a distribution function. It caches the result under the key, so that probabilities
// is called only once per key.
func cumulated(key any, probabilities func() []float64) []float64 {
	if cdf, ok := nullCDFs.Load(key); ok {
		return cdf.([]float64)
	}
	p := probabilities()
	for k := 1; k < len(p); k++ {
		p[k] += p[k-1]
	}
	nullCDFs.Store(key, p)
	return p
}

// combinations is a multiset too large for memory, such as all Walsh averages of a sample. Methods take time in
// proportion to the sample.
type combinations interface {
	size() int
	bounds() (least, most float64)
	atMost(v float64) int
	// between returns the members of the set that are larger than a and at most b, in any order.
	between(a, b float64) []float64
}

// kthSmallest returns the k-th smallest member, counted from 1. Interpolation (some ten counts) and bisection (at most
// 64) take turns.
func kthSmallest(k int, members combinations) float64 {
	least, most := members.bounds()
	low, high := ordinal(least)-1, ordinal(most)                 // low < k-th member ≤ high
	atLow, atHigh := 0, members.size()                           // how many members are ≤ low, and how many are ≤ high
	listed := min(2048, int(math.Sqrt(float64(members.size())))) // this many members at most are sorted, which takes about as many steps as one count
	for step := 0; high-low > 1; step++ {
		if atLow > 0 && atHigh < members.size() && atHigh-atLow <= listed {
			last := members.between(fromOrdinal(low), fromOrdinal(high))
			slices.Sort(last)
			return last[k-atLow-1] + 0 // adding 0 turns -0 into 0
		}
		mid := low + (high-low)/2
		if step%3 != 2 {
			mid = interpolated(k, atLow, atHigh, listed/3, low, high)
		}
		if count := members.atMost(fromOrdinal(mid)); count >= k {
			high, atHigh = mid, count
		} else {
			low, atLow = mid, count
		}
	}
	return fromOrdinal(high) + 0
}

// rankEstimate returns an estimate with the interval from the k-th smallest to the k-th largest member. tails gives
// both tail probabilities.
func rankEstimate(members combinations, k, n int, tails func(shift float64) (lower, upper float64)) Estimate {
	at := Interval{Point: medianOf(members), Lo: kthSmallest(k, members), Hi: kthSmallest(members.size()+1-k, members)}
	return Estimate{Interval: at, P: twoSided(tails(0)), N: n, equivalence: bothTails(tails)}
}

// interpolated guesses where the k-th member lies between low and high. The guess is moved by aim members to the
// farther bound, so that both come close.
func interpolated(k, atLow, atHigh, aim int, low, high uint64) uint64 {
	if k-atLow > atHigh-k {
		aim = -aim
	}
	share := min(1, max(0, float64(k-atLow+aim)/float64(atHigh-atLow)))
	mid := ordinal(fromOrdinal(low)*(1-share) + fromOrdinal(high)*share)
	return min(high-1, max(low+1, mid))
}

func medianOf(members combinations) float64 {
	size := members.size()
	lower := kthSmallest((size+1)/2, members)
	if size%2 == 1 || members.atMost(lower) > size/2 {
		return lower
	}
	return lower/2 + kthSmallest(size/2+1, members)/2
}

// ordinal maps a float64 to an integer and keeps the order of values.
func ordinal(v float64) uint64 {
	bits := math.Float64bits(v)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

func fromOrdinal(o uint64) float64 {
	if o>>63 == 1 {
		return math.Float64frombits(o &^ (1 << 63))
	}
	return math.Float64frombits(^o)
}
