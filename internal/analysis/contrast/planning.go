package contrast

import (
	"math"
	"slices"

	"tare/internal/stats"
)

// Derived reports whether the estimate has a function of its own, since the values do not suffice; an example is a
// change between overheads without pairs.
func (d *Data) Derived() bool { return d.estimate != nil }

// Aligned returns the rounds as the aligned rank test needs them. If the signed-rank test applies, or the test of
// means, Aligned returns false.
func (d *Data) Aligned() (stats.AlignedRounds, bool) {
	contrasts, deltas, _ := d.Units()
	if d.Means || d.Controlled() == 0 && d.PositionEffects == nil {
		return stats.AlignedRounds{}, false
	}
	if deltas == nil {
		deltas = slices.Repeat([]float64{math.NaN()}, len(contrasts))
	}
	return stats.AlignedRounds{Contrasts: contrasts, OthersDelta: deltas, PositionsRemoved: d.PositionEffects != nil}, true
}

// RoundsEach returns the largest number of rounds that share one set-up; 1: no rounds share a set-up.
func (d *Data) RoundsEach() int {
	most := 1
	if d.SetUps != nil {
		for _, block := range d.blocks() {
			most = max(most, len(block))
		}
	}
	return most
}

// LastShort reports whether the last set-up has fewer rounds than other set-ups. Further rounds can join a short last
// set-up.
func (d *Data) LastShort() bool {
	if d.SetUps == nil {
		return false
	}
	blocks := d.blocks()
	return len(blocks[len(blocks)-1]) < d.RoundsEach()
}

// MostlyControlled reports whether most pairs compare the arm with the mean of baseline and control.
func (d *Data) MostlyControlled() bool { return 2*d.Controlled() > len(d.Contrasts) }

// Freedom returns the approximate degrees of freedom of the estimate's error.
func (d *Data) Freedom() float64 {
	switch {
	case !d.Paired:
		return float64(len(d.Baseline) + len(d.Treated) - 2)
	case d.MostlyControlled():
		return stats.AlignedDF(d.Size())
	}
	return float64(d.Size() - 1)
}

// LeastP returns the smallest two-sided p-value of the rank test for data of this size: all pairs have one sign, or
// samples do not overlap.
func (r Rules) LeastP(d *Data) float64 {
	if d.errs != nil {
		return 0 // the method does not use ranks
	}
	if !d.Paired {
		return stats.RankSumLeast(len(d.Baseline), len(d.Treated))
	}
	contrasts, deltas, _ := d.Units()
	pairs, triples := len(contrasts), 0
	for _, a := range deltas {
		if !math.IsNaN(a) {
			pairs, triples = pairs-1, triples+1
		}
	}
	if least := stats.AlignedRankLeast(pairs+triples, 0); !enough(least, r.Alpha) {
		return r.TwoSided(least) // in so few rounds no test can tell control and baseline apart: the control is not used
	}
	return r.TwoSided(stats.AlignedRankLeast(pairs, triples))
}

// enough reports whether a test can give a claim: its smallest possible p-value is not above the significance level.
func enough(least, level float64) bool { return least <= level*(1+1e-9) }

const mostFewest = 1000

// Fewest returns the smallest number of pairs, or of values per sample, with which the rank test can give a two-sided
// p-value of alpha.
func Fewest(paired bool, alpha float64) int {
	return fewest(func(n int) bool {
		if paired {
			return enough(stats.AlignedRankLeast(n, 0), alpha)
		}
		return enough(stats.RankSumLeast(n, n), alpha)
	})
}

// Fewest returns the smallest number of pairs, or of values per sample, with which a claim is possible among family
// hypotheses. controlled: pairs compare with baseline and control together.
func (r Rules) Fewest(paired, controlled bool, family int) int {
	if !controlled {
		return Fewest(paired, r.Alpha/float64(family))
	}
	return max(Fewest(true, r.Alpha), fewest(func(n int) bool {
		controlled := n
		if r.controlled != nil {
			controlled = r.controlled(n)
		}
		return enough(stats.AlignedRankLeast(n-controlled, controlled), r.Alpha/float64(family))
	}))
}

func fewest(allows func(n int) bool) int {
	for n := 1; n < mostFewest; n++ {
		if allows(n) {
			return n
		}
	}
	return mostFewest
}
