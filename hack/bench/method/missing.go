package main

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/hack/bench/table"
)

// absence says which trials have no value, since the program fails in them.
type absence struct {
	because string  // slow, fast or chance
	share   float64 // of the trials of an arm that is like the baseline
	in      string  // every arm, the arm, or the baseline and the control
}

// The sides on which trials are missing.
const (
	inAll       = "every arm"
	inArm       = "the arm"
	inReference = "baseline and control"
)

// takes says whether it takes a trial, of which the logarithm of how slow it is is given,
// in deviations of an undisturbed one.
func (a absence) takes(z float64, treated bool, rng *rand.Rand) bool {
	switch {
	case a.share == 0, a.in == inArm && !treated, a.in == inReference && treated:
		return false
	case a.because == "slow":
		return z > distuv.UnitNormal.Quantile(1-a.share)
	case a.because == "fast":
		return z < distuv.UnitNormal.Quantile(a.share)
	}
	return rng.Float64() < a.share
}

// missing are designs in which trials have no value by what it would have been, or by chance.
func (o options) missing() []*row {
	var list []*row
	for _, because := range []string{"slow", "fast", "chance"} {
		for _, in := range []string{inAll, inArm, inReference} {
			for _, odds := range []float64{0.1, 0.3} {
				for _, n := range []int{10, 40} {
					kind := noise{name: fmt.Sprintf("missing: %s, %s %% of %s", because, share(odds), in), sd: 0.02, absence: absence{because, odds, in}}
					r := newRow(design{noise: kind, rounds: n, arms: 1}, effects[:2])
					if r.claimsOnly = true; o.selected(r.name()) {
						list = append(list, r)
					}
				}
			}
		}
	}
	return list
}

// repeating are designs in which the slowest trials of the arm meet foreign load, and are repeated.
func (o options) repeating() []*row {
	var list []*row
	for _, c := range []struct {
		odds float64
		n    int
	}{{0.1, 20}, {0.1, 50}, {0.3, 10}, {0.3, 20}} {
		r := newRow(design{noise: noise{name: fmt.Sprintf("busy: slowest %s %% of the arm", share(c.odds)), sd: 0.02, busy: c.odds}, rounds: c.n, arms: 1}, effects[:2])
		if r.unasked = true; o.selected(r.name()) {
			list = append(list, r)
		}
	}
	return list
}

// ofRepeating shows them.
func ofRepeating(rows []*row) *table.Table {
	t := &table.Table{
		Title: "Trials repeated for their slowness",
		Notes: []string{"Beside noise of 2 %, the slowest trials of an arm meet foreign load, and are tried again up to twice. The machine's\nrule takes slow values from that arm alone: an arm on the margin is called *equivalent*, and no test of the values can\nknow. Warned: the report says that trials of the arm were repeated more often."},
		Head:  []string{"repeated %", "rounds", "true cost %", "gains %", "equivalent %", "interval holds %", "warned %"},
	}
	for _, r := range rows {
		for e, s := range r.tallies {
			t.Add(share(r.noise.busy), fmt.Sprint(r.rounds), share(r.effects[e]), rate(s.gains, s.n), rate(s.equivalent, s.n), rate(s.n-s.missed, s.n), rate(s.repeatsFound, s.n))
		}
	}
	return t
}

// ofMissing shows them.
func ofMissing(rows []*row) *table.Table {
	t := &table.Table{
		Title: "Missing trials",
		Notes: []string{
			"Beside noise of 2 %, the program fails in the slowest trials, in the fastest, or by chance: in so many\nof an arm that is like the baseline. Where it does so in every arm, a slower arm fails more often.",
			"*Costs*, *gains* and *equivalent* are the verdicts on the time, *fails* that on how often the program\nfails. False: *costs* or *gains* where the program would take as long if it did not fail, whatever the\nverdict on failing says; *equivalent* on the margin or of an arm that fails more often; *fails* where the\narms fail alike. It is counted over the experiments in which a trial of the arm or the baseline is missing.",
		},
		Head: []string{"missing", "share %", "of", "rounds", "true cost %", "costs %", "gains %", "equivalent %", "… although one is missing %", "fails %", "false %", "claimed and missed %"},
	}
	for _, r := range rows {
		for e, s := range r.tallies {
			a := r.noise.absence
			t.Add(a.because, share(a.share), a.in, fmt.Sprint(r.rounds), share(r.effects[e]), rate(s.right, s.n), rate(s.gains, s.n), rate(s.equivalent, s.n), rate(s.equivalent-s.blind.equivalent, s.n),
				rate(s.fails, s.n), rate(s.wrong-s.blind.wrong, s.n-s.blind.n), rate(s.claimMissed, s.n))
		}
	}
	return t
}
