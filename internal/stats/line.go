package stats

import (
	"fmt"
	"math"
)

// FitLine fits a line, a plane of one slope, to y at x by least squares. It needs two different x.
//
// The slope is a sum of the y with weights that do not depend on them. The slope of a mean is
// therefore the mean of the slopes, and the slope is symmetric if noise is symmetric, or the same
// at all x. One slope per round suits [SignedRank]. An interval from the residuals of one line
// through all rounds would not, since it counts a round's common drift as noise of every point.
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
