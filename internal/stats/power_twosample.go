package stats

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// The power of Welch's test on normal values comes from the noncentral t distribution, with degrees of freedom from
// the true standard deviations.
//
// The power of the rank-sum test is computed as the power of Student's t test for 97.7 % of the effect, at the
// significance level that the discrete distribution allows, as for the signed-rank test (Lehmann, Nonparametrics,
// section 2.4). The power is exact for samples so small that only complete separation gives a claim: all values of
// one sample above all values of the other.

// WelchDetectableEffect returns the smallest true difference of two means that a two-sided Welch test at level alpha
// detects with the given power. The samples have m and n normal values with standard deviations sdX and sdY. The
// result is NaN for samples of fewer than 2 values or arguments out of range (alpha < power ≤ 1-1e-9).
func WelchDetectableEffect(sdX, sdY float64, m, n int, alpha, power float64) float64 {
	if m < 2 || n < 2 || !(sdX >= 0) || !(sdY >= 0) || !(alpha > 0 && alpha < power && power <= mostPower) {
		return math.NaN()
	}
	if sdX == 0 && sdY == 0 {
		return 0
	}
	se, df := welchError(sdX, sdY, m, n)
	return se * smallestShift(power, tPower(1, df, alpha))
}

// RankSumDetectableEffect is WelchDetectableEffect for the rank-sum test and a common standard deviation. The result
// is NaN if the sizes allow no claim at level alpha.
func RankSumDetectableEffect(sd float64, m, n int, alpha, power float64) float64 {
	if m < 1 || n < 1 || !(sd >= 0) || !(alpha > 0 && alpha < power && power <= mostPower) {
		return math.NaN()
	}
	at := rankSumPower(m, n, alpha)
	if at == nil {
		return math.NaN()
	}
	return smallestShift(power, at) * sd * twoSampleError(m, n)
}

// RankSumLeast returns the smallest P that RankSum can give for samples of m and n values: the P of samples that do
// not overlap. The result is 1 if a sample is empty.
func RankSumLeast(m, n int) float64 {
	switch {
	case m < 1 || n < 1:
		return 1
	case m <= maxExactRankSum && n <= maxExactRankSum:
		logWays := 0.0 // logarithm of the number of ways to choose n among m+n
		for i := 1; i <= n; i++ {
			logWays += math.Log(float64(m+i) / float64(i))
		}
		return min(1, 2*math.Exp(-logWays))
	}
	lower, _ := rankSumNormalTails(m, n, 0, 0)
	return min(1, 2*lower)
}

// twoSampleError returns the standard error of the difference of two means, in standard deviations.
func twoSampleError(m, n int) float64 { return math.Sqrt(1/float64(m) + 1/float64(n)) }

// rankSumPower returns the power at level alpha as a function of the shift in standard errors; nil if no claim is
// possible.
func rankSumPower(m, n int, alpha float64) func(shift float64) float64 {
	null := rankSumNull(m, n)
	switch depth := null.depth(alpha); {
	case depth < 1:
		return nil
	case depth == 1:
		return func(shift float64) float64 {
			size := shift * twoSampleError(m, n)
			return separated(m, n, size) + separated(m, n, -size)
		}
	}
	return tPower(rankEfficiency, float64(m+n-2), null.level(alpha))
}

// separated returns the chance that n shifted standard normal values lie above m other standard normal values: the
// integral over the position of the largest other value.
func separated(m, n int, shift float64) float64 {
	fm, fn := float64(m), float64(n)
	chance := func(v float64) float64 {
		largest := fm * distuv.UnitNormal.Prob(v) * math.Pow(distuv.UnitNormal.CDF(v), fm-1)
		return largest * math.Pow(distuv.UnitNormal.CDF(shift-v), fn)
	}
	sum := 0.0
	for from := -9.; from < 9; from += 3 {
		sum += quad.Fixed(chance, from, from+3, 32, quad.Legendre{}, 0)
	}
	return sum
}
