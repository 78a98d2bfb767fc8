package stats

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// The power of the aligned rank test on normal values, with two others in every round. The noise is
// estimated from the arm's ranks and from their possible assignments: about 1.5(n-1) degrees of
// freedom, between the n-1 of the arm's own values and the 2(n-1) of all. The steps between the
// attainable levels are small, except with few rounds, which have few levels: the level is assumed
// half of the smallest p below the requested one. If only the smallest p is a claim, the power is
// exact. From 6 to 60 rounds and at levels from 10 % to 0.4 % this is within three percentage
// points of simulation (TestAlignedRankPower).

// alignedEfficiency is the factor by which a shift counts with aligned ranks of three: the root of
// their asymptotic relative efficiency on normal values, (3/π)·k / ((k-1)(1-ρ)) with k = 3 and the
// rank correlation of two values of a round, ρ = (6/π)·asin(-1/4). It is 0.966; with k = 2 it is
// rankEfficiency's 3/π (Hodges and Lehmann 1962).
var alignedEfficiency = math.Sqrt(3 / math.Pi * 1.5 / (1 + 6/math.Pi*math.Asin(0.25)))

// AlignedRankPower returns the chance that AlignedRank claims a shift of effect at a two-sided
// level, from n rounds with two others each, if contrasts have the standard deviation sd. It is 0
// if n allows no claim.
func AlignedRankPower(effect, sd float64, n int, alpha float64) float64 {
	return powerOf(alignedPower, effect, sd, n, alpha)
}

// alignedPower returns the power at level alpha as a function of the shift effect/sd·√n, or nil if
// no claim is possible.
func alignedPower(n int, alpha float64) func(shift float64) float64 {
	least := AlignedRankLeast(0, n)
	switch level := alpha * (1 + 1e-9); {
	case n < 2 || least > level:
		return nil
	case 2*least > level: // a claim only if the arm is first in every round, or last
		return func(shift float64) float64 {
			each := shift * math.Sqrt(1.5/float64(n)) // in deviations of a value
			return math.Pow(firstOfThree(each), float64(n)) + math.Pow(firstOfThree(-each), float64(n))
		}
	}
	df := AlignedDF(n)
	critical := -StudentQuantile(alignedLevel(n, alpha)/2, df)
	return func(shift float64) float64 { return studentPower(alignedEfficiency*shift, df, critical) }
}

// alignedLevel returns the effective level of the test at a nominal level; 0: no claim is possible.
func alignedLevel(n int, alpha float64) float64 {
	least := AlignedRankLeast(0, n)
	if least > alpha*(1+1e-9) {
		return 0
	}
	return max(least, alpha-least/2)
}

// firstOfThree returns the chance that a shifted normal value is larger than two others.
func firstOfThree(shift float64) float64 {
	return quad.Fixed(func(x float64) float64 {
		below := distuv.UnitNormal.CDF(x + shift)
		return distuv.UnitNormal.Prob(x) * below * below
	}, -8, 8, 48, quad.Legendre{}, 0)
}

// AssuredEffect returns the effect that is detected with a power on average, if the effect is given
// in units of a standard deviation that is itself estimated, with df degrees of freedom, from
// normal values. The function at returns the power for an effect in units of the true deviation.
// Without this correction, six rounds that happen to be quiet would promise too much more often
// than others promise too little: 70 % power in place of 80 %. It is NaN if no effect is detected.
func AssuredEffect(power, df float64, at func(effect float64) float64) float64 {
	if !(power > 0 && power <= mostPower) || !(df > 0) || !(at(1e6) >= power) {
		return math.NaN()
	}
	chi := distuv.ChiSquared{K: df}
	var ratios [assuredSteps]float64 // ratios of the estimate to the truth, equally likely
	for i := range ratios {
		ratios[i] = math.Sqrt(chi.Quantile((float64(i)+0.5)/assuredSteps) / df)
	}
	return smallestShift(power, func(effect float64) float64 {
		sum := 0.0
		for _, r := range ratios {
			sum += at(r * effect)
		}
		return sum / assuredSteps
	})
}

const assuredSteps = 20
