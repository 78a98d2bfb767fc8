package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Holm returns the p-values, adjusted for their number, in the order given (Holm 1979). If every adjusted p-value of
// at most 5 % is claimed, the chance of any false claim is at most 5 %, whatever the dependence between the tests. A
// NaN counts as 1: a hypothesis that could not be tested stays in the family.
func Holm(p []float64) []float64 {
	adjusted := Mapped(p, func(v float64) float64 {
		if math.IsNaN(v) {
			return 1
		}
		return v
	})
	largest := 0.0
	for i, at := range ascending(adjusted) {
		largest = max(largest, min(1, adjusted[at]*float64(len(p)-i)))
		adjusted[at] = largest
	}
	return adjusted
}

// Exaggeration returns the expected exaggeration of an effect that was claimed with a two-sided p-value at a
// significance level alpha. Only large enough estimates become claims, so the estimates of claims are too large on
// average (type M error: Gelman & Carlin 2014, "Beyond power calculations", Perspectives on Psychological Science 9).
// The assumed true effect is the effect whose claimed estimates are on average as large as the claimed estimate: the
// maximum likelihood estimate given the claim (Zhong & Prentice 2008, "Bias-reduced estimators", Biostatistics 9).
// The result power is the chance that an experiment of this kind claims the assumed true effect. The result factor is
// the average claimed size divided by the true size. Both are NaN for a p or an alpha that is not between 0 and 1. A
// p above alpha counts as alpha.
func Exaggeration(p, alpha float64) (power, factor float64) {
	if !(p >= 0 && p < 1) || !(alpha > 0 && alpha < 1) {
		return math.NaN(), math.NaN()
	}
	c := -mathext.NormalQuantile(alpha / 2)
	z := c
	if p < alpha {
		z = min(-mathext.NormalQuantile(max(p, 1e-300)/2), 37)
	}
	_, much := bisect(0, z, 60, func(effect float64) bool { return claimedMean(effect, c) < z }) // true effect, in standard errors
	power = normalCDF(much-c) + normalCDF(-much-c)
	size := much*(normalCDF(much-c)-normalCDF(-much-c)) + normalDensity(c-much) + normalDensity(c+much)
	return power, size / power / much
}

// claimedMean returns the mean of Z ~ N(effect, 1) given that |Z| > c.
func claimedMean(effect, c float64) float64 {
	claimed := normalCDF(effect-c) + normalCDF(-effect-c)
	return effect + (normalDensity(c-effect)-normalDensity(c+effect))/claimed
}
