package stats

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Pooled is the joint estimate of one effect from several occasions. The effect itself may differ between occasions.
type Pooled struct {
	// Estimate is the mean effect. Its interval contains Hartung and Knapp's, Student's and the normal interval. P is
	// the largest of their p-values.
	Estimate
	HartungKnapp Estimate // the estimate by Hartung and Knapp's method alone
	// Spread is the standard deviation of the true effects between occasions: the estimate by Paule and Mandel, with
	// the Q profile interval.
	Spread Interval
	// Prediction is the interval for the estimate of a further occasion, if that is as precise as the given estimates
	// are on average.
	Prediction Interval
	// Q is Cochran's statistic for "the spread is 0", and PQ its p-value.
	Q, PQ   float64
	Weights []float64 // share of each estimate in the mean

	three [3]located
}

// located is an estimate with its standard error and the degrees of freedom of t. Infinite degrees of freedom stand
// for the normal distribution.
type located struct{ point, se, df float64 }

// tail returns P(T > distance/se). If se is 0, it returns 0, so that this estimate does not decide which p-value is the
// largest.
func (l located) tail(distance float64) float64 {
	switch t := distance / l.se; {
	case l.se == 0:
		return 0
	case math.IsInf(l.df, 1):
		return normalTail(t)
	default:
		return StudentTail(t, l.df)
	}
}

func (l located) estimate(confidence float64, n int) Estimate {
	quantile := mathext.NormalQuantile((1 + confidence) / 2)
	if !math.IsInf(l.df, 1) {
		quantile = StudentQuantile((1+confidence)/2, l.df)
	}
	half := l.se * quantile
	return Estimate{Interval: Interval{Point: l.point, Lo: l.point - half, Hi: l.point + half}, P: min(1, 2*l.tail(math.Abs(l.point))), N: n}
}

// RandomEffects pools at least two estimates with their standard errors. The true effects are assumed normal around
// their mean, and each estimate normal around its own true effect.
//
// The spread is estimated by the method of Paule and Mandel (J. Research of the National Bureau of Standards 87, 1982):
// with that spread, the weighted sum of squares equals its expectation, k - 1. This estimate always exists, unlike REML
// (Veroniki et al., Research Synthesis Methods 7, 2016, recommend both). The interval of the spread is the Q profile
// (Viechtbauer, Statistics in Medicine 26, 2007). If estimates agree better than their errors suggest, the Q profile is
// too narrow, and its upper bound is replaced by the bound for estimates that agree as expected.
//
// The interval of Hartung and Knapp (Statistics in Medicine 20, 2001) uses the differences between the estimates, with
// k - 1 degrees of freedom. An interval from the standard errors alone is far too narrow for few estimates (IntHout,
// Ioannidis and Borm, BMC Medical Research Methodology 14, 2014). Two further intervals correct Hartung and Knapp's.
// The
// normal interval is for estimates that happen to agree, which make it too narrow (Röver, Knapp and Friede, BMC Medical
// Research Methodology 15, 2015). Student's interval is for estimates of very unequal precision whose spread is not
// detected. Hartung and Knapp's then contains the true value in only 80 to 90 % of cases.
//
// The prediction is mean ± t·√(spread² + SE² + errors²) with k - 1 degrees of freedom, exact for estimates of equal
// precision. The usual prediction interval is for the true effect of another occasion, without the errors (Higgins,
// Thompson and Spiegelhalter, J. Royal Statistical Society A 172, 2009; Partlett and Riley, Statistics in Medicine 36,
// 2017). In simulations with 5 or 10 estimates and a spread about as large as the errors, it contained this effect in
// only 85 to 92 % of cases.
func RandomEffects(estimates, errs []float64, confidence float64) (Pooled, error) {
	const name = "random effects"
	if len(estimates) != len(errs) {
		return Pooled{}, fmt.Errorf("%s: %d estimates with %d standard errors: %w", name, len(estimates), len(errs), errArgument)
	}
	for i, se := range errs {
		if err := checkPositive(name, fmt.Sprintf("standard error %d", i+1), se); err != nil {
			return Pooled{}, err
		}
	}
	if err := cmp.Or(checkConfidence(name, confidence), checkValues(name, estimates, 2)); err != nil {
		return Pooled{}, err
	}
	m := pooling{estimates, errs}
	k := len(estimates)
	df := float64(k - 1)
	plain, deviation := meanSD(estimates)
	plainSE := deviation / math.Sqrt(float64(k))
	if negligible(plainSE, math.Abs(plain)) {
		plainSE = 0
	}
	between := m.variance(df)
	mean, q, total := m.at(between)
	known := 1 / math.Sqrt(total)
	hk := located{mean, known * math.Sqrt(q/df), df}
	if plainSE == 0 {
		hk.se = 0
	}
	p := Pooled{Weights: m.weights(between), three: [3]located{hk, {plain, plainSE, df}, {mean, known, math.Inf(1)}}}
	p.HartungKnapp = hk.estimate(confidence, k)
	within := 0.0 // mean square of the errors
	for i := range p.Weights {
		p.Weights[i] /= total
		within += errs[i] * errs[i] / float64(k)
	}
	tail := (1 - confidence) / 2
	p.Estimate = p.HartungKnapp
	for _, l := range p.three[1:] {
		e := l.estimate(confidence, k)
		p.Lo, p.Hi, p.P = min(p.Lo, e.Lo), max(p.Hi, e.Hi), max(p.P, e.P)
	}
	p.equivalence = func(margin float64) float64 { // the largest p-value of the three intervals: all three must show equivalence
		return p.largest(func(l located) float64 { return margin - math.Abs(l.point) })
	}
	half := StudentQuantile(1-tail, df) * math.Sqrt(between+known*known+within)
	p.Prediction = Interval{Point: mean, Lo: mean - half, Hi: mean + half}
	bound := func(p float64) float64 { return math.Sqrt(m.variance(ChiSquaredQuantile(p, df))) }
	p.Spread = Interval{Point: math.Sqrt(between), Lo: bound(1 - tail), Hi: bound(tail)}
	_, p.Q, _ = m.at(0)
	p.PQ = mathext.GammaIncRegComp(df/2, p.Q/2)
	if p.Q < df { // estimates that agree too well get the bound of estimates that agree as expected
		p.Spread.Hi = max(p.Spread.Hi, math.Sqrt(within*max(df/ChiSquaredQuantile(tail, df)-1, 0)))
	}
	return p, nil
}

// Exceeds returns the one-sided p-value of "the mean effect is limit or less". It is the largest p-value of the three
// estimates, as P is.
func (p Pooled) Exceeds(limit float64) float64 {
	return p.largest(func(l located) float64 { return l.point - limit })
}

// largest returns the largest of the p-values that the three estimates give. The function distance returns how far an
// estimate is from a limit.
func (p Pooled) largest(distance func(located) float64) (most float64) {
	for _, l := range p.three {
		most = max(most, l.tail(distance(l)))
	}
	return most
}

type pooling struct{ estimates, errs []float64 }

// weights returns the inverse variances of the estimates, given the variance between occasions.
func (m pooling) weights(between float64) []float64 {
	return Mapped(m.errs, func(se float64) float64 { return 1 / (se*se + between) })
}

// at returns the weighted mean of the estimates, the weighted sum of squares around it, and the sum of weights. between
// is the variance between occasions.
func (m pooling) at(between float64) (mean, q, total float64) {
	list := m.weights(between)
	for _, w := range list {
		total += w
	}
	for i, w := range list {
		mean += w / total * m.estimates[i]
	}
	for i, w := range list {
		q += w * (m.estimates[i] - mean) * (m.estimates[i] - mean)
	}
	return mean, q, total
}

// variance returns the variance between occasions at which the weighted sum of squares is wanted; 0 if this sum is
// never so large.
func (m pooling) variance(wanted float64) float64 {
	tooLarge := func(between float64) bool {
		_, q, _ := m.at(between)
		return q > wanted
	}
	if !tooLarge(0) {
		return 0
	}
	lo, hi := 0.0, m.errs[0]*m.errs[0]
	for tooLarge(hi) && !math.IsInf(hi, 1) {
		lo, hi = hi, 4*hi
	}
	lo, hi = bisect(lo, hi, 200, tooLarge)
	return lo + (hi-lo)/2
}
