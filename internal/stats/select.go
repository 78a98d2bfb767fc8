package stats

import (
	"math/bits"
	"slices"
)

// medianInPlace returns the median of x, like Quantile for sorted values, in linear time. It changes the
// order of x. Without values it panics.
func medianInPlace(x []float64) float64 {
	n := len(x)
	upper := selectKth(x, n/2)
	if n%2 == 1 {
		return upper
	}
	lower := slices.Max(x[:n/2]) // selectKth has put the smaller values first
	return lower + (upper-lower)/2
}

// selectKth returns the k-th smallest value of x (from 0), by Hoare's quickselect. It moves smaller values
// before that value and larger values behind it. After too many steps it sorts the rest, so that no input
// makes the time quadratic.
func selectKth(x []float64, k int) float64 {
	from, to := 0, len(x)
	for rounds := 4 * bits.Len(uint(len(x))); to-from > 12 && rounds > 0; rounds-- {
		a, b, c := x[from], x[from+(to-from)/2], x[to-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := from, to-1
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			to = j + 1
		case k >= i:
			from = i
		default:
			return x[k]
		}
	}
	slices.Sort(x[from:to])
	return x[k]
}
