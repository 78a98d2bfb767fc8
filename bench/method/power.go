package main

import (
	"math"
	"math/rand/v2"

	"tare/stats"
)

// effort is what it takes to find a true effect with 80 % power.
type effort struct {
	effect, noise float64
	guess         int // rounds, from which to search: by the signed-rank test against the baseline alone
	quiet         int // rounds, simulated, independent noise
	drifting      int // rounds, simulated, in the drifting environment
	welch         int // trials of each arm for Welch's test on AA..BB, independent noise
}

const power = 0.8

// efforts are the effects and noises of the last table.
func efforts() []effort {
	var list []effort
	for _, noise := range []float64{0.01, 0.03, 0.10} {
		for _, effect := range []float64{0.02, 0.05, 0.10} {
			list = append(list, effort{effect: effect, noise: noise})
		}
	}
	return list
}

// simulate fills in the numbers of an effort from that many experiments a step.
func (e *effort) simulate(times int, seed uint64) error {
	shift := math.Log1p(e.effect)
	e.guess = stats.SignedRankRoundsNeeded(shift, e.noise*math.Sqrt2, 1-confidence, power, 10_000)
	quiet := noise{name: "iid", sd: e.noise}
	drifting := noise{name: "drift", sd: e.noise, drift: 0.03}
	tare := func(kind noise) func(n int, rng *rand.Rand) (int, error) {
		return func(n int, rng *rand.Rand) (int, error) {
			t, err := newLaboratory(design{noise: kind, rounds: n, arms: 1, effect: e.effect}, rng).repeat(times)
			return t.right, err
		}
	}
	welch := func(n int, rng *rand.Rand) (int, error) {
		o, err := sequential(quiet, n, e.effect, times, rng)
		return o.welch, err
	}
	var err error
	if e.quiet, err = fewest(e.guess, times, seed, tare(quiet)); err != nil {
		return err
	}
	if e.drifting, err = fewest(e.guess, times, seed, tare(drifting)); err != nil {
		return err
	}
	e.welch, err = fewest(e.guess, times, seed, welch)
	return err
}

// fewest is the smallest n at which at least 80 % of the experiments find the
// effect, by bisection from a guess. Every n sees the same random numbers.
func fewest(guess, times int, seed uint64, found func(n int, rng *rand.Rand) (int, error)) (int, error) {
	enough := func(n int) (bool, error) {
		k, err := found(n, rand.New(rand.NewPCG(seed, uint64(n))))
		return float64(k) >= power*float64(times), err
	}
	few, many := 1, max(guess, 2)
	for {
		ok, err := enough(many)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
		few, many = many, many+max(many/8, 1)
	}
	if few == 1 && many > 12 {
		few = many / 2 // never so far below the guess
	}
	for many-few > 1 {
		mid := few + (many-few)/2
		ok, err := enough(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			many = mid
		} else {
			few = mid
		}
	}
	return many, nil
}
