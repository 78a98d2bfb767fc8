package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// falseClaimSimulations count false claims at 5 %.
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
			simulation{method: "SignedRank: equivalent", noise: "normal, on the margin", n: n, most: 0.05,
				happens: func(r *rand.Rand) bool {
					p, err := equivalent(1)(SignedRank(edge(r), 0.5))
					return err == nil && p <= 0.05
				}},
			simulation{method: "PairedT: equivalent", noise: "normal, on the margin", n: n, most: 0.05,
				happens: func(r *rand.Rand) bool {
					p, err := equivalent(1)(PairedT(edge(r), 0.5))
					return err == nil && p <= 0.05
				}})
	}
	for _, n := range []int{6, 8, 9, 12, 30} {
		for _, arms := range []int{2, 5} {
			rows = append(rows, simulation{method: "OrderEffect", noise: fmt.Sprintf("skewed, %d arms", arms), n: n, most: 0.054,
				happens: func(r *rand.Rand) bool {
					positions := make([]int, n) // position of the treated trial minus the baseline's
					for i := range positions {
						order := r.Perm(arms)
						positions[i] = order[1] - order[0]
					}
					p, err := OrderEffect(sample(r, "skewed", n), positions)
					return err == nil && p <= 0.05
				}})
		}
	}
	for _, n := range []int{6, 12, 50} {
		for _, noise := range []string{"normal", "skewed", "rounded"} {
			rows = append(rows, simulation{method: "Trend", noise: noise, n: n, most: 0.05,
				happens: func(r *rand.Rand) bool {
					_, p, err := Trend(sample(r, noise, n))
					return err == nil && p <= 0.05
				}})
		}
	}
	for _, c := range []struct {
		noise string
		n     int
		most  float64
	}{{"normal", 12, 0.05}, {"normal", 50, 0.03}, {"normal", 300, 0.01}, {"skewed", 50, 0.01}, {"heavy tails", 50, 0.03}, {"rounded", 50, 1}} {
		rows = append(rows, simulation{method: "Dip", noise: c.noise, n: c.n, most: c.most,
			happens: func(r *rand.Rand) bool {
				_, p, err := Dip(sample(r, c.noise, c.n))
				return err == nil && p <= 0.05
			}})
	}
	return append(rows, changeSimulations()...)
}

// familySimulations compare ten arms with one baseline when all are the same.
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

// powerSimulations count detected effects of the size that the power functions return.
func powerSimulations() []simulation {
	type detectable func(sd float64, n int, alpha, power float64) float64
	var rows []simulation
	add := func(method string, estimate oneSample, size detectable, noise string, n int, sd, alpha, least, most float64) {
		effect := size(sd, n, alpha, 0.8)
		if alpha != 0.05 {
			method = fmt.Sprintf("%s at %g %%", method, 100*alpha)
		}
		rows = append(rows, simulation{method: method, noise: noise, n: n, least: least, most: most,
			happens: func(r *rand.Rand) bool {
				d := sample(r, noise, n)
				for i := range d {
					d[i] += effect
				}
				e, err := estimate(d, 1-alpha)
				return err == nil && !e.Contains(0)
			}})
	}
	for _, n := range []int{3, 6, 8, 12, 30} {
		add("PairedT", PairedT, DetectableEffect, "normal", n, 1, 0.05, 0.8, 0.8)
	}
	for _, n := range []int{6, 7, 8, 12, 30} {
		add("SignedRank", SignedRank, signedRankDetectable, "normal", n, 1, 0.05, 0.79, 0.81)
	}
	for _, n := range []int{9, 12, 30} {
		add("SignedRank", SignedRank, signedRankDetectable, "normal", n, 1, 0.005, 0.77, 0.83)
	}
	add("SignedRank, effect of t", SignedRank, DetectableEffect, "normal", 6, 1, 0.05, 0.6, 0.65)
	add("SignedRank, effect of t", SignedRank, DetectableEffect, "normal", 12, 1, 0.05, 0.74, 0.78)
	const spikySD = 1.4142135623730951
	for _, n := range []int{12, 30} {
		add("SignedRank", SignedRank, signedRankDetectable, "spiky", n, spikySD, 0.05, 0.8, 0.95)
	}
	return append(rows, twoSamplePowerSimulations()...)
}

// signedRankDetectable is DetectableEffect for the signed-rank test. It is NaN if n allows no claim
// at level alpha.
func signedRankDetectable(sd float64, n int, alpha, power float64) float64 {
	at := signedRankPower(n, alpha)
	if at == nil {
		return math.NaN()
	}
	return smallestShift(power, at) * sd / math.Sqrt(float64(n))
}

// twoSamplePowerSimulations are powerSimulations for two independent samples.
func twoSamplePowerSimulations() []simulation {
	var rows []simulation
	type twoSamples func(x, y []float64, confidence float64) (Estimate, error)
	add := func(method string, estimate twoSamples, noise string, m, n int, sdX, sdY, effect, alpha, least, most float64) {
		if alpha != 0.05 {
			method = fmt.Sprintf("%s at %g %%", method, 100*alpha)
		}
		name := fmt.Sprintf("%s, %d and %d", noise, m, n)
		if sdX != sdY {
			name = fmt.Sprintf("%s, sd %g:%g", name, sdX, sdY)
		}
		rows = append(rows, simulation{method: method, noise: name, n: m + n, least: least, most: most,
			happens: func(r *rand.Rand) bool {
				x, y := sample(r, noise, m), sample(r, noise, n)
				for i := range x {
					x[i] *= sdX
				}
				for i := range y {
					y[i] = y[i]*sdY + effect
				}
				e, err := estimate(x, y, 1-alpha)
				return err == nil && !e.Contains(0)
			}})
	}
	for _, size := range [][2]int{{3, 3}, {4, 4}, {6, 6}, {12, 6}, {30, 30}} {
		m, n := size[0], size[1]
		least := 0.78
		switch m { // the test does not know its degrees of freedom
		case 3:
			least = 0.69
		case 4:
			least = 0.75
		}
		for _, sd := range [][2]float64{{1, 1}, {1, 3}, {3, 1}} {
			add("WelchT", WelchT, "normal", m, n, sd[0], sd[1], WelchDetectableEffect(sd[0], sd[1], m, n, 0.05, 0.8), 0.05, least, 0.81)
		}
		if m > 3 {
			add("RankSum", RankSum, "normal", m, n, 1, 1, RankSumDetectableEffect(1, m, n, 0.05, 0.8), 0.05, 0.78, 0.82)
		}
	}
	for _, size := range [][2]int{{6, 6}, {12, 6}, {30, 30}} {
		m, n := size[0], size[1]
		add("RankSum", RankSum, "normal", m, n, 1, 1, RankSumDetectableEffect(1, m, n, 0.005, 0.8), 0.005, 0.76, 0.84)
	}
	const spikySD = 1.4142135623730951
	add("RankSum", RankSum, "spiky", 12, 12, 1, 1, RankSumDetectableEffect(spikySD, 12, 12, 0.05, 0.8), 0.05, 0.8, 0.95)
	add("RankSum", RankSum, "spiky", 30, 30, 1, 1, RankSumDetectableEffect(spikySD, 30, 30, 0.05, 0.8), 0.05, 0.8, 0.95)
	add("RankSum, effect of Welch", RankSum, "normal", 4, 4, 1, 1, WelchDetectableEffect(1, 1, 4, 4, 0.05, 0.8), 0.05, 0.5, 0.8)
	add("RankSum, effect of Welch", RankSum, "normal", 6, 6, 1, 1, WelchDetectableEffect(1, 1, 6, 6, 0.05, 0.8), 0.05, 0.6, 0.8)
	return rows
}
