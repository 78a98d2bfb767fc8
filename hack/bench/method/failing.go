package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/hack/bench/table"
)

// failing are designs in which programs fail, by chance or since they take too long.
func (o options) failing() []*row {
	var list []*row
	add := func(kind noise, effects []float64) {
		for _, n := range []int{12, 20, 50} {
			r := newRow(design{noise: kind, rounds: n, arms: 1}, effects)
			if r.claimsOnly = true; o.selected(r.name()) {
				list = append(list, r)
			}
		}
	}
	for _, odds := range []float64{0.1, 0.3} {
		add(noise{name: fmt.Sprintf("all fail in %s %%", share(odds)), sd: 0.02, fails: odds, armFails: odds}, effects)
	}
	add(noise{name: "arm fails in 30 %", sd: 0.02, armFails: 0.3}, []float64{0, 0.3})
	for _, kind := range []noise{{name: "15 % of all arms' set-ups", sd: 0.02, broken: 0.15}, {name: "arm fails in 30 %, by set-ups", sd: 0.02, armFails: 0.3}} {
		r := newRow(design{noise: kind, rounds: 50, setUps: 10, arms: 1}, effects[:1])
		if r.claimsOnly = true; o.selected(r.name()) {
			list = append(list, r)
		}
	}
	for _, limit := range []float64{0.03, 0.06} {
		add(noise{name: fmt.Sprintf("limit at +%s %%", share(limit)), sd: 0.02, limit: limit}, effects)
	}
	return list
}

// ofFailing shows them.
func ofFailing(rows []*row) *table.Table {
	t := &table.Table{
		Title: "Programs that fail",
		Notes: []string{
			"Beside noise of 2 %. *Fail*: by chance, whatever the value would have been. *Set-ups*: five rounds share\none, and so many set-ups of every arm are broken, so that all their trials fail. *Limit*: trials that\ntake so much longer than nominal time out, in every arm, so that a slower arm loses more of them,\nand keeps its fastest.",
			"*Fails* is the verdict on failures; *costs*, *gains* and *equivalent* are those on the time. False:\nexperiments with a false verdict of either kind, such as *fails* where the arms fail alike, and\n*equivalent* on the margin or of an arm that fails more often. (In 12 rounds an arm that fails in\n30 % does not fail at all with a chance of 1.4 %, and nothing is to be seen of it.)",
			"Claimed and missed: there is a verdict on the time, and the interval beside it does not hold the\ntrue cost. The interval of any run is shown beside that: without a verdict it is of the trials that\ndid not fail, and where the slow ones fail, it says too little.",
		},
		Head: []string{"what", "rounds", "true cost %", "fails %", "costs %", "gains %", "equivalent %", "… although one failed %", "false %", "claimed and missed %", "interval of any run holds %", "control failed %", "not resolved, and why %"},
	}
	for _, r := range rows {
		for e, s := range r.tallies {
			t.Add(r.noise.name, fmt.Sprint(r.rounds), share(r.effects[e]), rate(s.fails, s.n), rate(s.right, s.n), rate(s.gains, s.n), rate(s.equivalent, s.n), rate(s.equivalent-s.blind.equivalent, s.n-s.blind.n),
				rate(s.wrong, s.n), rate(s.claimMissed, s.n), rate(s.n-s.missed, s.n), rate(s.controlFailed, s.n), s.why())
		}
	}
	return t
}

// why lists the reasons for no verdict, the most frequent first, without the rarest.
func (t *tally) why() string {
	kinds := slices.SortedFunc(maps.Keys(t.reasons), func(a, b string) int {
		return cmp.Or(t.reasons[b]-t.reasons[a], cmp.Compare(a, b))
	})
	var list []string
	for _, kind := range kinds {
		if 200*t.reasons[kind] >= t.n {
			list = append(list, fmt.Sprintf("%s %.0f", kind, 100*float64(t.reasons[kind])/float64(t.n)))
		}
	}
	if list == nil {
		return "-"
	}
	return strings.Join(list, ", ")
}
