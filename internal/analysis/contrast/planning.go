package contrast

import (
	"math"
	"slices"

	"tare/internal/stats"
)

// Derived reports whether the estimate is not made from the values of the data, so that only the number of
// values counts. A change between two overheads without pairs is an example.
func (d *Data) Derived() bool { return d.estimate != nil }

// Aligned returns the units of pairs in the form for the aligned rank test; false if the signed-rank test
// is used instead.
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

// RoundsEach returns the largest number of rounds in a unit. It is more than 1 if rounds share a set-up.
func (d *Data) RoundsEach() int {
	most := 1
	if d.SetUps != nil {
		for _, block := range d.blocks() {
			most = max(most, len(block))
		}
	}
	return most
}

// LastShort reports whether the last set-up has fewer rounds than other set-ups. More rounds of that set-up
// may then follow.
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
