package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"tare/hack/bench/table"
	"tare/internal/runs/history"
)

// level is that at which a gate of the tables fails.
const level = 0.05

// grown compares the last value with those before it.
func grown(x []float64) history.Growth {
	all := runs(x)
	last := len(all) - 1
	list, err := history.New(all[:last], nil, history.Options{}).Growth(all[last], "")
	if err != nil || len(list) != 1 {
		panic(fmt.Sprint("one run of one series gives ", len(list), " growths: ", err))
	}
	return list[0]
}

// gates asks how often a gate fails a new run from the same population.
func gates(o options) (table.Table, bool) {
	t := table.Table{Title: "A gate on a flat history", Head: []string{"noise", "earlier runs", "recent fails %", "anchor fails %", "recent covers %", "anchor covers %", "width recent", "width anchor"}}
	t.Note("A new run like those before it, runs differing by %s %%. Fails: growth above 0 %% is claimed at %s %%. Covers: the 95 %% interval of the growth holds 0. "+
		"Width: half of the interval, in per cent on average; a budget below it can hardly be resolved for a single run.", percent(sd), percent(level))
	ok := true
	for _, w := range worlds {
		for _, n := range []int{5, 10, 20, 50} {
			list := repeat(o, fmt.Sprint("gate ", w.name, n), func(rng *rand.Rand) history.Growth { return grown(w.values(rng, n+1, sd)) })
			fails := func(of func(history.Growth) history.GrowthEstimate) float64 {
				return share(list, func(g history.Growth) bool { return of(g).P(0) <= level })
			}
			covers := func(of func(history.Growth) history.GrowthEstimate) string {
				return percent(share(list, func(g history.Growth) bool { i := of(g).Interval; return i.Lo <= 0 && 0 <= i.Hi }))
			}
			width := func(of func(history.Growth) history.GrowthEstimate) string {
				sum := 0.0
				for _, g := range list {
					sum += (of(g).Interval.Hi - of(g).Interval.Lo) / 2
				}
				return fmt.Sprintf("%.1f", 100*sum/float64(len(list)))
			}
			if w.name == "normal" {
				most := level + 0.005 + 3*math.Sqrt(level*(1-level)/float64(o.times))
				ok = ok && fails(recent) <= most && fails(anchor) <= most
			}
			t.Add(w.name, strconv.Itoa(n), percent(fails(recent)), percent(fails(anchor)), covers(recent), covers(anchor), width(recent), width(anchor))
		}
	}
	return t, ok
}

func recent(g history.Growth) history.GrowthEstimate { return g.Recent }
func anchor(g history.Growth) history.GrowthEstimate { return g.Anchor }

// declines asks when a gate sees a level that gets worse by a little every run.
func declines(o options) (table.Table, bool) {
	const runs, budget = 60, 0.05
	t := table.Table{Title: "A slow decline at the gate", Head: []string{"decline a run", "noise", "budget crossed", "anchor: first tenth", "median", "nine tenths", "never %", "recent: median", "never %"}}
	t.Note("Every run is 0.1, 0.25 or 0.5 %% worse than the one before; from the 6th run on each new run is gated with a budget of 5 %% at %s %%, against all before it, "+
		"%d runs in all. Crossed: the run that is 5 %% above the mean of the first five. Anchor and recent: the first run that fails, over all histories.", percent(level), runs)
	for _, decline := range []float64{0.001, 0.0025, 0.005} {
		for _, noise := range []float64{0.005, 0.01, 0.03} {
			type caught struct{ anchor, recent int }
			list := repeat(options{times: max(o.times/20, 1), seed: o.seed}, fmt.Sprint("decline ", decline, noise), func(rng *rand.Rand) (c caught) {
				x := drift(normal(rng, runs, noise), math.Expm1(decline*(runs-1)))
				for n := 6; n <= runs; n++ {
					g := grown(x[:n])
					if c.anchor == 0 && g.Anchor.P(budget) <= level {
						c.anchor = n
					}
					if c.recent == 0 && g.Recent.P(budget) <= level {
						c.recent = n
					}
				}
				return c
			})
			crossed := "–"
			if at := 3 + math.Log1p(budget)/decline; at < runs {
				crossed = strconv.Itoa(int(math.Ceil(at)))
			}
			var anchors, recents []int
			for _, c := range list {
				anchors, recents = append(anchors, c.anchor), append(recents, c.recent)
			}
			t.Add(percent(decline)+" %", percent(noise)+" %", crossed, first(anchors, 0.1), first(anchors, 0.5), first(anchors, 0.9), never(anchors), first(recents, 0.5), never(recents))
		}
	}
	return t, true
}

// first is the run by which a share of the histories has been caught.
func first(runs []int, share float64) string {
	sorted := slices.Clone(runs)
	for i, r := range sorted {
		if r == 0 {
			sorted[i] = math.MaxInt // never
		}
	}
	slices.Sort(sorted)
	at := sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
	if at == math.MaxInt {
		return "never"
	}
	return strconv.Itoa(at)
}

func never(runs []int) string { return percent(share(runs, func(r int) bool { return r == 0 })) }
