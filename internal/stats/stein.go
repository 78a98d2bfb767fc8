package stats

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// SteinRounds returns the total number of rounds (the pilot's included) after which the interval of SteinInterval has
// at most the given half-width, by Stein's two-stage rule (Stein 1945): n = max(n₀, ⌈(t·s/halfWidth)²⌉). Here n₀ is
// the pilot's number of rounds, s the pilot's standard deviation, and t the quantile with n₀-1 degrees of freedom.
// The number depends on the pilot's spread and never on its mean, so looking at the pilot does not bias the result. A
// number over limit is reduced to limit and reported as capped. The interval is then still valid, but wider than
// requested.
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

// SteinInterval estimates the mean of d after SteinRounds fixed the number of rounds. The pilot's rounds come first
// in d. The interval is mean ± t·s/√n with the pilot's s and n₀-1 degrees of freedom. With the spread of all rounds,
// the interval would not have its confidence, since the number of rounds depends on the pilot's spread. SteinInterval
// is exact for normal values, whether the number of rounds was capped or not.
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

// PrecisionRounds does what SteinRounds does, for the smallest interval that contains both SteinInterval and
// SignedRank's interval. With the chance assurance, this interval has at most the half-width halfWidth. A pilot that
// happens to have little noise leads to too few rounds for SignedRank's interval, whose width depends on the noise of
// all rounds. From the pilot's spread, PrecisionRounds therefore predicts an upper bound of the standard deviation of
// all rounds, by the F quantile for the remaining rounds. The bound holds for normal values. More rounds than Stein's
// number do not lower the confidence of Stein's interval, since the number still depends on the pilot's spread alone.
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

// hullAllowance is the assumed width of the interval that contains both intervals, in widths of a t interval. On
// normal values, the signed-rank interval is wider by 1/rankEfficiency = 1.023, and its centre differs from the mean.
const hullAllowance = 1.04

// predictedHalf returns a half-width that the interval of PrecisionRounds over n rounds exceeds with a chance of 1 -
// assurance.
func predictedHalf(sd float64, pilot, n int, confidence, assurance float64) float64 {
	all := float64(n - 1)
	variance := sd * sd
	if n > pilot {
		f := distuv.F{D1: float64(n - pilot), D2: float64(pilot - 1)}.Quantile(assurance)
		variance *= (float64(pilot-1) + float64(n-pilot)*f) / all
	}
	return -StudentQuantile((1-confidence)/2, all) * math.Sqrt(variance/float64(n)) * hullAllowance
}
