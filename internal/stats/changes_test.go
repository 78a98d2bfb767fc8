package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// changeSimulations count false claims of changes in series without any.
func changeSimulations() []simulation {
	var rows []simulation
	add := func(noise string, n, minSegment, cost int, alpha, most float64) {
		name := "Changepoints, any"
		if minSegment != 3 || alpha != 0.05 {
			name = fmt.Sprintf("%s of %d at %g %%", name, minSegment, 100*alpha)
		}
		rows = append(rows, simulation{method: name, noise: noise, n: n, most: most, cost: cost,
			happens: func(r *rand.Rand) bool {
				return len(Changepoints(sample(r, noise, n), alpha, minSegment, r.Uint64())) > 0
			}})
	}
	for _, n := range []int{12, 50} {
		for _, noise := range []string{"normal", "heavy tails", "skewed", "rounded"} {
			add(noise, n, 3, 4, 0.05, 0.05)
		}
	}
	add("normal", 50, 5, 4, 0.05, 0.05)
	add("normal", 50, 5, 4, 0.01, 0.01)
	add("normal", 200, 3, 4, 0.05, 0.05)
	add("normal", 1200, 5, 10, 0.05, 0.05)
	add("skewed", 1200, 5, 10, 0.01, 0.01)
	add("autocorrelated, 0.3", 50, 3, 4, 0.05, 0.4)
	return rows
}

// stepSimulations count series with one step of 5 % in noise of 3 %, in the middle third, for which
// a change is claimed within some distance.
func stepSimulations() []simulation {
	var rows []simulation
	add := func(n, within, cost int, alpha, least, most float64) {
		name := fmt.Sprintf("within %d, at %g %%", within, 100*alpha)
		rows = append(rows, simulation{method: name, noise: "normal", n: n, least: least, most: most, cost: cost,
			happens: func(r *rand.Rand) bool {
				x := sample(r, "normal", n)
				at := n/3 + r.IntN(n/3+1)
				for i := range x[at:] {
					x[at+i] += 5. / 3
				}
				for _, change := range Changepoints(x, alpha, 5, r.Uint64()) {
					if change-at <= within && at-change <= within {
						return true
					}
				}
				return false
			}})
	}
	for _, alpha := range []float64{0.05, 0.01} {
		add(50, 2, 4, alpha, 0.84, 0.88)
		add(50, 50, 4, alpha, 0.97, 1) // at any distance
	}
	add(50, 0, 4, 0.01, 0.5, 0.55)
	add(50, 4, 4, 0.01, 0.92, 0.96)
	add(1000, 2, 20, 0.01, 0.82, 0.88)
	return rows
}

// No segment is shorter than requested, the first and the last included.
func TestChangepointsKeepTheirDistance(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for trial := range 100 {
		n, minSegment := 10+random.IntN(700), 2+random.IntN(12)
		x := sample(random, "normal", n)
		for range 6 { // levels that change anywhere, also near the ends
			for at, by := random.IntN(n), 6*random.NormFloat64(); at < n; at++ {
				x[at] += by
			}
		}
		if trial%2 == 0 {
			x[0], x[n-1] = 50, -50
		}
		last := 0
		for _, change := range append(Changepoints(x, 0.05, minSegment, 1), n) {
			if change-last < minSegment {
				t.Fatalf("%d values, minimum %d: a segment from %d to %d", n, minSegment, last, change)
			}
			last = change
		}
	}
}
