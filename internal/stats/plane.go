package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Plane is a linear function of several coordinates: its height at the origin, and one slope per coordinate.
type Plane struct {
	Intercept float64
	Slopes    []float64
}

// At returns the plane's height at a point, which has as many coordinates as there are slopes.
func (p Plane) At(x ...float64) float64 {
	height := p.Intercept
	for j, slope := range p.Slopes {
		height += slope * x[j]
	}
	return height
}

// FitLine fits a line, a plane of one slope, to y at x by least squares. A line needs two different x.
//
// The slope is a weighted sum of the y, and the weights do not depend on y. Symmetric noise therefore gives
// slopes with a symmetric distribution, and [SignedRank] suits slopes, one per round. An interval from a
// single line through all rounds would count the common drift of a round as noise of every point.
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
	products := 0.0
	for i := range x {
		products += (x[i] - meanX) * (y[i] - meanY)
	}
	slope := products / squares(x, meanX)
	return Plane{Intercept: meanY - slope*meanX, Slopes: []float64{slope}}, nil
}

// worstConditioned is the largest condition number of the points. With a larger condition number, slopes consist
// of rounding errors.
const worstConditioned = 1e8

// FitPlane fits a plane to y at the points x by least squares. A plane needs at least one point more than a
// point has coordinates. The points must differ in each coordinate independently of the other coordinates: 1,
// 2, 4 hosts at TTLs of 1, 2, 4 determine neither the slope for hosts nor the slope for TTLs. As with
// [FitLine], each slope is a weighted sum of the y.
func FitPlane(x [][]float64, y []float64) (Plane, error) {
	const name = "plane"
	if len(x) != len(y) || len(x) == 0 || len(x[0]) == 0 {
		return Plane{}, fmt.Errorf("%s: %d values at %d points: %w", name, len(y), len(x), errArgument)
	}
	slopes := len(x[0])
	if err := firstError(checkCount(name, len(y), slopes+1), checkFinite(name, y)); err != nil {
		return Plane{}, err
	}
	meanY, _ := meanSD(y)
	points, heights := mat.NewDense(len(x), slopes, nil), mat.NewVecDense(len(y), nil)
	means, spreads := make([]float64, slopes), make([]float64, slopes)
	for j := range slopes {
		column := make([]float64, len(x))
		for i, point := range x {
			if len(point) != slopes {
				return Plane{}, fmt.Errorf("%s: points of %d and of %d coordinates: %w", name, slopes, len(point), errArgument)
			}
			column[i] = point[j]
		}
		if err := checkFinite(name, column); err != nil {
			return Plane{}, err
		}
		means[j], spreads[j] = meanSD(column)
		if negligible(spreads[j], math.Abs(means[j])) {
			return Plane{}, fmt.Errorf("%s: coordinate %d of all %d points is %v: %w", name, j+1, len(x), column[0], ErrConstant)
		}
		for i, v := range column {
			points.Set(i, j, (v-means[j])/spreads[j])
		}
	}
	for i, v := range y {
		heights.SetVec(i, v-meanY)
	}
	var qr mat.QR
	qr.Factorize(points)
	if qr.Cond() > worstConditioned {
		return Plane{}, fmt.Errorf("%s: the coordinates of the points do not vary independently of each other: %w", name, ErrConstant)
	}
	var fitted mat.VecDense
	if err := qr.SolveVecTo(&fitted, false, heights); err != nil {
		return Plane{}, fmt.Errorf("%s: %w", name, err)
	}
	p := Plane{Intercept: meanY}
	for j := range slopes {
		slope := fitted.AtVec(j) / spreads[j]
		p.Slopes = append(p.Slopes, slope)
		p.Intercept -= slope * means[j]
	}
	return p, nil
}
