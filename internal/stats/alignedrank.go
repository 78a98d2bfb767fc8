package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// alignedPrecision is the precision of an interval's bounds and point, relative to its width.
const alignedPrecision = 1e-4

// AlignedRounds are rounds in which an arm ran beside one or two others (baseline and control), which are
// copies of each other.
type AlignedRounds struct {
	Contrasts   []float64 // the arm's value minus the mean of the others
	OthersDelta []float64 // half the difference of the two others; NaN if only one other ran
	// PositionsRemoved is set if an effect of the position within the round was estimated from the same
	// values and subtracted. The values after subtraction vary less by chance than the values before.
	PositionsRemoved bool
}

// AlignedRank estimates the shift of one arm against one or two others that are copies of each other, from
// rounds in which each arm ran once. It uses the aligned rank test of Hodges and Lehmann (1962, "Rank
// methods for combination of independent experiments in analysis of variance", Annals of Mathematical
// Statistics 33). Each value is replaced by its distance from the mean of its round, and the distances of
// all rounds are ranked together. The statistic is the studentised sum: the sum of the arm's ranks, divided
// by the root of the sum of their squares. If the arm does not differ, each value of a round could equally
// well have been the arm's. The null distribution therefore comes from choosing one value of each round at
// random as the arm's value. The test needs no normality and no symmetry, but a random order of trials
// within rounds. It is exact if the arms differ only by the shift. If the arm's values spread more than the
// others' values, the interval is a little too narrow (see Noisier).
//
// The interval holds all shifts that the test does not reject. The point is the shift at which the sum
// equals its expectation (Hodges and Lehmann 1963, section 4). P is twice the smaller tail. A 95 % interval
// needs four rounds with two others in every round, and six rounds with one other, as [SignedRank] does.
// Fewer rounds give ErrTooFew.
func AlignedRank(r AlignedRounds, confidence float64) (Estimate, error) {
	const name = "aligned rank"
	if err := checkConfidence(name, confidence); err != nil {
		return Estimate{}, err
	}
	a, err := r.align(name)
	if err != nil {
		return Estimate{}, err
	}
	level := (1 - confidence) / 2 * (1 + 1e-12)
	if a.least() > level {
		return Estimate{}, fmt.Errorf("%s: %d rounds can give no interval of %g %%: %w", name, len(r.Contrasts), 100*confidence, ErrTooFew)
	}
	lower, upper := a.tails(0)
	e := Estimate{P: twoSided(lower, upper), N: len(r.Contrasts)}
	e.equivalence = bothTails(func(by float64) (lower, upper float64) { return a.tails(-by) })
	if a.width = a.typical(); a.width == 0 {
		return e, nil // all values are the same
	}
	e.Point = a.middle()
	e.Lo = a.bound(e.Point-2*a.width, level, func(shift float64) float64 { _, p := a.tails(shift); return p })
	e.Hi = -a.bound(-e.Point-2*a.width, level, func(shift float64) float64 { p, _ := a.tails(-shift); return p })
	e.Lo, e.Hi = min(e.Lo, e.Point)+0, max(e.Hi, e.Point)+0
	return e, nil
}

// Noisier returns the one-sided p-value of "the arm's values spread no more than the others' values". Mann
// and Whitney's test compares two kinds of distances: of the arm's contrasts from their median, and of the
// two others from each other. Both are in units of the noise of one value. The test uses ranks, so that a
// few outliers do not look like a wide spread. The result is 1 if both others ran in fewer than two rounds.
func (r AlignedRounds) Noisier() float64 {
	var distances, apart []float64
	middle := Median(r.Contrasts)
	for i, c := range r.Contrasts {
		variance := 2. // variance of a contrast with one other, relative to the variance of a value; it is 1.5 with two others, and 0.5 for half a difference
		if half := r.OthersDelta[i]; !math.IsNaN(half) {
			variance, apart = 1.5, append(apart, math.Abs(half)/math.Sqrt(0.5))
		}
		distances = append(distances, math.Abs(c-middle)/math.Sqrt(variance))
	}
	if len(apart) < 2 {
		return 1
	}
	ranks, _ := midRanks(slices.Concat(distances, apart))
	n, m, sum := float64(len(distances)), float64(len(apart)), 0.0
	for _, rank := range ranks[:len(distances)] {
		sum += rank
	}
	return distuv.UnitNormal.Survival((sum - n*(n+m+1)/2) / math.Sqrt(n*m*(n+m+1)/12))
}

// AlignedRankLeast returns the smallest two-sided p-value that rounds can give. The argument pairs is the
// number of rounds with one other arm, triples the number of rounds with two others.
func AlignedRankLeast(pairs, triples int) float64 {
	return min(1, 2*math.Pow(0.5, float64(pairs))*math.Pow(1./3, float64(triples)))
}

// typical returns the approximate standard deviation of the estimate.
func (a *alignedRounds) typical() float64 {
	var mean, sum float64
	n := float64(len(a.contrasts))
	for _, c := range a.contrasts {
		mean += c / n
	}
	for _, c := range a.contrasts {
		sum += (c - mean) * (c - mean)
	}
	return max(math.Sqrt(sum)/n, a.near)
}

// middle returns the shift at which the sum equals its expectation, or the middle of the range of
// such shifts.
func (a *alignedRounds) middle() float64 {
	from := a.firstShift(Median(a.contrasts), a.width, func(shift float64) bool { return a.excess(shift) <= 0 })
	if next := from + 2*a.width*alignedPrecision; a.excess(next) >= 0 {
		return from/2 - a.firstShift(-next, a.width, func(shift float64) bool { return a.excess(-shift) >= 0 })/2
	}
	return from
}

// bound returns the shift at which a tail probability reaches the level.
func (a *alignedRounds) bound(guess, level float64, tail func(shift float64) float64) float64 {
	return a.firstShift(guess, a.width, func(shift float64) bool { return tail(shift) > level })
}

// firstShift returns a shift slightly below the smallest shift for which the function holds returns true.
// It searches outwards from a guess, in steps that double, and then bisects.
func (a *alignedRounds) firstShift(guess, step float64, holds func(float64) bool) float64 {
	precise := max(a.width*alignedPrecision, a.near)
	from, to := guess, guess
	if holds(guess) {
		for from = to - step; holds(from) && step < math.MaxFloat64/4; from = to - step {
			to, step = from, 2*step
		}
	} else {
		for to = from + step; !holds(to) && step < math.MaxFloat64/4; to = from + step {
			from, step = to, 2*step
		}
	}
	for to-from > precise {
		mid := from/2 + to/2
		if mid <= from || mid >= to {
			break
		}
		if holds(mid) {
			to = mid
		} else {
			from = mid
		}
	}
	return from
}
