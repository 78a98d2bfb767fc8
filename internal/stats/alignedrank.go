package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// alignedPrecision is the precision of an interval's bounds and point, as a share of the interval's width.
const alignedPrecision = 1e-4

// AlignedRounds are rounds in which an arm ran with one or two other arms: the baseline, and its copy, the control.
type AlignedRounds struct {
	Contrasts   []float64 // the arm's value minus the mean of the round's other arms
	OthersDelta []float64 // half the difference of the two other arms; NaN if only one other arm ran
	// PositionsRemoved is set if estimated position effects were subtracted from Contrasts and OthersDelta, and with
	// the effects a part of the noise.
	PositionsRemoved bool
}

// AlignedRank estimates the shift of an arm by the aligned rank test (Hodges and Lehmann 1962, "Rank methods for
// combination of independent experiments in analysis of variance", Annals of Mathematical Statistics 33). Values are
// ranked by their distance from the mean of their round. The test needs a random order of trials within rounds, but no
// normality and no symmetry. It is exact if the arms differ only by the shift. For an arm that spreads more than the
// other arms, the interval is a little too narrow (see Noisier).
//
// The point is the shift at which the sum of the arm's ranks equals its expectation (Hodges and Lehmann 1963, section
// 4). A 95 % interval needs four rounds with two other arms each, or six rounds with one other arm each. Fewer rounds
// give ErrTooFew.
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
	e.equivalence = bothTails(func(shift float64) (lower, upper float64) { return a.tails(-shift) })
	if a.width = max(math.Sqrt(squares(a.contrasts, Mean(a.contrasts)))/float64(len(a.contrasts)), a.near); a.width == 0 {
		return e, nil // all values are the same
	}
	e.Point = a.middle()
	e.Lo = a.firstShift(e.Point-2*a.width, func(shift float64) bool { _, p := a.tails(shift); return p > level })
	e.Hi = -a.firstShift(-e.Point-2*a.width, func(shift float64) bool { p, _ := a.tails(-shift); return p > level })
	e.Lo, e.Hi = min(e.Lo, e.Point)+0, max(e.Hi, e.Point)+0
	return e, nil
}

// Noisier returns the one-sided p-value of "the arm spreads no more than the other arms" (Mann and Whitney's test). It
// is 1 unless at least two rounds have both other arms.
func (r AlignedRounds) Noisier() float64 {
	var distances, apart []float64
	middle := Median(r.Contrasts)
	for i, c := range r.Contrasts {
		variance := 2. // variance of a contrast, divided by that of one value: 2 with one other arm, 1.5 with two
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
	return normalTail((sum - n*(n+m+1)/2) / math.Sqrt(n*m*(n+m+1)/12))
}

// AlignedRankLeast returns the smallest two-sided p-value of AlignedRank. pairs is the number of rounds with one other
// arm, triples with two.
func AlignedRankLeast(pairs, triples int) float64 {
	return min(1, 2*math.Pow(0.5, float64(pairs))*math.Pow(1./3, float64(triples)))
}

// alignedRounds holds rounds after alignment: each value is replaced by its distance from the mean of its round.
type alignedRounds struct {
	contrasts []float64
	sizes     []int   // number of arms in each round, 2 or 3
	share     float64 // factor for the distance of the arm's sum of ranks from its mean; 1 unless position effects were removed
	groups    [4]alignedGroup
	near      float64         // values closer than this are ties
	ranks     []([3]int)      // twice the ranks of each round's values after the last call of rank, the arm's rank first
	width     float64         // approximate standard deviation of the estimate
	tied      []alignedValue  // buffer for rank
	buffers   [2][]assignment // buffers for counted
	scores    [3]float64      // buffer for centred
}

// alignedGroup is a group of values that all move by the same amount when the arm is shifted.
type alignedGroup struct {
	values []alignedValue // in ascending order
	slope  float64        // amount by which the values change if the arm is shifted by 1
}

type alignedValue struct {
	at          float64
	round, slot int // slot 0 belongs to the arm
}

func (r AlignedRounds) align(name string) (*alignedRounds, error) {
	if len(r.Contrasts) != len(r.OthersDelta) {
		return nil, fmt.Errorf("%s: %d contrasts and %d differences of the others: %w", name, len(r.Contrasts), len(r.OthersDelta), errArgument)
	}
	if err := checkFinite(name, r.Contrasts); err != nil {
		return nil, err
	}
	n := len(r.Contrasts)
	a := &alignedRounds{contrasts: r.Contrasts, sizes: make([]int, n), ranks: make([]([3]int), n), share: 1}
	if r.PositionsRemoved && n > 1 {
		a.share = math.Sqrt(float64(n-1) / float64(n))
	}
	for i, third := range []float64{-2. / 3, 1. / 3, -1. / 2, 1. / 2} {
		a.groups[i].slope = third
	}
	largest := 0.0
	add := func(group, round, slot int, at float64) {
		a.groups[group].values = append(a.groups[group].values, alignedValue{at, round, slot})
		largest = max(largest, math.Abs(at))
	}
	for i, c := range r.Contrasts {
		h := r.OthersDelta[i]
		if math.IsInf(h, 0) {
			return nil, fmt.Errorf("%s: difference %d is %v: %w", name, i+1, h, errNotFinite)
		}
		if math.IsNaN(h) {
			a.sizes[i] = 2
			add(2, i, 0, c/2)
			add(3, i, 1, -c/2)
			continue
		}
		a.sizes[i] = 3
		add(0, i, 0, c*2/3)
		add(1, i, 1, -c/3-h)
		add(1, i, 2, -c/3+h)
	}
	a.near = largest * 1e-12
	for _, g := range a.groups {
		slices.SortFunc(g.values, func(x, y alignedValue) int { return cmp.Compare(x.at, y.at) })
	}
	return a, nil
}

// least returns the smallest tail probability that is possible with these rounds.
func (a *alignedRounds) least() float64 {
	p := 1.0
	for _, k := range a.sizes {
		p /= float64(k)
	}
	return p
}

func (a *alignedRounds) rank(shift float64) {
	var next [4]int
	tied := a.tied[:0]
	rank, start := 0, math.Inf(-1)
	flush := func() {
		for _, v := range tied {
			a.ranks[v.round][v.slot] = 2*rank + len(tied) + 1
		}
		rank += len(tied)
		tied = tied[:0]
	}
	for {
		group, least := -1, math.Inf(1)
		for g := range a.groups {
			if next[g] < len(a.groups[g].values) {
				if at := a.groups[g].values[next[g]].at + a.groups[g].slope*shift; at < least || group < 0 {
					group, least = g, at
				}
			}
		}
		if group < 0 {
			break
		}
		if len(tied) > 0 && least-start > a.near {
			flush()
		}
		if len(tied) == 0 {
			start = least
		}
		tied = append(tied, a.groups[group].values[next[group]])
		next[group]++
	}
	flush()
	a.tied = tied
}

// excess returns 12 times the difference between the arm's sum of ranks and its expectation: a whole number.
func (a *alignedRounds) excess(shift float64) int {
	a.rank(shift)
	sum := 0
	for i, r := range a.ranks {
		k, all := a.sizes[i], 0
		for _, v := range r[:k] {
			all += v
		}
		sum += 6 / k * (k*r[0] - all)
	}
	return sum
}

// middle returns the shift at which the sum of the arm's ranks equals its expectation. If a range of shifts does so, it
// returns the range's middle.
func (a *alignedRounds) middle() float64 {
	from := a.firstShift(Median(a.contrasts), func(shift float64) bool { return a.excess(shift) <= 0 })
	if next := from + 2*a.width*alignedPrecision; a.excess(next) >= 0 {
		return from/2 - a.firstShift(-next, func(shift float64) bool { return a.excess(-shift) >= 0 })/2
	}
	return from
}

// firstShift returns a shift slightly below the smallest shift for which holds(shift) is true. The search starts at a
// guess.
func (a *alignedRounds) firstShift(guess float64, holds func(float64) bool) float64 {
	step, precise := a.width, max(a.width*alignedPrecision, a.near)
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
