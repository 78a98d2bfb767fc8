package stats

import (
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// PairedT estimates the mean of d, usually one difference or log ratio per round, with Student's t interval
// and test (n ≥ 2). It is exact for normal values, and below n = 6 it is the only choice. Values that do
// not vary give ErrConstant: they do not show the spread that the method needs, and an interval of width
// zero would claim certainty.
func PairedT(d []float64, confidence float64) (Estimate, error) {
	const name = "paired t"
	if err := checkConfidence(name, confidence); err != nil {
		return Estimate{}, err
	}
	mean, se, err := meanAndError(name, d)
	if err != nil {
		return Estimate{}, err
	}
	return studentEstimate(mean, se, float64(len(d)-1), confidence, len(d)), nil
}

// WelchT estimates mean(y) - mean(x) of two independent samples with unequal variances: Welch's
// interval and test with the Welch–Satterthwaite degrees of freedom. Each sample needs at least two
// values.
func WelchT(x, y []float64, confidence float64) (Estimate, error) {
	const name = "Welch t"
	if err := checkConfidence(name, confidence); err != nil {
		return Estimate{}, err
	}
	difference, se, df, err := welch(name, x, y)
	if err != nil {
		return Estimate{}, err
	}
	return studentEstimate(difference, se, df, confidence, len(x)+len(y)), nil
}

// welch returns mean(y) - mean(x), its standard error and the
// Welch–Satterthwaite degrees of freedom.
func welch(name string, x, y []float64) (difference, se, df float64, err error) {
	if err := checkSamples(name, x, y, 2); err != nil {
		return 0, 0, 0, err
	}
	meanX, sdX := meanSD(x)
	meanY, sdY := meanSD(y)
	se, df = welchError(sdX, sdY, len(x), len(y))
	if negligible(se, math.Max(math.Abs(meanX), math.Abs(meanY))) {
		return 0, 0, 0, fmt.Errorf("%s: neither sample varies: %w", name, ErrConstant)
	}
	return meanY - meanX, se, df, nil
}

// welchError returns the standard error of the difference between the means of m and n values, and its
// degrees of freedom by Welch and Satterthwaite.
func welchError(sdX, sdY float64, m, n int) (se, df float64) {
	x, y := sdX/math.Sqrt(float64(m)), sdY/math.Sqrt(float64(n))
	se = math.Hypot(x, y)
	shareX, shareY := x/se*(x/se), y/se*(y/se) // shares of the variance of the difference
	return se, 1 / (shareX*shareX/float64(m-1) + shareY*shareY/float64(n-1))
}

func studentEstimate(mean, se, df, confidence float64, n int) Estimate {
	half := se * StudentQuantile(1-(1-confidence)/2, df)
	return Estimate{
		Interval: Interval{Point: mean, Lo: mean - half, Hi: mean + half},
		P:        min(1, 2*studentTail(math.Abs(mean)/se, df)),
		N:        n,

		equivalence: func(margin float64) float64 { return studentTail((margin-math.Abs(mean))/se, df) },
	}
}

// meanAndError returns the mean and its standard error. It returns an error for values that are too few,
// not finite, or all the same.
func meanAndError(name string, d []float64) (mean, se float64, err error) {
	if err := checkValues(name, d, 2); err != nil {
		return 0, 0, err
	}
	mean, sd := meanSD(d)
	se = sd / math.Sqrt(float64(len(d)))
	if negligible(se, math.Abs(mean)) {
		return 0, 0, fmt.Errorf("%s: all %d values are %v: %w", name, len(d), d[0], ErrConstant)
	}
	return mean, se, nil
}

// negligible reports whether a standard error is rounding noise, by the rule of R's t.test.
func negligible(se, magnitude float64) bool { return se <= 10*0x1p-52*magnitude }

// meanSD returns the mean and the sample standard deviation (divisor n-1), in two passes.
func meanSD(x []float64) (mean, sd float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	var sum, sumSquares float64
	for _, v := range x {
		sum += v - mean
		sumSquares += (v - mean) * (v - mean)
	}
	return mean + sum/n, math.Sqrt((sumSquares - sum*sum/n) / (n - 1))
}

// studentTail returns P(T > t).
func studentTail(t, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.CDF(-t)
}

// StudentQuantile returns a quantile of Student's t distribution. Quantiles of whole degrees of
// freedom are cached, since every comparison of a run needs them and computing one takes longer
// than the rest of an interval.
func StudentQuantile(p, df float64) float64 {
	whole := df == math.Trunc(df)
	if known, ok := studentQuantiles.Load([2]float64{p, df}); whole && ok {
		return known.(float64)
	}
	q := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
	if whole {
		studentQuantiles.Store([2]float64{p, df}, q)
	}
	return q
}

var studentQuantiles sync.Map // cache: probability and degrees of freedom → quantile
