package contrast

import (
	"math"
	"slices"

	"tare/internal/stats"
)

// Derived reports whether the estimate needs more than the values of the data. A change between two overheads without
// pairs is an example.
func (d *Data) Derived() bool { return d.estimate != nil }

// Aligned returns the independent values of pairs for the aligned rank test; false if the signed-rank test is used
// instead.
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

// RoundsEach returns the largest number of rounds behind one independent value: more than 1 if rounds share a set-up.
func (d *Data) RoundsEach() int {
	most := 1
	if d.SetUps != nil {
		for _, block := range d.blocks() {
			most = max(most, len(block))
		}
	}
	return most
}

// LastShort reports whether the last set-up has fewer rounds than other set-ups, so that more rounds may follow.
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

// LeastP returns the smallest two-sided p-value that the rank test can give for data of this size. Pairs that all
// have the same sign give this p-value, and so do two samples that do not overlap.
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
		return r.TwoSided(least) // so few rounds cannot show that the control differs from the baseline, so the control takes no part
	}
	return r.TwoSided(stats.AlignedRankLeast(pairs, triples))
}

// enough reports whether the smallest possible p-value allows a claim at a significance level.
func enough(least, level float64) bool { return least <= level*(1+1e-9) }

const mostFewest = 1000

// Fewest returns the smallest number of pairs, or of values in each of two samples, with which the rank test can give
// a two-sided p-value of alpha.
func Fewest(paired bool, alpha float64) int {
	return fewest(func(n int) bool {
		if paired {
			return enough(stats.AlignedRankLeast(n, 0), alpha)
		}
		return enough(stats.RankSumLeast(n, n), alpha)
	})
}

// Fewest returns the smallest number of pairs or values with which a claim is possible. The p-value must reach alpha
// divided by family, the number of hypotheses that share alpha. If the argument controlled is set, pairs compare the
// arm with baseline and control together.
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
