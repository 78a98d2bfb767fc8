package stats

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/combin"
)

// Quantile returns the q-quantile of values in ascending order (Hyndman and Fan's type 7, the default of R and NumPy).
// NaN: no values, or q outside 0 … 1.
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
	return Quantile(sortedCopy(x), 0.5)
}

// MedianInterval bounds the median of independent values by order statistics (Hollander, Wolfe & Chicken, section 3.6).
// actual is the attained confidence. A 95 % interval needs n ≥ 6.
func MedianInterval(x []float64, confidence float64) (interval Interval, actual float64, err error) {
	const name = "median interval"
	if err := cmp.Or(checkConfidence(name, confidence), checkFinite(name, x)); err != nil {
		return Interval{}, 0, err
	}
	n := len(x)
	level := (1 - confidence) / 2 * (1 + 1e-12)
	k, tail := 0, 0.0
	for n > 0 && k < (n+1)/2 {
		next := tail + math.Exp(combin.LogGeneralizedBinomial(float64(n), float64(k))-float64(n)*math.Ln2)
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

// blockMedians reduces a series to at most limit medians of blocks of equal size. A short series is returned as it is.
// Up to size-1 values at the end are left out.
func blockMedians(x []float64, limit int) (medians []float64, size int) {
	size = (len(x) + limit - 1) / limit
	if size <= 1 {
		return x, 1
	}
	medians = make([]float64, len(x)/size)
	for i := range medians {
		medians[i] = Median(x[i*size : (i+1)*size])
	}
	return medians, size
}
