package stats

import (
	"fmt"
	"math"
)

// SteinRounds returns the total number of rounds (the pilot's included) after
// which the interval of SteinInterval has the given half-width or less, by
// Stein's two-stage rule (Stein 1945): n = max(n₀, ⌈(t·s/halfWidth)²⌉) with the
// pilot's n₀ and s and t of n₀-1 degrees of freedom. The number is fixed once,
// from the pilot's spread alone and never from its mean, which is why looking
// does not bias the result. A number over limit is cut to it and reported as
// capped: the interval is then still valid, but wider than asked for.
func SteinRounds(pilot []float64, halfWidth, confidence float64, limit int) (n int, capped bool, err error) {
	const name = "Stein rounds"
	if err := checkConfidence(name, confidence); err != nil {
		return 0, false, err
	}
	if err := checkPositive(name, "half-width", halfWidth); err != nil {
		return 0, false, err
	}
	if err := checkFinite(name, pilot); err != nil {
		return 0, false, err
	}
	if err := checkCount(name, len(pilot), 2); err != nil {
		return 0, false, err
	}
	if limit < len(pilot) {
		return 0, false, fmt.Errorf("%s: at most %d rounds, but the pilot has %d: %w", name, limit, len(pilot), ErrArgument)
	}
	_, sd := meanSD(pilot)
	t := studentQuantile(1-(1-confidence)/2, float64(len(pilot)-1))
	needed := math.Ceil((t * sd / halfWidth) * (t * sd / halfWidth))
	switch {
	case needed > float64(limit):
		return limit, true, nil
	case needed > float64(len(pilot)):
		return int(needed), false, nil
	}
	return len(pilot), false, nil
}

// SteinInterval estimates the mean of d, all rounds with the pilot's first,
// after SteinRounds fixed their number: mean ± t·s/√n with the pilot's s and
// n₀-1 degrees of freedom. Using the spread of all rounds instead would make
// the coverage wrong, since their number depends on the pilot's spread. Exact
// for normal values, capped or not.
func SteinInterval(pilotSD float64, pilotN int, d []float64, confidence float64) (Estimate, error) {
	const name = "Stein interval"
	if err := checkConfidence(name, confidence); err != nil {
		return Estimate{}, err
	}
	if err := checkPositive(name, "pilot's standard deviation", pilotSD); err != nil {
		return Estimate{}, err
	}
	if err := checkCount(name+", pilot", pilotN, 2); err != nil {
		return Estimate{}, err
	}
	if err := checkFinite(name, d); err != nil {
		return Estimate{}, err
	}
	if err := checkCount(name, len(d), pilotN); err != nil {
		return Estimate{}, err
	}
	mean, _ := meanSD(d)
	se := pilotSD / math.Sqrt(float64(len(d)))
	return studentEstimate(mean, se, float64(pilotN-1), confidence, len(d)), nil
}

// EquivalenceStein is the p of "the mean of d lies at -margin or below, or at
// margin or above", by two one-sided tests with the pilot's spread and degrees of
// freedom, as in SteinInterval.
func EquivalenceStein(pilotSD float64, pilotN int, d []float64, margin float64) (p float64, err error) {
	const name = "Stein equivalence"
	if err := checkPositive(name, "margin", margin); err != nil {
		return 0, err
	}
	if err := checkPositive(name, "pilot's standard deviation", pilotSD); err != nil {
		return 0, err
	}
	if err := checkCount(name+", pilot", pilotN, 2); err != nil {
		return 0, err
	}
	if err := checkFinite(name, d); err != nil {
		return 0, err
	}
	if err := checkCount(name, len(d), pilotN); err != nil {
		return 0, err
	}
	mean, _ := meanSD(d)
	se := pilotSD / math.Sqrt(float64(len(d)))
	return studentTail((margin-math.Abs(mean))/se, float64(pilotN-1)), nil
}
