package stats

import (
	"math"
	"slices"
)

// combinations is a multiset that is too large to write down: all differences
// of two samples, or all Walsh averages of one. Only its bounds, the number of
// members up to a value and the few members between two values can be had, in
// time linear in the samples.
type combinations interface {
	size() int
	bounds() (least, most float64)
	atMost(v float64) int
	// between returns the members above a and up to b, in any order.
	between(a, b float64) []float64
}

// kthSmallest returns the k-th smallest member, from 1. It narrows the bounds
// alternately by interpolating between the numbers of members up to them, which
// takes some ten counts where members lie smoothly, and by bisecting over the
// float64s between them, which ends at the very member after at most 64 counts,
// whatever the scale.
func kthSmallest(k int, of combinations) float64 {
	least, most := of.bounds()
	below, above := ordinal(least)-1, ordinal(most) // the member is above the first, and not above the second
	few, enough := 0, of.size()                     // members up to them
	// So few members are sorted rather than searched any further: about as many
	// as one count takes steps.
	listed := min(2048, int(math.Sqrt(float64(of.size()))))
	for step := 0; above-below > 1; step++ {
		if few > 0 && enough < of.size() && enough-few <= listed {
			members := of.between(fromOrdinal(below), fromOrdinal(above))
			slices.Sort(members)
			return members[k-few-1] + 0 // never -0
		}
		mid := below + (above-below)/2
		if step%3 != 2 {
			mid = interpolated(k, few, enough, listed/3, below, above)
		}
		if count := of.atMost(fromOrdinal(mid)); count >= k {
			above, enough = mid, count
		} else {
			below, few = mid, count
		}
	}
	return fromOrdinal(above) + 0
}

// interpolated returns where the k-th member would be if members lay evenly,
// moved by some members towards the farther bound, so that the nearer one comes
// close and not only the other.
func interpolated(k, few, enough, aim int, below, above uint64) uint64 {
	if k-few > enough-k {
		aim = -aim
	}
	share := min(1, max(0, float64(k-few+aim)/float64(enough-few)))
	mid := ordinal(fromOrdinal(below)*(1-share) + fromOrdinal(above)*share)
	return min(above-1, max(below+1, mid))
}

// medianOf returns the median of the members.
func medianOf(of combinations) float64 {
	size := of.size()
	lower := kthSmallest((size+1)/2, of)
	if size%2 == 1 || of.atMost(lower) > size/2 {
		return lower
	}
	return lower/2 + kthSmallest(size/2+1, of)/2
}

// ordinal maps float64s to integers in the same order.
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
