package stats

import (
	"fmt"
	"math"
)

// FitLine fits a line, a plane of one slope, to y at x by least squares. It needs two different x.
//
// The slope is a weighted sum of the y, and the weights do not depend on y. The slope through mean values
// is therefore the mean of the slopes. The slope has a symmetric distribution if noise is symmetric.
// [SignedRank] therefore suits slopes, one per round. A single line through all rounds would not be right:
// an interval from its residuals counts the common drift of a round as noise of every point.
func FitLine(x, y []float64) (Plane, error) {
	const name = "line"
	if err := checkSamples(name, x, y, 2); err != nil {
		return Plane{}, err
	}
	if len(x) != len(y) {
		return Plane{}, fmt.Errorf("%s: %d values at %d points: %w", name, len(y), len(x), errArgument)
	}
	meanX, sdX := meanSD(x)
	meanY, _ := meanSD(y)
	if negligible(sdX, math.Abs(meanX)) {
		return Plane{}, fmt.Errorf("%s: all %d points are %v: %w", name, len(x), x[0], ErrConstant)
	}
	var products, squares float64
	for i := range x {
		products += (x[i] - meanX) * (y[i] - meanY)
		squares += (x[i] - meanX) * (x[i] - meanX)
	}
	slope := products / squares
	return Plane{Intercept: meanY - slope*meanX, Slopes: []float64{slope}}, nil
}
