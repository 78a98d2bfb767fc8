package stats

import (
	"cmp"
	"fmt"
	"math"
)

// LogMeanRatioPaired estimates ln(mean(y) / mean(x)) if values of the same index are from the same round. All values
// must be positive. Noise that both values of a round share cancels (delta method).
//
// The result is the smallest interval with both Student's and Hall's in it. Hall's interval removes the skewness of t
// (Hall 1992, Journal of the Royal Statistical Society B 54, 221–228). If rare values are far larger than all others,
// Student's interval reaches too far down and not far enough up. If both samples have such values, Hall's interval is
// too narrow (88.7 % at 20 rounds). With fewer than 30 values, only Student's interval is used. No method accounts for
// values so rare that none was observed.
func LogMeanRatioPaired(x, y []float64, confidence float64) (Interval, error) {
	const name = "ratio of paired means"
	meanX, meanY, err := positiveMeans(name, x, y, confidence)
	if err != nil {
		return Interval{}, err
	}
	if len(x) != len(y) {
		return Interval{}, fmt.Errorf("%s: %d and %d values do not make pairs: %w", name, len(x), len(y), errArgument)
	}
	d := make([]float64, len(x))
	for i := range x {
		d[i] = y[i]/meanY - x[i]/meanX
	}
	n := float64(len(d))
	sd, third := moments(d)
	return skewed(name, math.Log(meanY/meanX), sd/math.Sqrt(n), third/(n*n), n-1, len(d), confidence)
}

// LogMeanRatio returns the interval that LogMeanRatioPaired returns, but for two independent samples. It uses Welch's
// degrees of freedom.
func LogMeanRatio(x, y []float64, confidence float64) (Interval, error) {
	const name = "ratio of means"
	meanX, meanY, err := positiveMeans(name, x, y, confidence)
	if err != nil {
		return Interval{}, err
	}
	sdX, thirdX := moments(Mapped(x, func(v float64) float64 { return v / meanX }))
	sdY, thirdY := moments(Mapped(y, func(v float64) float64 { return v / meanY }))
	m, n := float64(len(x)), float64(len(y))
	if sdX == 0 && sdY == 0 {
		return Interval{}, constant(name)
	}
	se, df := welchError(sdX, sdY, len(x), len(y))
	return skewed(name, math.Log(meanY/meanX), se, thirdY/(n*n)-thirdX/(m*m), df, min(len(x), len(y)), confidence)
}

// fewestSkewed is the smallest number of values whose skewness can be estimated.
const fewestSkewed = 30

// skewed returns the smallest interval that contains Student's and Hall's interval around point. third is the
// estimate's third cumulant.
func skewed(name string, point, se, third, df float64, n int, confidence float64) (Interval, error) {
	if negligible(se, 1) {
		return Interval{}, constant(name)
	}
	q := StudentQuantile(1-(1-confidence)/2, df)
	skew := third / (se * se * se)
	hall := func(t float64) float64 {
		if n < fewestSkewed || math.Abs(skew) < 1e-6 {
			return t
		}
		return 3 / skew * (math.Cbrt(1+skew*(t-skew/6)) - 1)
	}
	return Interval{Point: point, Lo: point - se*max(q, hall(q)), Hi: point - se*min(-q, hall(-q))}, nil
}

// moments returns the standard deviation, and the mean of the third powers of the deviations from the mean.
func moments(x []float64) (sd, third float64) {
	mean, sd := meanSD(x)
	for _, v := range x {
		third += (v - mean) * (v - mean) * (v - mean) / float64(len(x))
	}
	return sd, third
}

// positiveMeans returns the means of two samples of positive values, or an error for an invalid value.
func positiveMeans(name string, x, y []float64, confidence float64) (meanX, meanY float64, err error) {
	if err := cmp.Or(checkConfidence(name, confidence), checkSamples(name, x, y, 2)); err != nil {
		return 0, 0, err
	}
	for _, sample := range [][]float64{x, y} {
		for i, v := range sample {
			if v <= 0 {
				return 0, 0, fmt.Errorf("%s: value %d is %v, and not positive: %w", name, i+1, v, errArgument)
			}
		}
	}
	meanX, _ = meanSD(x)
	meanY, _ = meanSD(y)
	return meanX, meanY, nil
}
