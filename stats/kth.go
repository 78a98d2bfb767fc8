package stats

import "math"

// kthSmallest returns the k-th smallest (from 1) of a multiset that is too
// large to write down, of which only the bounds and the number of members up
// to a value are known. It bisects over the float64s between lo and hi, not
// over the real line, so that it ends at the very member after at most 64
// counts, whatever the scale.
func kthSmallest(k int, lo, hi float64, atMost func(v float64) int) float64 {
	a, b := ordinal(lo), ordinal(hi)
	for a < b {
		mid := a + (b-a)/2
		if atMost(fromOrdinal(mid)) >= k {
			b = mid
		} else {
			a = mid + 1
		}
	}
	return fromOrdinal(a) + 0 // never -0
}

// medianOf returns the median of such a multiset with the given total size.
func medianOf(size int, lo, hi float64, atMost func(v float64) int) float64 {
	lower := kthSmallest((size+1)/2, lo, hi, atMost)
	if size%2 == 1 || atMost(lower) > size/2 {
		return lower
	}
	return lower/2 + kthSmallest(size/2+1, lo, hi, atMost)/2
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
