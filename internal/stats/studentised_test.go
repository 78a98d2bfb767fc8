package stats

import (
	"math/rand/v2"
	"testing"

	"tare/internal/test/slow"
)

// Saddlepoint tails agree with those of all assignments, for rounds that are just too many for
// counting.
func TestSaddlepointAgainstCounting(t *testing.T) {
	slow.Test(t)
	rng := rand.New(rand.NewPCG(3, 4))
	tails, low := 0, 0
	least, most := 1., 1.
	for i := range 1000 {
		draw := rng.NormFloat64
		if i%2 == 1 {
			draw = rng.ExpFloat64
		}
		a, err := roundsOf(drawnRounds(10, rng, draw, func(i int) bool { return i == 3 })).align("")
		if err != nil {
			t.Fatal(err)
		}
		for _, shift := range []float64{-1, -0.7, 0.7, 1} {
			lower, upper := a.tails(shift)
			at, _ := a.statistic(shift)
			exactLower, exactUpper := a.counted(at)
			exact := min(exactLower, exactUpper)
			if exact < 5e-4 || exact > 0.2 {
				continue
			}
			ratio := min(lower, upper) / exact
			least, most = min(least, ratio), max(most, ratio)
			if tails++; ratio < 0.95 {
				low++
			}
		}
	}
	t.Logf("of %d tails %d lie over a twentieth below the exact one; ratios from %.2f to %.2f", tails, low, least, most)
	if tails < 1000 || low > tails/100 || least < 0.8 || most > 1.5 {
		t.Error("the saddlepoint approximation is off")
	}
}
