package stats

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// The functions of this file return the same digits as gonum's package distuv. Importing distuv would add a megabyte of
// linear algebra to the program.

// normalCDF returns P(Z ≤ x) for a standard normal Z.
func normalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// normalTail returns P(Z > x).
func normalTail(x float64) float64 { return 0.5 * (1 - math.Erf(x/math.Sqrt2)) }

// normalDensity returns the density of Z at x. The constant is ln √(2π).
func normalDensity(x float64) float64 {
	return math.Exp(-0.91893853320467274178032973640561763986 - x*x/2)
}

// StudentTail returns P(T > t) for Student's T.
func StudentTail(t, df float64) float64 {
	if t == 0 {
		return 0.5
	}
	tail := 0.5 * mathext.RegIncBeta(df/2, 0.5, df/(t*t+df))
	if t < 0 {
		return 1 - tail
	}
	return tail
}

// StudentQuantile returns a quantile of Student's t distribution. For whole degrees of freedom it is cached, since
// computing it is slow.
func StudentQuantile(p, df float64) float64 {
	whole := df == math.Trunc(df)
	if known, ok := studentQuantiles.Load([2]float64{p, df}); whole && ok {
		return known.(float64)
	}
	q := 0.0
	if p != 0.5 {
		x := mathext.InvRegIncBeta(df/2, 0.5, 2*min(p, 1-p))
		q = math.Copysign(math.Sqrt(df*(1-x)/x), p-0.5)
	}
	if whole {
		studentQuantiles.Store([2]float64{p, df}, q)
	}
	return q
}

var studentQuantiles sync.Map // cache: probability and degrees of freedom → quantile

// FTail returns P(F > x) for Fisher's F with the degrees of freedom of the numerator (above) and of the denominator
// (below).
func FTail(x, above, below float64) float64 {
	return 1 - mathext.RegIncBeta(above/2, below/2, above*x/(above*x+below))
}

// FQuantile returns a quantile of Fisher's F distribution.
func FQuantile(p, above, below float64) float64 {
	y := mathext.InvRegIncBeta(above/2, below/2, p)
	return below * y / (above * (1 - y))
}

// BinomialTail returns P(X ≥ count) for the number X of successes in n trials, each with the chance p. count is from 1
// to n.
func BinomialTail(count, n int, p float64) float64 {
	return 1 - mathext.RegIncBeta(float64(n-count+1), float64(count), 1-p)
}

// ChiSquaredQuantile returns a quantile of the chi-squared distribution.
func ChiSquaredQuantile(p, df float64) float64 { return mathext.GammaIncRegInv(df/2, p) * 2 }
