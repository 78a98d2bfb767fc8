package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHalfway(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 400; n++ {
		for _, distinct := range []int{1, 2, 5, 1 << 30} {
			x := make([]float64, n)
			for i := range x {
				x[i] = float64(rng.IntN(distinct))
			}
			for _, arrange := range []func([]float64){func([]float64) {}, slices.Sort[[]float64], slices.Reverse[[]float64]} {
				arrange(x)
				if got, want := medianInPlace(slices.Clone(x)), Quantile(slices.Sorted(slices.Values(x)), 0.5); got != want {
					t.Fatalf("median of %v: %v, want %v", x, got, want)
				}
			}
		}
	}
}
