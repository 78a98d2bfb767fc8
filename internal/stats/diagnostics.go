package stats

import (
	"fmt"
	"math"
)

// Lag1 returns the autocorrelation of x at lag one, in the order measured: the sum of products of neighbouring
// deviations from the mean over the sum of squares (as R's acf). Independent values give about
// -1/n ± 2/√n. A clearly larger result means that neighbouring rounds share slow disturbances, and that
// intervals may be too narrow. The result is 0 for fewer than 3 values or values that do not vary, and NaN if a value
// is not finite.
func Lag1(x []float64) float64 {
	if checkFinite("", x) != nil {
		return math.NaN()
	}
	if len(x) < 3 {
		return 0
	}
	mean, sd := meanSD(x)
	if negligible(sd, math.Abs(mean)) {
		return 0
	}
	products := 0.0
	for i := 1; i < len(x); i++ {
		products += (x[i] - mean) * (x[i-1] - mean)
	}
	return products / squares(x, mean)
}

// maxExactOrder is the largest n for which OrderEffect counts all permutations: 8! = 40,320.
const maxExactOrder = 8

// OrderEffect returns the two-sided p-value of "values do not depend on their position in the round", by Spearman's
// rank correlation of values and positions (4 values at least). For one comparison, a value is the log ratio of a
// round, and its position is the position of the treated trial minus the position of the baseline's trial.
//
// The trials of a round run in random order, drawn anew in every round. A permutation test over the positions is
// therefore exact, without any assumption on the values. Rank correlation detects the usual effects of order: later
// trials run steadily slower or faster (heat, fill level, page cache), or the first trial stands out.
//
// For up to 8 values, all permutations are counted. For more values, r·√((n-2)/(1-r²)) is assumed to be t distributed
// with n-2 degrees of freedom. Positions that are all the same give ErrConstant; values that are all the same give 1.
func OrderEffect(values []float64, positions []int) (p float64, err error) {
	const name = "order effect"
	if len(values) != len(positions) {
		return 0, fmt.Errorf("%s: %d values but %d positions: %w", name, len(values), len(positions), errArgument)
	}
	if err := checkValues(name, values, 4); err != nil {
		return 0, err
	}
	at := make([]float64, len(positions))
	for i, position := range positions {
		at[i] = float64(position)
	}
	x, tiesX := midRanks(values)
	y, tiesY := midRanks(at)
	n := float64(len(values))
	all := n*n*n - n // value of ties if all n values are equal
	if tiesY == all {
		return 0, fmt.Errorf("%s: every position is %d: %w", name, positions[0], ErrConstant)
	}
	if tiesX == all {
		return 1, nil
	}
	if len(values) <= maxExactOrder {
		return permutedProductP(x, y), nil
	}
	sum := 0.0
	for i := range x {
		sum += (x[i] - (n+1)/2) * (y[i] - (n+1)/2)
	}
	r := sum / math.Sqrt((all-tiesX)/12*(all-tiesY)/12)
	least := 2 / math.Gamma(n+1) // smallest p-value that any permutation test can give
	if math.Abs(r) >= 1 {
		return least, nil
	}
	return max(least, min(1, 2*studentTail(math.Abs(r)*math.Sqrt((n-2)/(1-r*r)), n-2))), nil
}

// permutedProductP returns the share of the permutations of y for which the sum of products with x lies at least as
// far from its mean as the observed sum.
func permutedProductP(x, y []float64) float64 {
	n := len(x)
	var sum, sumX, sumY float64
	for i := range x {
		sum += x[i] * y[i]
		sumX += x[i]
		sumY += y[i]
	}
	mean := sumX * sumY / float64(n)
	const rounding = 1e-9 // products of mid-ranks are multiples of ¼
	observed := math.Abs(sum-mean) - rounding
	extreme, total := 0, 0
	var visit func(i int, partial float64)
	visit = func(i int, partial float64) {
		if i == n {
			total++
			if math.Abs(partial-mean) >= observed {
				extreme++
			}
			return
		}
		for j := i; j < n; j++ {
			y[i], y[j] = y[j], y[i]
			visit(i+1, partial+x[i]*y[i])
			y[i], y[j] = y[j], y[i]
		}
	}
	visit(0, 0)
	return float64(extreme) / float64(total)
}
