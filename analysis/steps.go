package analysis

import (
	"slices"

	"tare/stats"
)

// steps says whether changes of level describe a series better than what they
// are mistaken for: a straight rise or fall, which a line fits more closely, and
// values that carry over, which go on resembling their neighbours within the
// segments.
func steps(values []float64, changes []int, level float64) bool {
	if len(changes) == 0 {
		return false
	}
	rest := make([]float64, 0, len(values))
	from := 0
	for _, to := range append(slices.Clone(changes), len(values)) {
		mean := average(values[from:to])
		for _, v := range values[from:to] {
			rest = append(rest, v-mean)
		}
		from = to
	}
	return squares(rest) < squares(detrended(values)) && lagP(stats.Lag1(rest), len(rest)) > level
}

// detrended is what a least-squares line leaves of a series.
func detrended(values []float64) []float64 {
	mean, middle := average(values), float64(len(values)-1)/2
	var up, across float64
	for i, v := range values {
		x := float64(i) - middle
		up += x * (v - mean)
		across += x * x
	}
	rest := make([]float64, len(values))
	for i, v := range values {
		rest[i] = v - mean - up/across*(float64(i)-middle)
	}
	return rest
}

func average(x []float64) (mean float64) {
	for i, v := range x {
		mean += (v - mean) / float64(i+1)
	}
	return mean
}

func squares(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}
