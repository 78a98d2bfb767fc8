package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// alignedRounds are rounds in which each value is replaced by its distance from the mean of its round.
type alignedRounds struct {
	contrasts []float64
	sizes     []int   // number of arms of each round, 2 or 3
	share     float64 // ratio by which the sum's distance from its mean is reduced; 1 unless position effects were removed
	groups    [4]alignedGroup
	near      float64 // values closer than this are ties
	// ranks are twice the ranks of each round's values at the last shift, the arm's rank first.
	ranks   []([3]int)
	width   float64         // approximate standard deviation of the estimate
	tied    []alignedValue  // buffer for rank
	buffers [2][]assignment // buffers for counted
	scores  [3]float64      // buffer for centred
}

// alignedGroup is a group of values that a shift of the arm moves by the same amount.
type alignedGroup struct {
	values []alignedValue // ascending
	slope  float64        // change of the values per unit of shift
}

type alignedValue struct {
	at          float64
	round, slot int // slot 0 is the arm's
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

// least returns the smallest tail probability that the rounds can give.
func (a *alignedRounds) least() float64 {
	p := 1.0
	for _, k := range a.sizes {
		p /= float64(k)
	}
	return p
}

// rank ranks all values after the arm is moved by -shift.
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

// excess returns 12 times the excess of the arm's sum of ranks over its expectation. The result is a whole
// number, so that 0 is exact.
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
