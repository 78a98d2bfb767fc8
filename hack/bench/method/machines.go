package main

import (
	"fmt"

	"tare/hack/bench/table"
)

// machines are designs in which a machine does more than to make noise: a set-up draws
// something, places in the round differ, values are rounded.
func (o options) machines() []*row {
	quiet := noise{name: "iid", sd: 0.01}
	var list []*row
	add := func(name string, d design) {
		d.noise.name, d.arms = name, 1
		if r := newRow(d, effects); o.selected(r.name()) {
			list = append(list, r)
		}
	}
	for _, deviation := range []float64{0.005, 0.01, 0.02} {
		kind := quiet
		kind.setUp = deviation
		for _, d := range []design{{rounds: 12, setUps: 12}, {rounds: 12, setUps: 6}, {rounds: 24, setUps: 8}, {rounds: 20, setUps: 20}} {
			d.noise = kind
			add(fmt.Sprintf("set-ups ±%s %%", share(deviation)), d)
		}
	}
	for _, n := range []int{6, 10, 20} {
		add("first +5 %", design{noise: noise{sd: 0.02, first: 0.05}, rounds: n})
	}
	for _, n := range []int{12, 20, 50} {
		add("grid of 5 %", design{noise: noise{sd: 0.02, grid: 0.05}, rounds: n})
		add("grid of 5 sd", design{noise: noise{sd: 0.01, grid: 0.05}, rounds: n})
	}
	return list
}

// ofMachines shows them.
func ofMachines(rows []*row) *table.Table {
	t := &table.Table{
		Title: "What machines do besides noise",
		Notes: []string{
			"Set-ups: each set-up of an arm draws an effect of its own, of that deviation, beside\nnoise of 1 % on every trial. Where several rounds share a set-up, the mean over the set-up is the value.",
			"First: the first trial of each round is 5 % slower. Grid: values are rounded to steps\nof 5 % of the nominal value, which lies anywhere between two of them. Both beside noise of 2 %, and the grid of five\nstandard deviations beside noise of 1 %.",
		},
		Head: []string{"what", "rounds", "set-ups", "false claims %", "coverage at 0 %", "at 2 %", "at 5 %", "false equivalence %", "finds 5 % in %", "control failed %"},
	}
	for _, r := range rows {
		null, margin, far := r.tallies[0], r.tallies[1], r.tallies[2]
		setUps := "-"
		if r.setUps > 0 {
			setUps = fmt.Sprint(r.setUps)
		}
		cells := []string{r.noise.name, fmt.Sprint(r.rounds), setUps, rate(null.claims, null.n)}
		for _, s := range r.tallies {
			cells = append(cells, rate(s.n-s.missed, s.n))
		}
		t.Add(append(cells, rate(margin.equivalent, margin.n), rate(far.right, far.n), rate(null.controlFailed, null.n))...)
	}
	return t
}

// powers are how often a true cost of 2 % is found in ten rounds, by what helps to.
func (o options) powers() []*row {
	var list []*row
	for _, kind := range noises {
		for _, n := range []int{0, 4, 8} {
			r := newRow(design{noise: kind, rounds: 10, arms: 1, slices: n}, effects[:2])
			if o.selected(r.name()) {
				list = append(list, r)
			}
		}
	}
	return list
}

// ofPowers shows them.
func ofPowers(rows []*row) *table.Table {
	t := &table.Table{
		Title: "Slices",
		Notes: []string{"Ten rounds of a baseline, a control and one arm that costs 2 %. With slices, each trial\nis cut, and the arms alternate in mirrored order; the noise of a slice is taken to be independent of the next one's."},
		Head:  []string{"noise", "slices", "finds 2 % in %", "false claims %"},
	}
	for _, r := range rows {
		t.Add(r.noise.name, fmt.Sprint(max(r.slices, 1)), rate(r.tallies[1].right, r.tallies[1].n), rate(r.tallies[0].claims, r.tallies[0].n))
	}
	return t
}
