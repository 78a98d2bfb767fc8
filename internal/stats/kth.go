package stats

import (
	"math"
	"slices"
)

// combinations is a multiset too large to hold in memory: all differences between two samples, or all Walsh averages
// of one sample. Each method takes time linear in the size of the samples.
type combinations interface {
	size() int
	bounds() (least, most float64)
	atMost(v float64) int
	// between returns the members above a and up to b, in any order.
	between(a, b float64) []float64
}

// kthSmallest returns the k-th smallest member, from 1. Two methods narrow the bounds in turn. Interpolation between
// the numbers of members up to each bound needs some ten counts if the members are evenly spread. Bisection over the
// float64 numbers between the bounds ends at the exact member after at most 64 counts.
func kthSmallest(k int, members combinations) float64 {
	least, most := members.bounds()
	below, above := ordinal(least)-1, ordinal(most)              // below < k-th member ≤ above
	few, enough := 0, members.size()                             // numbers of members up to below, and up to above
	listed := min(2048, int(math.Sqrt(float64(members.size())))) // largest number of members that are sorted: one count takes as many steps
	for step := 0; above-below > 1; step++ {
		if few > 0 && enough < members.size() && enough-few <= listed {
			last := members.between(fromOrdinal(below), fromOrdinal(above))
			slices.Sort(last)
			return last[k-few-1] + 0 // 0 instead of -0
		}
		mid := below + (above-below)/2
		if step%3 != 2 {
			mid = interpolated(k, few, enough, listed/3, below, above)
		}
		if count := members.atMost(fromOrdinal(mid)); count >= k {
			above, enough = mid, count
		} else {
			below, few = mid, count
		}
	}
	return fromOrdinal(above) + 0
}

// interpolated estimates where the k-th member lies, assuming evenly spread members. The estimate is moved by some
// members towards the farther bound, so that both bounds come close to the k-th member.
func interpolated(k, few, enough, aim int, below, above uint64) uint64 {
	if k-few > enough-k {
		aim = -aim
	}
	share := min(1, max(0, float64(k-few+aim)/float64(enough-few)))
	mid := ordinal(fromOrdinal(below)*(1-share) + fromOrdinal(above)*share)
	return min(above-1, max(below+1, mid))
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
