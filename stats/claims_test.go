package stats

import (
	"fmt"
	"math/rand/v2"
)

// falseClaimSimulations claim at 5 % where there is nothing to claim.
func falseClaimSimulations() []simulation {
	rows := familySimulations()
	for _, n := range []int{5, 6, 12, 50} {
		edge := func(r *rand.Rand) []float64 { // just not equivalent within 1
			d := sample(r, "normal", n)
			for i := range d {
				d[i] = 1 + d[i]*0.5
			}
			return d
		}
		rows = append(rows,
			simulation{method: "EquivalenceSignedRank", noise: "normal, on the margin", n: n, most: 0.05,
				happens: func(r *rand.Rand) bool {
					p, err := EquivalenceSignedRank(edge(r), 1)
					return err == nil && p <= 0.05
				}},
			simulation{method: "EquivalenceT", noise: "normal, on the margin", n: n, most: 0.05,
				happens: func(r *rand.Rand) bool {
					p, err := EquivalenceT(edge(r), 1)
					return err == nil && p <= 0.05
				}})
	}
	for _, n := range []int{6, 8, 9, 12, 30} {
		for _, arms := range []int{2, 5} {
			rows = append(rows, simulation{method: "OrderEffect", noise: fmt.Sprintf("skewed, %d arms", arms), n: n, most: 0.054,
				happens: func(r *rand.Rand) bool {
					positions := make([]int, n) // treated minus baseline
					for i := range positions {
						order := r.Perm(arms)
						positions[i] = order[1] - order[0]
					}
					p, err := OrderEffect(sample(r, "skewed", n), positions)
					return err == nil && p <= 0.05
				}})
		}
	}
	for _, n := range []int{12, 50, 200} {
		for _, noise := range []string{"normal", "heavy tails", "skewed", "rounded"} {
			rows = append(rows, simulation{method: "Changepoints, any", noise: noise, n: n, most: 0.05, cost: n / 2,
				happens: func(r *rand.Rand) bool {
					return len(Changepoints(sample(r, noise, n), 0.05, 3, r.Uint64())) > 0
				}})
		}
	}
	return append(rows, simulation{method: "Changepoints, any", noise: "autocorrelated, 0.3", n: 50, most: 0.4, cost: 20,
		happens: func(r *rand.Rand) bool {
			return len(Changepoints(autocorrelated(r, 50), 0.05, 3, r.Uint64())) > 0
		}})
}

// familySimulations compare ten arms to one baseline when all are the same.
func familySimulations() []simulation {
	const arms, n = 10, 12
	anyClaim := func(r *rand.Rand, adjust func([]float64) []float64) bool {
		baseline := sample(r, "normal", n)
		ps := make([]float64, arms)
		for arm := range ps {
			d := sample(r, "normal", n)
			for i := range d {
				d[i] -= baseline[i]
			}
			e, err := SignedRank(d, 0.95)
			if err != nil {
				return true
			}
			ps[arm] = e.P
		}
		for _, p := range adjust(ps) {
			if p <= 0.05 {
				return true
			}
		}
		return false
	}
	unadjusted := func(p []float64) []float64 { return p }
	return []simulation{
		{method: "Holm, any of 10 arms", noise: "normal", n: n, most: 0.05,
			happens: func(r *rand.Rand) bool { return anyClaim(r, Holm) }},
		{method: "unadjusted, any of 10", noise: "normal", n: n, least: 0.15, most: 0.4,
			happens: func(r *rand.Rand) bool { return anyClaim(r, unadjusted) }},
	}
}

// powerSimulations look for an effect of the size that DetectableEffect says.
func powerSimulations() []simulation {
	var rows []simulation
	add := func(method string, estimate oneSample, noise string, n int, sd, least, most float64) {
		effect := DetectableEffect(sd, n, 0.05, 0.8)
		rows = append(rows, simulation{method: method, noise: noise, n: n, least: least, most: most,
			happens: func(r *rand.Rand) bool {
				d := sample(r, noise, n)
				for i := range d {
					d[i] += effect
				}
				e, err := estimate(d, 0.95)
				return err == nil && !e.Contains(0)
			}})
	}
	for _, n := range []int{3, 6, 8, 12, 30} {
		add("PairedT", PairedT, "normal", n, 1, 0.8, 0.8)
	}
	for i, n := range []int{6, 8, 12, 30} {
		least := []float64{0.55, 0.68, 0.74, 0.77}[i]
		add("SignedRank", SignedRank, "normal", n, 1, least, 0.8)
	}
	const spikySD = 1.4142135623730951
	add("SignedRank", SignedRank, "spiky", 12, spikySD, 0.75, 0.9)
	add("SignedRank", SignedRank, "spiky", 30, spikySD, 0.8, 0.95)
	return rows
}
