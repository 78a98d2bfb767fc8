package main

import (
	"fmt"
	"slices"

	"tare/hack/bench/table"
)

// noisierArm is the noise of the families of many arms.
var noisierArm = noise{name: "arms × 3", about: "iid, with 3 times the noise in every arm", sd: 0.02, noisier: 3}

// otherNoises are those that the table of fixed designs does not have.
var otherNoises = []noise{
	{name: "gamma", about: "skewed noise of 2 %, the logarithm of a gamma variable", sd: 0.02, shape: gamma},
	{name: "heavy", about: "noise of 2 % with heavy tails, Student's t of 4 degrees of freedom", sd: 0.02, shape: heavy},
	{name: "regimes", about: "iid, with all trials 4 % slower for a dozen trials or so, now and then", sd: 0.02, regimes: 0.04},
	{name: "arma", about: "iid, in an environment of 3 % that is ARMA(1,1)", sd: 0.02, arma: 0.03},
	{name: "wave of a round", about: "iid, with a wave of ±4 % that takes three trials", sd: 0.02, swing: 0.04, period: 3},
	{name: "wave of 2 rounds", about: "iid, with a wave of ±4 % that takes six trials", sd: 0.02, swing: 0.04, period: 6},
	{name: "wave of 5 trials", about: "iid, with a wave of ±4 % that takes five trials", sd: 0.02, swing: 0.04, period: 5},
	{name: "arm × 1.5", about: "iid, with 1.5 times the noise in the arm", sd: 0.02, noisier: 1.5},
	{name: "arm × 2", about: "iid, with 2 times the noise in the arm", sd: 0.02, noisier: 2},
	{name: "arm × 3", about: "iid, with 3 times the noise in the arm", sd: 0.02, noisier: 3},
	{name: "control × 3", about: "iid, with 3 times the noise in the control", sd: 0.02, uneasy: 3},
}

// stoppingEffects are the true costs of the table of runs that stop when they are decided.
var stoppingEffects = []float64{0, equivalence, 0.05, 0.1}

// spreading are fixed designs under the other noises, and families of arms that are all noisier.
func (o options) spreading() []*row {
	var list []*row
	for _, kind := range otherNoises {
		for _, n := range []int{6, 10, 20, 50} {
			list = append(list, newRow(design{noise: kind, rounds: n, arms: 1}, effects))
		}
	}
	for _, arms := range []int{5, 20} {
		list = append(list, newRow(design{noise: noisierArm, rounds: 20, arms: arms}, effects[:1]))
	}
	return slices.DeleteFunc(list, func(r *row) bool { return !o.selected(r.name()) })
}

// ofSpreading shows them.
func ofSpreading(rows []*row) *table.Table {
	t := &table.Table{
		Title: "Other noises, and arms that spread differently",
		Head:  []string{"noise", "rounds", "arms", "false claims %", "coverage at 0 %", "at 2 %", "at 5 %", "false equivalence %", "finds 2 % in %", "control failed %"},
	}
	for _, kind := range append(otherNoises[:len(otherNoises):len(otherNoises)], noisierArm) {
		t.Notes = append(t.Notes, kind.name+": "+kind.about+".")
	}
	for _, r := range rows {
		null := r.tallies[0]
		cells := []string{r.noise.name, fmt.Sprint(r.rounds), fmt.Sprint(r.arms), plusMinus(null.claims, null.n)}
		if len(r.tallies) == 1 {
			t.Add(append(cells, rate(null.n-null.missed, null.n), "", "", "", "", rate(null.controlFailed, null.n))...)
			continue
		}
		margin := r.tallies[1]
		for _, s := range r.tallies {
			cells = append(cells, rate(s.n-s.missed, s.n))
		}
		t.Add(append(cells, rate(margin.equivalent, margin.n), rate(margin.right, margin.n), rate(null.controlFailed, null.n))...)
	}
	return t
}

// mixing are families in which half of the arms differ in nothing and the others lie on the margin of equivalence, by
// the rules as they are and with half of the error for each kind of claim.
func (o options) mixing() []*row {
	var list []*row
	for _, rounds := range []int{manyRounds, 20} {
		for _, arms := range []int{4, 10} {
			for _, half := range []bool{false, true} {
				r := newRow(design{noise: noises[0], rounds: rounds, arms: arms, mixed: true, half: half}, []float64{equivalence})
				r.unasked = true
				list = append(list, r)
			}
		}
	}
	return slices.DeleteFunc(list, func(r *row) bool { return !o.selected(r.name()) })
}

// ofMixing shows them.
func ofMixing(rows []*row) *table.Table {
	t := &table.Table{
		Title: "Two kinds of claims in one family",
		Notes: []string{"Independent noise. Every second arm differs in nothing, the others lie on the margin of equivalence, where *costs* is true and *equivalent* is not.\nFalse verdicts: experiments in which any arm has one. Found: those in which the first arm, which lies on the margin, *costs*."},
		Head:  []string{"rounds", "arms", "error of claims of a difference and of equivalence %", "false verdicts %", "found %"},
	}
	for _, r := range rows {
		s, level := r.tallies[0], "5 each"
		if r.half {
			level = "2.5 each"
		}
		t.Add(fmt.Sprint(r.rounds), fmt.Sprint(r.arms), level, plusMinus(s.wrong, s.n), rate(s.right, s.n))
	}
	return t
}

// plusMinus is a share with its standard error, in percent.
func plusMinus(k, n int) string {
	return rate(k, n) + " ± " + number(100*standardError(float64(k)/float64(n), n))
}

// deciding are runs that stop when they are decided, beside those that do not.
func (o options) deciding() []*row {
	var list []*row
	for _, kind := range append(noises[:len(noises):len(noises)], otherNoises...) {
		for _, most := range []int{20, 40} {
			list = append(list, newRow(design{noise: kind, rounds: most, arms: 1, always: true}, stoppingEffects),
				newRow(design{noise: kind, rounds: most, arms: 1}, stoppingEffects), newRow(design{noise: kind, rounds: most, arms: 1, decided: true}, stoppingEffects))
		}
	}
	return slices.DeleteFunc(list, func(r *row) bool { return !o.selected(r.name()) })
}

// ofDeciding shows them.
func ofDeciding(rows []*row) *table.Table {
	t := &table.Table{
		Title: "Stop when it is decided",
		Notes: []string{"Trials of one second. Coverage is that of the interval at the end, wherever that was."},
		Head:  []string{"noise", "stop", "false claims %", "coverage at 0 %", "at 2 %", "at 5 %", "at 10 %", "false equivalence %", "finds 2 % in %", "finds 5 % in %", "seconds at 0 %", "at 2 %", "at 5 %", "at 10 %"},
	}
	for _, r := range rows {
		null, margin, far := r.tallies[0], r.tallies[1], r.tallies[2]
		stop := fmt.Sprintf("after %d", r.rounds)
		switch {
		case r.always:
			stop += ", control in each"
		case r.decided:
			stop = fmt.Sprintf("decided, at most %d", r.rounds)
		}
		cells := []string{r.noise.name, stop, plusMinus(null.claims, null.n)}
		for _, s := range r.tallies {
			cells = append(cells, rate(s.n-s.missed, s.n))
		}
		cells = append(cells, rate(margin.equivalent, margin.n), rate(margin.right, margin.n), rate(far.right, far.n))
		for _, s := range r.tallies {
			cells = append(cells, fmt.Sprintf("%.0f", float64(s.trials)/float64(s.n)))
		}
		t.Add(cells...)
	}
	return t
}
