package stats

import (
	"cmp"
	"fmt"
	"math"
)

// PairedT estimates the mean of d, usually one log ratio per round, with Student's t (n ≥ 2). It is exact for normal
// values. Constant values give ErrConstant.
func PairedT(d []float64, confidence float64) (Estimate, error) {
	const name = "paired t"
	if err := cmp.Or(checkConfidence(name, confidence), checkValues(name, d, 2)); err != nil {
		return Estimate{}, err
	}
	mean, sd := meanSD(d)
	se := sd / math.Sqrt(float64(len(d)))
	if negligible(se, math.Abs(mean)) {
		return Estimate{}, fmt.Errorf("%s: all %d values are %v: %w", name, len(d), d[0], ErrConstant)
	}
	return studentEstimate(mean, se, float64(len(d)-1), confidence, len(d)), nil
}

// WelchT estimates mean(y) - mean(x) of independent samples with unequal variances (Welch–Satterthwaite). Each sample
// needs at least two values.
func WelchT(x, y []float64, confidence float64) (Estimate, error) {
	const name = "Welch t"
	if err := cmp.Or(checkConfidence(name, confidence), checkSamples(name, x, y, 2)); err != nil {
		return Estimate{}, err
	}
	meanX, sdX := meanSD(x)
	meanY, sdY := meanSD(y)
	se, df := welchError(sdX, sdY, len(x), len(y))
	if negligible(se, math.Max(math.Abs(meanX), math.Abs(meanY))) {
		return Estimate{}, fmt.Errorf("%s: neither sample varies: %w", name, ErrConstant)
	}
	return studentEstimate(meanY-meanX, se, df, confidence, len(x)+len(y)), nil
}

// Weighted is a sample with a weight. In a sum of means, the mean of the sample is multiplied by its weight.
type Weighted struct {
	Weight float64
	Values []float64
}

// WelchSum estimates a weighted sum of means of independent samples with unequal variances (Welch 1947). Each needs two
// values. Weights -1, 1, 1, -1 give the difference of two differences.
func WelchSum(samples []Weighted, confidence float64) (Estimate, error) {
	const name = "Welch sum"
	if err := cmp.Or(checkConfidence(name, confidence), checkCount(name+", samples", len(samples), 1)); err != nil {
		return Estimate{}, err
	}
	var sum, variance, spread, magnitude float64
	values := 0
	for i, s := range samples {
		which := fmt.Sprintf("%s, sample %d", name, i+1)
		if math.IsNaN(s.Weight) || math.IsInf(s.Weight, 0) {
			return Estimate{}, fmt.Errorf("%s: weight %v is not a finite number: %w", which, s.Weight, errArgument)
		}
		if err := checkValues(which, s.Values, 2); err != nil {
			return Estimate{}, err
		}
		mean, sd := meanSD(s.Values)
		n := float64(len(s.Values))
		v := s.Weight * s.Weight * sd * sd / n
		sum += s.Weight * mean
		variance += v
		spread += v * v / (n - 1)
		magnitude = max(magnitude, math.Abs(s.Weight*mean))
		values += len(s.Values)
	}
	se := math.Sqrt(variance)
	if negligible(se, magnitude) {
		return Estimate{}, fmt.Errorf("%s: no sample varies: %w", name, ErrConstant)
	}
	return studentEstimate(sum, se, variance*variance/spread, confidence, values), nil
}

// welchError returns the standard error of the difference between the means of m and n values, and its degrees of
// freedom by Welch and Satterthwaite.
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
		P:        min(1, 2*StudentTail(math.Abs(mean)/se, df)),
		N:        n,

		equivalence: func(margin float64) float64 { return StudentTail((margin-math.Abs(mean))/se, df) },
	}
}

// negligible reports whether a standard error is rounding noise, by the rule of R's t.test.
func negligible(se, magnitude float64) bool { return se <= 10*0x1p-52*magnitude }

// Mean returns the mean. Each value is divided before it is added, so that no sum overflows.
func Mean(x []float64) (mean float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	return mean
}

// squares returns the sum of the squared distances of values from a centre.
func squares(x []float64, centre float64) (sum float64) {
	for _, v := range x {
		sum += (v - centre) * (v - centre)
	}
	return sum
}

// meanSD returns the mean and the sample standard deviation (divisor n-1), in two passes.
func meanSD(x []float64) (mean, sd float64) {
	n := float64(len(x))
	mean = Mean(x)
	var sum, sumSquares float64
	for _, v := range x {
		sum += v - mean
		sumSquares += (v - mean) * (v - mean)
	}
	return mean + sum/n, math.Sqrt((sumSquares - sum*sum/n) / (n - 1))
}

// SteinRounds returns the number of rounds, the pilot's included, for an interval with at most this half-width (Stein
// 1945): n = max(n₀, ⌈(t·s/halfWidth)²⌉). n₀ is the pilot's number of rounds, s its standard deviation, and t the
// quantile with n₀-1 degrees of freedom. A look at the pilot's mean does not bias the result. Above limit, n is limit
// and capped is true; the interval is then valid, but wider.
func SteinRounds(pilot []float64, halfWidth, confidence float64, limit int) (n int, capped bool, err error) {
	const name = "Stein rounds"
	err = cmp.Or(checkConfidence(name, confidence), checkPositive(name, "half-width", halfWidth), checkValues(name, pilot, 2))
	if err != nil {
		return 0, false, err
	}
	if limit < len(pilot) {
		return 0, false, fmt.Errorf("%s: at most %d rounds, but the pilot has %d: %w", name, limit, len(pilot), errArgument)
	}
	_, sd := meanSD(pilot)
	t := StudentQuantile(1-(1-confidence)/2, float64(len(pilot)-1))
	needed := math.Ceil((t * sd / halfWidth) * (t * sd / halfWidth))
	switch {
	case needed > float64(limit):
		return limit, true, nil
	case needed > float64(len(pilot)):
		return int(needed), false, nil
	}
	return len(pilot), false, nil
}

// SteinInterval estimates the mean of d after SteinRounds: mean ± t·s/√n with the pilot's s and n₀-1 degrees of
// freedom. The pilot's rounds come first in d. The interval is exact for normal values. The spread of all rounds would
// be wrong, since their number depends on the pilot's.
func SteinInterval(pilotSD float64, pilotN int, d []float64, confidence float64) (Estimate, error) {
	const name = "Stein interval"
	err := cmp.Or(checkConfidence(name, confidence), checkPositive(name, "pilot's standard deviation", pilotSD),
		checkCount(name+", pilot", pilotN, 2), checkValues(name, d, pilotN))
	if err != nil {
		return Estimate{}, err
	}
	mean, _ := meanSD(d)
	se := pilotSD / math.Sqrt(float64(len(d)))
	return studentEstimate(mean, se, float64(pilotN-1), confidence, len(d)), nil
}

// PrecisionRounds is like SteinRounds, but for the smallest interval around both SteinInterval's and SignedRank's. With
// the chance assurance, this interval has at most the half-width. The spread of all rounds is predicted from the
// pilot's (F quantile, for normal values). The result depends only on the pilot's spread, so Stein's interval keeps its
// confidence.
func PrecisionRounds(pilot []float64, halfWidth, confidence, assurance float64, limit int) (n int, capped bool, err error) {
	const name = "precision rounds"
	if !(assurance > 0 && assurance < 1) {
		return 0, false, fmt.Errorf("%s: assurance %v is not between 0 and 1: %w", name, assurance, errArgument)
	}
	least, capped, err := SteinRounds(pilot, halfWidth, confidence, limit)
	if err != nil || capped {
		return least, capped, err
	}
	_, sd := meanSD(pilot)
	n = fewest(limit, func(n int) bool {
		return n >= least && predictedHalf(sd, len(pilot), n, confidence, assurance) <= halfWidth
	})
	if n == 0 {
		return limit, true, nil
	}
	return n, false, nil
}

// hullAllowance is the assumed width of the interval around both t's and signed-rank's, relative to t's. On normal
// values, signed-rank's is wider by 1/rankEfficiency = 1.023.
const hullAllowance = 1.04

// predictedHalf returns a half-width for the interval of PrecisionRounds over n rounds. The chance that the real
// interval is wider is 1 - assurance.
func predictedHalf(sd float64, pilot, n int, confidence, assurance float64) float64 {
	all := float64(n - 1)
	variance := sd * sd
	if n > pilot {
		f := FQuantile(assurance, float64(n-pilot), float64(pilot-1))
		variance *= (float64(pilot-1) + float64(n-pilot)*f) / all
	}
	return -StudentQuantile((1-confidence)/2, all) * math.Sqrt(variance/float64(n)) * hullAllowance
}
