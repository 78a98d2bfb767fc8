package stats

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// The aligned rank test's own power on normal values, with two others in every round.
// The noise is judged by the arm's ranks and by how they could have been dealt: about 1.5(n-1) degrees of freedom,
// between the n-1 of the arm's own values and the 2(n-1) of all. The steps between the levels that it can reach are small
// but where few rounds leave few of them: the level is taken to be half of the smallest
// p lower than asked for. Where nothing but the smallest p is a claim, power is exact.
// From 6 to 60 rounds and at levels from 10 % to 0.4 % this is within three percentage
// points of what simulation finds (TestAlignedRankPower).

// alignedEfficiency is what a shift counts with aligned ranks of three: the root of
// their asymptotic relative efficiency on normal values, (3/π)·k / ((k-1)(1-ρ)) with
// k = 3 and the rank correlation of two values of a round, ρ = (6/π)·asin(-1/4). It
// is 0.966; with k = 2 it is rankEfficiency's 3/π (Hodges and Lehmann 1962).
var alignedEfficiency = math.Sqrt(3 / math.Pi * 1.5 / (1 + 6/math.Pi*math.Asin(0.25)))

// AlignedRankPower is the chance that AlignedRank claims a shift of effect at a
// two-sided level, of n rounds with two others each, where contrasts have the standard
// deviation sd. It is 0 where n allows no claim.
func AlignedRankPower(effect, sd float64, n int, alpha float64) float64 {
	return powerOf(alignedPower, effect, sd, n, alpha)
}

// alignedPower returns the power at level alpha as a function of the shift
// effect/sd·√n, or nil where nothing can be claimed.
func alignedPower(n int, alpha float64) func(shift float64) float64 {
	least := AlignedRankLeast(0, n)
	switch level := alpha * (1 + 1e-9); {
	case n < 2 || least > level:
		return nil
	case 2*least > level: // claimed only if the arm is first in every round, or last
		return func(shift float64) float64 {
			each := shift * math.Sqrt(1.5/float64(n)) // in deviations of a value
			return math.Pow(firstOfThree(each), float64(n)) + math.Pow(firstOfThree(-each), float64(n))
		}
	}
	df := AlignedDF(n)
	critical := -StudentQuantile(alignedLevel(n, alpha)/2, df)
	return func(shift float64) float64 { return studentPower(alignedEfficiency*shift, df, critical) }
}

// alignedLevel is what the test makes of a level; 0: nothing can be claimed.
func alignedLevel(n int, alpha float64) float64 {
	least := AlignedRankLeast(0, n)
	if least > alpha*(1+1e-9) {
		return 0
	}
	return max(least, alpha-least/2)
}

// firstOfThree is the chance that a normal value with a shift is larger than two others.
func firstOfThree(shift float64) float64 {
	return quad.Fixed(func(x float64) float64 {
		below := distuv.UnitNormal.CDF(x + shift)
		return distuv.UnitNormal.Prob(x) * below * below
	}, -8, 8, 48, quad.Legendre{}, 0)
}

// AssuredEffect returns the effect that is found with a power on average, where it is
// told in units of a standard deviation that is itself estimated, with df degrees of
// freedom, from normal values. At gives the power for an effect in units of the true
// deviation. Six rounds that happen to be quiet would else promise too much more often
// than others promise too little: 70 % in place of 80 %. It is NaN where no effect is found.
func AssuredEffect(power, df float64, at func(effect float64) float64) float64 {
	if !(power > 0 && power <= mostPower) || !(df > 0) || !(at(1e6) >= power) {
		return math.NaN()
	}
	chi := distuv.ChiSquared{K: df}
	var ratios [assuredSteps]float64 // of the estimate to the truth, equally likely
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
