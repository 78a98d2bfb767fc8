package stats

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// The power of the tests for two independent samples on normal values.
//
// The power of Welch's test comes from the noncentral t distribution. Its degrees of freedom come from the
// true standard deviations; the test itself estimates the degrees of freedom from the values of each
// experiment.
//
// The power of the rank-sum test differs from the power of Student's t test for two samples in the same
// ways in which the signed-rank test differs from the paired t test (power_signedrank.go). The significance
// level is what the discrete distribution allows, and a shift counts √(3/π) = 97.7 % as much (Mann and
// Whitney's test has the same asymptotic relative efficiency of 3/π; Lehmann, Nonparametrics, section 2.4).
// The power is exact for samples so small that only complete separation (all values of one sample above all
// values of the other) gives a claim. The package comment has the results of simulations.

// WelchDetectableEffect returns the smallest true difference of two means that a two-sided Welch test at
// level alpha detects with the given power, for samples of m and n normal values with standard deviations
// sdX and sdY, in their unit. It is 0 if both standard deviations are 0, and NaN for samples of fewer than
// 2 values or arguments out of range (alpha < power ≤ 1-1e-9).
func WelchDetectableEffect(sdX, sdY float64, m, n int, alpha, power float64) float64 {
	if m < 2 || n < 2 || !(sdX >= 0) || !(sdY >= 0) || !(alpha > 0 && alpha < power && power <= mostPower) {
		return math.NaN()
	}
	if sdX == 0 && sdY == 0 {
		return 0
	}
	se, df := welchError(sdX, sdY, m, n)
	critical := -StudentQuantile(alpha/2, df)
	return se * smallestShift(power, func(shift float64) float64 { return studentPower(shift, df, critical) })
}

// RankSumDetectableEffect is WelchDetectableEffect for the rank-sum test and a common standard
// deviation. It is NaN if the sizes allow no claim at level alpha.
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

// RankSumLeast returns the smallest P that RankSum can give for samples of m and n values: the P of
// complete separation. A claim at a smaller significance level is impossible with these sizes. The result
// is 1 if a sample is empty.
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

// twoSampleError returns the standard error of the difference of two means, as a multiple of the
// common deviation of both samples.
func twoSampleError(m, n int) float64 { return math.Sqrt(1/float64(m) + 1/float64(n)) }

// rankSumPower returns the power at level alpha as a function of the shift in standard errors, or
// nil if no claim is possible.
func rankSumPower(m, n int, alpha float64) func(shift float64) float64 {
	null := rankSumNull(m, n)
	switch depth := null.depth(alpha); {
	case depth < 1:
		return nil
	case depth == 1:
		return func(shift float64) float64 {
			by := shift * twoSampleError(m, n)
			return separated(m, n, by) + separated(m, n, -by)
		}
	}
	df := float64(m + n - 2)
	critical := -StudentQuantile(null.level(alpha)/2, df)
	return func(shift float64) float64 { return studentPower(rankEfficiency*shift, df, critical) }
}

// separated returns the chance that n standard normal values, all shifted by an amount, lie above m other
// standard normal values: the integral over the position of the largest other value.
func separated(m, n int, by float64) float64 {
	fm, fn := float64(m), float64(n)
	chance := func(v float64) float64 {
		largest := fm * distuv.UnitNormal.Prob(v) * math.Pow(distuv.UnitNormal.CDF(v), fm-1)
		return largest * math.Pow(distuv.UnitNormal.CDF(by-v), fn)
	}
	sum := 0.0
	for from := -9.; from < 9; from += 3 {
		sum += quad.Fixed(chance, from, from+3, 32, quad.Legendre{}, 0)
	}
	return sum
}
