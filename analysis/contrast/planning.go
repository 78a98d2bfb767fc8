package contrast

import (
	"math"
	"slices"

	"tare/stats"
)

// Derived says that the values stand for their number only, and that the estimate is
// not made from them: that of a change of two overheads without pairs.
func (d *Data) Derived() bool { return d.estimate != nil }

// Aligned gives the units of pairs as the aligned rank test takes them; false where the
// signed-rank test serves.
func (d *Data) Aligned() (stats.AlignedRounds, bool) {
	contrasts, deltas, _ := d.Units()
	if d.Means || d.Controlled() == 0 && d.Places == nil {
		return stats.AlignedRounds{}, false
	}
	if deltas == nil {
		deltas = slices.Repeat([]float64{math.NaN()}, len(contrasts))
	}
	return stats.AlignedRounds{Contrasts: contrasts, Apart: deltas, PositionsRemoved: d.Places != nil}, true
}

// RoundsEach is how many rounds a unit takes: those of a set-up that several share.
func (d *Data) RoundsEach() int {
	most := 1
	if d.SetUps != nil {
		for _, block := range d.blocks() {
			most = max(most, len(block))
		}
	}
	return most
}

// LastShort says whether the last set-up has fewer rounds than others, so that more may
// follow.
func (d *Data) LastShort() bool {
	if d.SetUps == nil {
		return false
	}
	blocks := d.blocks()
	return len(blocks[len(blocks)-1]) < d.RoundsEach()
}

// MostlyControlled says whether the reference of most pairs is baseline and control.
func (d *Data) MostlyControlled() bool { return 2*d.Controlled() > len(d.Contrasts) }

// Freedom is about the degrees of freedom that the error of the estimate is known with.
func (d *Data) Freedom() float64 {
	switch {
	case !d.Paired:
		return float64(len(d.Baseline) + len(d.Treated) - 2)
	case d.MostlyControlled():
		return stats.AlignedDF(d.Size())
	}
	return float64(d.Size() - 1)
}
