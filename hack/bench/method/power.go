package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tare/hack/bench/table"
	"tare/internal/stats"
)

// effort is what it takes to find a true effect.
type effort struct {
	noise                noise
	effect               float64
	hyperfine, benchstat elsewhereEffort
	always, spared       int // rounds with the control in each, and as runs of one arm have it
	decided20, decided40 tally
}

// elsewhereEffort is the effort of a way that runs all trials of one arm, and then all of the other.
type elsewhereEffort struct {
	trials int     // of each arm; 0: over mostElsewhere
	claims float64 // share of false claims with so many
}

const (
	power         = 0.8
	mostElsewhere = 300 // trials of each arm
)

// efforts are the noises and effects of the last table.
func efforts() []effort {
	var list []effort
	for _, name := range []string{"iid", "drift", "spiky", "arma", "regimes", "arm × 3"} {
		for _, kind := range append(noises[:len(noises):len(noises)], otherNoises...) {
			if kind.name == name {
				list = append(list, effort{noise: kind, effect: equivalence}, effort{noise: kind, effect: 0.05})
			}
		}
	}
	return list
}

// simulate fills in the numbers of an effort from that many experiments a step.
func (e *effort) simulate(times int, seed uint64) (err error) {
	guess := 1
	for guess < 10_000 && stats.SignedRankPower(math.Log1p(e.effect), e.noise.sd*math.Sqrt2, guess, 1-confidence) < power {
		guess++
	}
	elsewhere := func(claims func(others) int) (w elsewhereEffort, err error) {
		w.trials, err = fewest(guess, times, mostElsewhere, seed, func(n int, rng *rand.Rand) (int, error) {
			o, err := sequential(e.noise, n, e.effect, times, rng)
			return claims(o), err
		})
		if err != nil || w.trials == 0 {
			return w, err
		}
		o, err := sequential(e.noise, w.trials, 0, times, source(seed, "false claims elsewhere"))
		w.claims = float64(claims(o)) / float64(times)
		return w, err
	}
	fixed := func(always bool) (int, error) {
		return fewest(guess, times, maxRounds, seed, func(n int, rng *rand.Rand) (int, error) {
			t, err := newLaboratory(design{noise: e.noise, rounds: n, arms: 1, effect: e.effect, always: always}, rng).repeat(times)
			return t.right, err
		})
	}
	decided := func(most int) (tally, error) {
		return newLaboratory(design{noise: e.noise, rounds: most, arms: 1, effect: e.effect, decided: true}, source(seed, fmt.Sprint("decided", most))).repeat(times)
	}
	if e.hyperfine, err = elsewhere(func(o others) int { return o.welch }); err != nil {
		return err
	}
	if e.benchstat, err = elsewhere(func(o others) int { return o.rankSum }); err != nil {
		return err
	}
	if e.always, err = fixed(true); err != nil {
		return err
	}
	if e.spared, err = fixed(false); err != nil {
		return err
	}
	if e.decided20, err = decided(20); err != nil {
		return err
	}
	e.decided40, err = decided(40)
	return err
}

// needed shows the seconds that a true effect takes.
func needed(o options, needs []effort) *table.Table {
	t := &table.Table{
		Title: "Seconds to find a true effect",
		Notes: []string{
			fmt.Sprintf("Seconds of the machine, with trials of one second, after which at least %s %% of %d simulated experiments say *costs*.\nOf a run that stops when it is decided, the mean with the share that says so. —: not within %d trials of each arm, or %d rounds.", share(power), o.powerTimes, mostElsewhere, maxRounds),
			"hyperfine's way: all trials of the baseline, then all of the arm, and Welch's t. benchstat's way: the same with Mann and Whitney's test.\nIn brackets the false claims with so many trials where there is no effect, in %.",
		},
		Head: []string{"noise", "true effect", "hyperfine's way", "benchstat's way", "control in every round", "fixed rounds", "decided, at most 20", "decided, at most 40"},
	}
	for _, e := range needs {
		cells := []string{e.noise.name, share(e.effect) + " %"}
		for _, w := range []elsewhereEffort{e.hyperfine, e.benchstat} {
			cells = append(cells, seconds(2*w.trials, fmt.Sprintf(" (%.0f)", 100*w.claims)))
		}
		plan := newLaboratory(design{arms: 1}, nil).plan
		cells = append(cells, seconds(3*e.always, ""), seconds(plan.Trials(e.spared), ""))
		for _, s := range []tally{e.decided20, e.decided40} {
			cells = append(cells, seconds(int(math.Round(float64(s.trials)/float64(s.n))), fmt.Sprintf(" (%.0f %%)", 100*float64(s.right)/float64(s.n))))
		}
		t.Add(cells...)
	}
	return t
}

// seconds is a number of trials of one second with what belongs to it; — for 0.
func seconds(n int, with string) string {
	if n == 0 {
		return "—"
	}
	return fmt.Sprint(n) + with
}

// fewest is the smallest n at which at least 80 % of the experiments find the
// effect, by bisection from a guess; 0: none up to most. Every n sees the same random numbers.
func fewest(guess, times, most int, seed uint64, found func(n int, rng *rand.Rand) (int, error)) (int, error) {
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
		if many == most {
			return 0, nil
		}
		few, many = many, min(many+max(many/8, 1), most)
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
