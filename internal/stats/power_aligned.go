package stats

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// The power of the aligned rank test on normal values, with two others in every round. The noise is
// estimated from the arm's ranks and from their possible assignments. The estimate has about 1.5(n-1)
// degrees of freedom, between the n-1 of the arm's own values and the 2(n-1) of all values. The test is
// discrete: with few rounds, it attains only a few significance levels. The attained significance level is
// therefore assumed to be the requested one minus half of the smallest possible p-value. If only the
// smallest possible p-value gives a claim, the power is exact. From 6 to 60 rounds and at significance
// levels from 10 % to 0.4 %, the computed power is within three percentage points of simulation
// (TestAlignedRankPower).

// alignedEfficiency is the share of a shift that counts with aligned ranks of three values. It is the root
// of the asymptotic relative efficiency on normal values, (3/π)·k / ((k-1)(1-ρ)), with k = 3 and the rank
// correlation of two values of a round, ρ = (6/π)·asin(-1/4). The relative efficiency is 0.966; with k = 2
// it is the 3/π of rankEfficiency (Hodges and Lehmann 1962).
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
			each := shift * math.Sqrt(1.5/float64(n)) // in standard deviations of a value
			return math.Pow(firstOfThree(each), float64(n)) + math.Pow(firstOfThree(-each), float64(n))
		}
	}
	df := AlignedDF(n)
	critical := -StudentQuantile(alignedLevel(n, alpha)/2, df)
	return func(shift float64) float64 { return studentPower(alignedEfficiency*shift, df, critical) }
}

// alignedLevel returns the attained significance level of the test at a nominal significance level; 0: no
// claim is possible.
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

// AssuredEffect returns the effect that is detected with a given power on average. The effect is in units
// of a standard deviation that is itself an estimate from normal values, with df degrees of freedom. The
// function at returns the power for an effect in units of the true standard deviation. The correction is
// needed because six rounds that happen to have little noise would promise too much, more than other rounds
// promise too little: the average power would be 70 % instead of 80 %. The result is NaN if no effect is
// detected.
func AssuredEffect(power, df float64, at func(effect float64) float64) float64 {
	if !(power > 0 && power <= mostPower) || !(df > 0) || !(at(1e6) >= power) {
		return math.NaN()
	}
	chi := distuv.ChiSquared{K: df}
	var ratios [assuredSteps]float64 // equally likely ratios of the estimated to the true standard deviation
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
