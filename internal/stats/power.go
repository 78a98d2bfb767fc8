package stats

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// mostPower is the largest supported power. The numerical integral of power cannot distinguish larger values from 1.
const mostPower = 1 - 1e-9

// DetectableEffect returns the smallest true mean difference that a two-sided paired t test at level alpha over n
// rounds detects with the given power. The result has the unit of sd, the standard deviation of the differences. It
// is NaN for n < 2 or arguments out of range (alpha < power ≤ 1-1e-9).
func DetectableEffect(sd float64, n int, alpha, power float64) float64 {
	if n < 2 || !(sd >= 0) || !(alpha > 0 && alpha < power && power <= mostPower) {
		return math.NaN()
	}
	return smallestShift(power, tPower(1, float64(n-1), alpha)) * sd / math.Sqrt(float64(n))
}

// tPower returns the power of a two-sided t test at level alpha, as a function of the shift in standard errors. Only
// a share of the shift counts: the efficiency of a test by ranks, or 1.
func tPower(efficiency, df, alpha float64) func(shift float64) float64 {
	critical := -StudentQuantile(alpha/2, df)
	return func(shift float64) float64 { return studentPower(efficiency*shift, df, critical) }
}

// smallestShift returns the shift at which a rising power function reaches a power. Regula falsi with the Illinois
// rule needs some ten evaluations, bisection would need forty.
func smallestShift(power float64, at func(shift float64) float64) float64 {
	lo, hi := 0.0, 1.0
	below, above := at(lo)-power, at(hi)-power
	for above < 0 {
		lo, hi, below = hi, 2*hi, above
		above = at(hi) - power
	}
	last := 0
	for hi-lo > 1e-13*hi {
		mid := hi - above*(hi-lo)/(above-below)
		if !(mid > lo && mid < hi) {
			mid = lo + (hi-lo)/2
		}
		miss := at(mid) - power
		switch {
		case math.Abs(miss) < 1e-14:
			return mid
		case miss < 0:
			lo, below = mid, miss
			if last < 0 {
				above /= 2
			}
			last = -1
		default:
			hi, above = mid, miss
			if last > 0 {
				below /= 2
			}
			last = 1
		}
	}
	return hi
}

// fewest returns the smallest n for which enough(n) is true; 0 if enough(limit) is false. If enough(n) is true,
// enough must be true for all larger numbers.
func fewest(limit int, enough func(n int) bool) int {
	if !enough(limit) {
		return 0
	}
	few, many := 1, limit // enough(few) is false, and enough(many) is true
	for many-few > 1 {
		if mid := few + (many-few)/2; enough(mid) {
			many = mid
		} else {
			few = mid
		}
	}
	return many
}

// studentPower returns P(|T| > critical) for T of the noncentral t distribution with nu degrees of freedom and the
// given shift ≥ 0.
//
// T is (Z+shift)/S, with Z normal and S the relative error of the estimated standard deviation. The result is an
// average over S, which has the density of a scaled chi distribution. The normal part steps from 0 to 1 around S =
// shift/critical, within a width of 1/critical. The integral is split there, so that Gauss–Legendre integrates smooth
// pieces only. (distuv.NoncentralT returns 1 for the far lower tail of a shift over 38, which two or three rounds at
// a strict level reach.)
func studentPower(shift, nu, critical float64) float64 {
	logGamma, _ := math.Lgamma(nu / 2)
	logScale := math.Ln2 + nu/2*math.Log(nu/2) - logGamma
	claimed := func(s float64) float64 {
		density := math.Exp(logScale + (nu-1)*math.Log(s) - nu*s*s/2)
		return density * (distuv.UnitNormal.CDF(shift-critical*s) + distuv.UnitNormal.CDF(-shift-critical*s))
	}
	spread := 10 / math.Sqrt(2*nu)
	first, last := math.Max(0, 1-spread), 1+spread
	cuts := []float64{first}
	for _, z := range []float64{-9, -4, 0, 4, 9} {
		if cut := (shift + z) / critical; cut > cuts[len(cuts)-1] && cut < last {
			cuts = append(cuts, cut)
		}
	}
	cuts = append(cuts, last)
	sum := 0.0
	for i := 1; i < len(cuts); i++ {
		sum += quad.Fixed(claimed, cuts[i-1], cuts[i], 48, quad.Legendre{}, 0)
	}
	return math.Min(1, sum)
}
