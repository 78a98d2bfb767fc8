package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// maxExactAligned is the largest number of rounds for which the tails of the
	// aligned-rank statistic are exact; beyond, they are Edgeworth's approximation.
	maxExactAligned = 16
	// edgeworthReach is the distance from the mean, in deviations, up to which Edgeworth's
	// corrections are used. Beyond, they may turn negative; the normal tail alone is then
	// too large, for a sum of bounded values.
	edgeworthReach = 4
)

// alignedRounds are rounds whose values are taken as distances from their round's mean.
type alignedRounds struct {
	contrasts []float64
	sizes     []int   // arms of each round, 2 or 3
	share     float64 // of the sum's distance from its mean that counts
	groups    [4]alignedGroup
	near      float64 // values closer than that are ties
	// Of the last shift: ranks of the values of each round, twice, the arm's first.
	ranks []([3]int)
	ties  bool
	width float64        // about a deviation of the estimate
	tied  []alignedValue // room for rank
	work  []float64      // room for exactTails
}

// alignedGroup is values that a shift of the arm moves alike.
type alignedGroup struct {
	values []alignedValue // ascending
	slope  float64        // of the values in the shift
}

type alignedValue struct {
	at          float64
	round, slot int // slot 0 is the arm's
}

func (r AlignedRounds) align(name string) (*alignedRounds, error) {
	if len(r.Contrasts) != len(r.Apart) {
		return nil, fmt.Errorf("%s: %d contrasts and %d differences of the others: %w", name, len(r.Contrasts), len(r.Apart), ErrArgument)
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
		h := r.Apart[i]
		if math.IsInf(h, 0) {
			return nil, fmt.Errorf("%s: difference %d is %v: %w", name, i+1, h, ErrNotFinite)
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
		slices.SortFunc(g.values, func(x, y alignedValue) int {
			switch {
			case x.at < y.at:
				return -1
			case x.at > y.at:
				return 1
			}
			return 0
		})
	}
	return a, nil
}

// least is the smallest tail that the rounds can give.
func (a *alignedRounds) least() float64 {
	p := 1.0
	for _, k := range a.sizes {
		p /= float64(k)
	}
	return p
}

// rank ranks all values after the arm was moved by -shift.
func (a *alignedRounds) rank(shift float64) {
	var next [4]int
	tied := a.tied[:0]
	a.ties = false
	rank, start := 0, math.Inf(-1)
	flush := func() {
		for _, v := range tied {
			a.ranks[v.round][v.slot] = 2*rank + len(tied) + 1
		}
		a.ties = a.ties || len(tied) > 1
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

// excess is by how much the arm's sum of ranks is larger than chance expects, times 12: a
// whole number, so that 0 is 0.
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

// tails are P(S ≤ s) and P(S ≥ s) for the arm's sum of ranks s after it was moved by -shift.
func (a *alignedRounds) tails(shift float64) (lower, upper float64) {
	a.rank(shift)
	if len(a.contrasts) <= maxExactAligned {
		return a.exactTails()
	}
	return a.edgeworthTails()
}

// exactTails convolve the rounds: in each, the arm's rank is any of the round's.
func (a *alignedRounds) exactTails() (lower, upper float64) {
	unit := 2
	if a.ties {
		unit = 1
	}
	at, total, mean := 0, 0, 0.0
	for i, r := range a.ranks {
		own := r[:a.sizes[i]]
		low, high := extremes(own)
		at += (r[0] - low) / unit
		total += (high - low) / unit
		for _, v := range own {
			mean += float64(v-low) / float64(unit*len(own))
		}
	}
	if need := 2 * (total + 1); cap(a.work) < need {
		a.work = make([]float64, 2*need)
	}
	p, next := a.work[:total+1], a.work[cap(a.work)/2:][:total+1]
	p[0] = 1
	reached := 0
	for i, r := range a.ranks {
		own := r[:a.sizes[i]]
		low, high := extremes(own)
		step := (high - low) / unit
		clear(next[:reached+step+1])
		share := 1 / float64(len(own))
		for _, v := range own {
			into := next[(v-low)/unit:][:reached+1]
			for s, q := range p[:reached+1] {
				into[s] += q * share
			}
		}
		reached += step
		p, next = next, p
	}
	counts := mean + (float64(at)-mean)*a.share
	for s, q := range p[:reached+1] {
		if float64(s) <= counts+1e-9 {
			lower += q
		}
		if float64(s) >= counts-1e-9 {
			upper += q
		}
	}
	return min(1, lower), min(1, upper)
}

func extremes(r []int) (low, high int) { return slices.Min(r), slices.Max(r) }

// edgeworthAt is tails by approximation, whatever the number of rounds.
func (a *alignedRounds) edgeworthAt(shift float64) (lower, upper float64) {
	a.rank(shift)
	return a.edgeworthTails()
}

// edgeworthTails approximate the tails by the first four cumulants of the sum.
func (a *alignedRounds) edgeworthTails() (lower, upper float64) {
	var excess, k2, k3, k4 float64
	for i, r := range a.ranks {
		own := r[:a.sizes[i]]
		n, mean := float64(len(own)), 0.0
		for _, v := range own {
			mean += float64(v) / 2 / n
		}
		var m2, m3, m4 float64
		for _, v := range own {
			x := float64(v)/2 - mean
			m2 += x * x / n
			m3 += x * x * x / n
			m4 += x * x * x * x / n
		}
		excess += float64(r[0])/2 - mean
		k2 += m2
		k3 += m3
		k4 += m4 - 3*m2*m2
	}
	if k2 == 0 {
		return 1, 1
	}
	sd := math.Sqrt(k2)
	excess *= a.share
	half := 0.5
	if a.ties {
		half = 0.25
	}
	g3, g4 := k3/(sd*sd*sd), k4/(k2*k2)
	return edgeworth(-(excess+half)/sd, -g3, g4), edgeworth((excess-half)/sd, g3, g4)
}

// edgeworth is the upper tail at z of a variable of mean 0, deviation 1, and that skewness
// and excess kurtosis (Kolassa 2006, Series Approximation Methods in Statistics, section 3).
func edgeworth(z, skew, kurtosis float64) float64 {
	tail := distuv.UnitNormal.Survival(z)
	if math.Abs(z) > edgeworthReach {
		return tail
	}
	z2 := z * z
	tail += distuv.UnitNormal.Prob(z) * ((z2-1)*skew/6 + z*(z2-3)*kurtosis/24 + z*(z2*(z2-10)+15)*skew*skew/72)
	return min(1, max(0, tail))
}
