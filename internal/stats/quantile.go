package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Quantile returns the q-quantile of values sorted in ascending order by
// linear interpolation between order statistics: Hyndman and Fan's type 7, the
// default of R, NumPy and spreadsheets. It is NaN without values or for a q
// outside 0 … 1.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below+1 == len(sorted) {
		return sorted[below]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}

// Median returns the 0.5-quantile of values in any order, NaN without values.
func Median(x []float64) float64 {
	return Quantile(slices.Sorted(slices.Values(x)), 0.5)
}

// MedianInterval bounds the median of the distribution behind x by order statistics: it reaches from the
// k-th smallest to the k-th largest value, with k from the binomial distribution (Hollander, Wolfe &
// Chicken, section 3.6). It assumes only independence. Few values allow only few different confidences;
// actual is the attained confidence, which is at least the requested one. A 95 % interval needs n ≥ 6.
func MedianInterval(x []float64, confidence float64) (interval Interval, actual float64, err error) {
	const name = "median interval"
	if err := firstError(checkConfidence(name, confidence), checkFinite(name, x)); err != nil {
		return Interval{}, 0, err
	}
	n := len(x)
	below := distuv.Binomial{N: float64(n), P: 0.5}
	level := (1 - confidence) / 2 * (1 + 1e-12)
	k, tail := 0, 0.0
	for n > 0 && k < (n+1)/2 {
		next := tail + below.Prob(float64(k))
		if next > level {
			break
		}
		k, tail = k+1, next
	}
	if k == 0 {
		return Interval{}, 0, fmt.Errorf("%s: %d values, at least %d needed at %g %%: %w",
			name, n, LeastSignedRank(1-confidence), 100*confidence, ErrTooFew)
	}
	s := sortedCopy(x)
	return Interval{Point: Quantile(s, 0.5), Lo: s[k-1], Hi: s[n-k]}, 1 - 2*tail, nil
}
