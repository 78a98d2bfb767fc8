package stats

import "math"

// Holm returns the p-values, adjusted for their number, in the order given (Holm 1979). If every adjusted p
// of at most 5 % is claimed, the chance of any false claim is at most 5 %, whatever the dependence between
// the tests. Holm always claims at least as much as Bonferroni. Adjusted values are monotone in p and at
// most 1. A NaN counts as 1: a hypothesis that could not be tested is not claimed, and stays in the family.
func Holm(p []float64) []float64 {
	adjusted := make([]float64, len(p))
	for i, v := range p {
		if adjusted[i] = v; math.IsNaN(v) {
			adjusted[i] = 1
		}
	}
	largest := 0.0
	for i, at := range ascending(adjusted) {
		largest = max(largest, min(1, adjusted[at]*float64(len(p)-i)))
		adjusted[at] = largest
	}
	return adjusted
}
