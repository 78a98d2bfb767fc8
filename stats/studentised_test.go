package stats

import (
	"math/rand/v2"
	"testing"
)

// Tails by saddlepoints against those of all ways to deal, of rounds that are just too many to be counted.
func TestSaddlepointAgainstCounting(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		for name, draw := range map[string]func() float64{"normal": rng.NormFloat64, "skewed": rng.ExpFloat64} {
			a, err := roundsOf(drawnRounds(10, rng, draw, func(i int) bool { return i == 3 })).align("")
			if err != nil {
				t.Fatal(err)
			}
			for _, shift := range []float64{-1, -0.7, 0.7, 1} {
				lower, upper := a.tails(shift)
				at, _ := a.statistic(shift)
				exactLower, exactUpper := a.counted(at)
				got, want := min(lower, upper), min(exactLower, exactUpper)
				if want > 5e-4 && want < 0.2 {
					t.Logf("%s: %.5f, counted %.5f: %+.1f %%", name, got, want, 100*(got/want-1))
					if got < 0.95*want || got > 1.35*want {
						t.Errorf("%s, shift %v: %v, counted %v", name, shift, got, want)
					}
				}
			}
		}
	}
}
