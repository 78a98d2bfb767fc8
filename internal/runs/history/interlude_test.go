package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/stats"
)

// Single splits do not find a level that comes and goes again.
func TestInterlude(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	x := make([]float64, 50)
	for i := range x {
		x[i] = rng.NormFloat64()
		if i >= 20 && i < 26 {
			x[i] += 5
		}
	}
	x[40] = 1000 // a single outlier is no interlude
	if got := search(x, 0.02, 5); !slices.Equal(got, []int{20, 26}) {
		t.Errorf("changes %v, want [20 26]", got)
	}
	if got := search(x[:14], 0.02, 5); got != nil {
		t.Errorf("fewer than three segments: %v", got)
	}
	if got := search(make([]float64, 40), 0.02, 5); got != nil {
		t.Errorf("equal values: %v", got)
	}
}

// The fast search for the stretch that differs most agrees with the definition.
func TestMostApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for range 20 {
		x := make([]float64, 12+rng.IntN(10))
		for i := range x {
			x[i] = float64(rng.IntN(8)) // few different values make ties
		}
		x = stats.Residuals(x, nil)
		sum, _ := sums(x)
		if math.Abs(sum) > 1e-9 {
			t.Fatalf("%v add up to %v", x, sum)
		}
		const least = 4
		best := -1.0
		for a := least; a <= len(x)-2*least; a++ {
			for b := a + least; b <= len(x)-least; b++ {
				inside, _ := sums(x[a:b])
				outside := -inside
				k, m := float64(b-a), float64(len(x)-b+a)
				// The difference of both means in units of √(1/k + 1/m).
				d := inside/k - outside/m
				best = max(best, d*d/(1/k+1/m))
			}
		}
		if _, _, got := mostApart(x, least, make([]float64, len(x)+1), 1); math.Abs(got-best) > 1e-9*best {
			t.Errorf("most apart %v, by the definition %v", got, best)
		}
	}
}
