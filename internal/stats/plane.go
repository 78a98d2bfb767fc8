package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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

// FitLine fits a line to the values y at the points x, by least squares. It needs two different x.
//
// The slope is a sum of the y with weights that do not depend on y. Symmetric noise therefore gives slopes with a
// symmetric distribution, and [SignedRank] suits slopes, one per round. A single line through all rounds would count
// their common drift as noise.
func FitLine(x, y []float64) (Plane, error) {
	return FitPlane(Points(x), y)
}

// Points returns values as points of one coordinate.
func Points(x []float64) [][]float64 { return slices.Collect(slices.Chunk(x, 1)) }

// leastIndependent is the smallest share of a coordinate's spread that other coordinates must not determine. With less,
// slopes are rounding errors.
const leastIndependent = 1e-8

// FitPlane fits a plane to the values y at the points x, by least squares (modified Gram–Schmidt). Coordinates must
// vary independently: 1, 2, 4 hosts at TTLs of 1, 2, 4 give no slope.
func FitPlane(x [][]float64, y []float64) (Plane, error) {
	const name = "plane"
	if err := checkCount(name, len(x), 2); err != nil {
		return Plane{}, err
	}
	slopes := len(x[0])
	if len(x) != len(y) || slopes == 0 {
		return Plane{}, fmt.Errorf("%s: %d values at %d points: %w", name, len(y), len(x), errArgument)
	}
	if err := cmp.Or(checkCount(name, len(y), slopes+1), checkFinite(name, y)); err != nil {
		return Plane{}, err
	}
	columns, means, spreads := make([][]float64, slopes+1), make([]float64, slopes), make([]float64, slopes)
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
		columns[j] = Shifted(column, -means[j])
	}
	meanY, _ := meanSD(y)
	columns[slopes] = Shifted(y, -meanY)
	factors := make([][]float64, slopes) // first index: a coordinate; second index: a later coordinate, or y
	for j, own := range columns[:slopes] {
		left := squares(own, 0)
		if math.Sqrt(left/float64(len(x)-1)) < leastIndependent*spreads[j] {
			return Plane{}, fmt.Errorf("%s: the coordinates of the points do not vary independently of each other: %w", name, ErrConstant)
		}
		factors[j] = make([]float64, slopes+1)
		for k := j + 1; k <= slopes; k++ {
			products := 0.0
			for i, v := range own {
				products += v * columns[k][i]
			}
			factors[j][k] = products / left
			for i, v := range own {
				columns[k][i] -= factors[j][k] * v
			}
		}
	}
	p := Plane{Intercept: meanY, Slopes: make([]float64, slopes)}
	for j := slopes - 1; j >= 0; j-- {
		p.Slopes[j] = factors[j][slopes]
		for k := j + 1; k < slopes; k++ {
			p.Slopes[j] -= factors[j][k] * p.Slopes[k]
		}
		p.Intercept -= p.Slopes[j] * means[j]
	}
	return p, nil
}
