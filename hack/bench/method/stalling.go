package main

import (
	"fmt"

	"tare/hack/bench/table"
)

// blindTally counts experiments in which no trial of the arm stalled or failed, although
// some do: their data are those of an arm of which none ever does.
type blindTally struct {
	n          int
	equivalent int // verdict equivalent
	wrong      int // a verdict is false
	meanMissed int // true cost of the mean outside its interval
}

func (t *blindTally) add(o blindTally) {
	t.n += o.n
	t.equivalent += o.equivalent
	t.wrong += o.wrong
	t.meanMissed += o.meanMissed
}

// meanCost is the true cost of the mean, as a share of the baseline.
func (d *design) meanCost() float64 {
	stalls := d.noise.stallTimes - 1
	return (1+d.effect)*(1+d.noise.stall*stalls)/(1+d.noise.stallOthers*stalls) - 1
}

// stalling are designs in which rare trials take far longer than the others.
func (o options) stalling() []*row {
	var list []*row
	for _, kind := range []noise{
		{name: "5 % of the arm's ×2", sd: 0.02, stall: 0.05, stallTimes: 2},
		{name: "10 % of the arm's ×2", sd: 0.02, stall: 0.1, stallTimes: 2},
		{name: "15 % of the arm's ×1.5", sd: 0.02, stall: 0.15, stallTimes: 1.5},
		{name: "10 % of all arms' ×2", sd: 0.02, stall: 0.1, stallOthers: 0.1, stallTimes: 2},
	} {
		for _, n := range []int{12, 20, 50} {
			r := newRow(design{noise: kind, rounds: n, arms: 1, tails: true}, effects[:1])
			if r.claimsOnly = true; o.selected(r.name()) {
				list = append(list, r)
			}
		}
	}
	return list
}

// ofStalling shows them.
func ofStalling(rows []*row) *table.Table {
	t := &table.Table{
		Title: "Rare stalls",
		Notes: []string{
			"Beside noise of 2 %, some trials take twice as long, or half as long again. In the typical round the\narm costs nothing; its mean costs what stands there. Where that is something, *costs* is right, and\n*gains* and *equivalent* are false.",
			"No method sees what has not happened: where no trial of the arm stalled, the data are those of an arm\nthat never stalls, and are called equivalent as often. The requirements are asked of the\nexperiments in which a trial of the arm did stall.",
		},
		Head: []string{"what", "rounds", "mean costs %", "no trial stalled %", "equivalent %", "… although one stalled %", "costs %", "gains %", "stalls found %", "mean's interval holds %", "… where one stalled %"},
	}
	for _, r := range rows {
		s := &r.tallies[0]
		seen := s.n - s.blind.n
		t.Add(r.noise.name, fmt.Sprint(r.rounds), share(r.meanCost()), rate(s.blind.n, s.n), rate(s.equivalent, s.n), rate(s.equivalent-s.blind.equivalent, seen),
			rate(s.right, s.n), rate(s.gains, s.n), rate(s.stallsFound, s.n), rate(s.n-s.meanMissed, s.n), rate(seen-s.meanMissed+s.blind.meanMissed, seen))
	}
	return t
}
