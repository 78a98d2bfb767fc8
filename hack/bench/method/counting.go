package main

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/hack/bench/table"
)

// counted draws what a trial counts.
func (l *laboratory) counted(treated bool) float64 {
	mean := l.count
	if treated {
		mean += l.effect
	}
	if mean == 0 {
		return 0
	}
	return distuv.Poisson{Lambda: mean, Src: l.rng}.Rand()
}

// counting are designs whose metric is a count, such as of retransmits.
func (o options) counting() []*row {
	var list []*row
	for _, c := range []struct {
		baseline float64
		effects  []float64
	}{{0, []float64{0, 0.4}}, {0.4, []float64{0, 0.4}}, {1, []float64{0, 0.4, 1}}} {
		for _, n := range []int{12, 20, 50} {
			r := newRow(design{noise: noise{name: fmt.Sprintf("counts of %s", number(c.baseline))}, rounds: n, arms: 1, counts: true, count: c.baseline}, c.effects)
			if o.selected(r.name()) {
				list = append(list, r)
			}
		}
	}
	return list
}

// ofCounting shows them.
func ofCounting(rows []*row) *table.Table {
	t := &table.Table{
		Title: "Counts",
		Notes: []string{"Poisson counts, compared by the difference of means. *Costs* is right where the arm counts more,\nand false where it does not."},
		Head:  []string{"baseline", "arm", "rounds", "costs %", "gains %", "interval holds %", "claimed and missed %", "control failed %"},
	}
	for _, r := range rows {
		for e, s := range r.tallies {
			t.Add(number(r.count), number(r.count+r.effects[e]), fmt.Sprint(r.rounds), rate(s.right, s.n), rate(s.gains, s.n),
				rate(s.n-s.missed, s.n), rate(s.claimMissed, s.n), rate(s.controlFailed, s.n))
		}
	}
	return t
}
