package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// occasions generates the estimates of k runs of 12 rounds each, around true effects that differ by
// the spread, with the standard errors of the rounds. Runs of equal precision have errors of 1 %,
// the others of 0.4 to 2.4 %.
func occasions(r *rand.Rand, k int, spread float64, unequal bool) (estimates, errs []float64) {
	const rounds = 12
	for i := range k {
		at, sd := spread*r.NormFloat64(), 0.01*math.Sqrt(rounds)
		if unequal {
			sd *= 0.4 * float64(1+i*4%6)
		}
		d := make([]float64, rounds)
		for j := range d {
			d[j] = at + sd*r.NormFloat64()
		}
		mean, own := meanSD(d)
		estimates, errs = append(estimates, mean), append(errs, own/math.Sqrt(rounds))
	}
	return estimates, errs
}

// pooledSimulations count intervals of the mean that contain it, predictions that contain another
// run's result, and intervals of the spread that contain it.
func pooledSimulations() []simulation {
	var rows []simulation
	add := func(what string, k int, spread float64, unequal bool, least, most float64, holds func(p Pooled, next float64) bool) {
		noise := fmt.Sprintf("spread %g %%, errors alike", 100*spread)
		if unequal {
			noise = fmt.Sprintf("spread %g %%, errors unlike", 100*spread)
		}
		rows = append(rows, simulation{method: "RandomEffects, " + what, noise: noise, n: k, least: least, most: most, cost: 4,
			happens: func(r *rand.Rand) bool {
				p, err := pooled(occasions(r, k, spread, unequal))
				next := spread*r.NormFloat64() + 0.01*r.NormFloat64()
				return err == nil && holds(p, next)
			}})
	}
	for _, k := range []int{2, 3, 5, 10} {
		for _, spread := range []float64{0, 0.01, 0.05} {
			for _, unequal := range []bool{false, true} {
				add("mean", k, spread, unequal, 0.945, 1, func(p Pooled, _ float64) bool { return p.Contains(0) })
				add("HK alone", k, spread, unequal, 0.85, 1, func(p Pooled, _ float64) bool { return p.HartungKnapp.Contains(0) })
				if !unequal {
					add("next run", k, spread, unequal, 0.945, 1, func(p Pooled, next float64) bool { return p.Prediction.Contains(next) })
				}
				add("spread", k, spread, unequal, 0.9, 1, func(p Pooled, _ float64) bool { return p.Spread.Contains(spread) })
			}
		}
	}
	return rows
}

func pooled(estimates, errs []float64) (Pooled, error) { return RandomEffects(estimates, errs, 0.95) }
