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

// sd is the standard deviation of runs where the tables do not say otherwise.
const sd = 0.03

// mostRelated is how many flat histories may show a change whose runs resemble
// their neighbours with an autocorrelation of 0.3.
const mostRelated = 0.05

// mostFlat is the largest share of flat histories that may show a change: the
// level, and three standard errors for the chance of the simulation.
func mostFlat(level float64, times int) float64 {
	return level + 3*math.Sqrt(level*(1-level)/float64(times))
}

// flats counts histories without any change that show one.
func flats(o options) (table.Table, bool) {
	t := table.Table{Title: "Flat histories", Head: []string{"noise", "runs", "series", "show a change %", "of these, warned of %"}}
	t.Note("Histories in which nothing ever changes. The level is %s %% for all headline series of an experiment together. "+
		"Runs that resemble their neighbours are compared with series that do so as well, as far as their autocorrelation can be known from so few: "+
		"what is left shows here. Warned of: a note says that neighbouring runs resemble each other.", percent(history.DefaultAlpha))
	ok := true
	type claim struct{ shown, warned bool }
	row := func(w world, n, series int) {
		claims := repeat(o, fmt.Sprint("flat ", w.name, n, series), func(rng *rand.Rand) (c claim) {
			x := make([][]float64, series)
			for i := range x {
				x[i] = w.values(rng, n, sd)
			}
			for _, s := range judged(history.Options{}, x...) {
				c.shown = c.shown || len(s.Shifts) > 0
				c.warned = c.warned || len(s.Shifts) > 0 && len(s.Notes) > 0
			}
			return c
		})
		rate := share(claims, func(c claim) bool { return c.shown })
		if w.name == "normal" || w.name == "outliers" {
			ok = ok && rate <= mostFlat(history.DefaultAlpha, o.times)
		}
		if w.name == "AR(0.3)" {
			ok = ok && rate <= mostFlat(mostRelated, o.times)
		}
		warned := "–"
		if rate > 0 {
			warned = fmt.Sprintf("%.0f", 100*share(claims, func(c claim) bool { return c.warned })/rate)
		}
		t.Add(w.name, strconv.Itoa(n), strconv.Itoa(series), percent(rate), warned)
	}
	for _, w := range worlds {
		for _, n := range []int{20, 50, 100} {
			row(w, n, 1)
		}
	}
	row(worlds[0], 50, 10)
	row(worlds[0], 50, 30)
	return t, ok
}

// sight is what was seen of one true change.
type sight struct {
	changes int
	off     int // runs between the truth and the nearest change; -1: none
	inside  bool
	width   int
	size    bool // the interval of the size holds the truth
}

// see judges a history with a change at a run.
func see(x []float64, at int, share float64, o history.Options) sight {
	found := shifts(o, x)
	s := sight{changes: len(found), off: -1}
	for _, c := range found {
		if off := max(c.Run-at, at-c.Run); s.off < 0 || off < s.off {
			s.off = off
			s.inside = c.Earliest <= at && at <= c.Latest
			s.width = c.Latest - c.Earliest + 1
			s.size = c.Size.Lo <= share && share <= c.Size.Hi
		}
	}
	return s
}

// describe gives the columns that steps and places share.
func describe(list []sight) []string {
	var claimed []sight
	for _, s := range list {
		if s.off >= 0 {
			claimed = append(claimed, s)
		}
	}
	within := func(k int) string {
		return percent(share(list, func(s sight) bool { return s.off >= 0 && s.off <= k }))
	}
	cells := []string{percent(share(list, func(s sight) bool { return s.off >= 0 })), within(0), within(2), within(5),
		percent(share(list, func(s sight) bool { return s.changes > 1 }))}
	if len(claimed) == 0 {
		return append(cells, "–", "–", "–")
	}
	width := 0
	for _, s := range claimed {
		width += s.width
	}
	return append(cells, percent(share(claimed, func(s sight) bool { return s.inside })),
		fmt.Sprintf("%.1f", float64(width)/float64(len(claimed))), percent(share(claimed, func(s sight) bool { return s.size })))
}

var sightHead = []string{"found %", "exactly %", "within 2 %", "within 5 %", "more than one %", "bounds hold it %", "runs in bounds", "size covered %"}

// steps has one step in the middle of 50 runs.
func steps(o options) (table.Table, bool) {
	t := table.Table{Title: "One step among 50 runs", Head: append([]string{"noise", "step"}, sightHead...)}
	t.Note("A step after 25 of 50 runs, with runs that differ by %s %%. Found: any change is shown. Exactly, within 2 and within 5: "+
		"the nearest change shown is that many runs from the truth, of all histories. Bounds hold it, and size covered: of the histories in which a change is shown, at a nominal 95 %%. The last row is a method that "+
		"knows that there is one step, and both levels: what nobody can exceed who has to find them out.", percent(sd))
	for _, w := range worlds {
		for _, size := range []float64{0.03, 0.05, 0.10} {
			if w.name != "normal" && size != 0.05 {
				continue
			}
			list := repeat(o, fmt.Sprint("step ", w.name, size), func(rng *rand.Rand) sight {
				return see(step(w.values(rng, 50, sd), 25, size), 25, size, history.Options{})
			})
			t.Add(append([]string{w.name, percent(size) + " %"}, describe(list)...)...)
		}
	}
	off := repeat(o, "oracle", func(rng *rand.Rand) int { return oracle(step(normal(rng, 50, sd), 25, 0.05), 25, 0.05) })
	within := func(k int) string { return percent(share(off, func(v int) bool { return v <= k })) }
	t.Add("normal, levels known", "5.00 %", "100.00", within(0), within(2), within(5), "–", "–", "–", "–")
	return t, true
}

// oracle is how far from the truth the place is that fits best when both levels
// are known.
func oracle(x []float64, at int, share float64) int {
	best, most, sum := 0, math.Inf(-1), 0.0
	level := math.Log1p(share)
	for k := len(x) - 1; k >= 1; k-- {
		sum += x[k] - level/2 // evidence that run k is of the new level
		if sum > most {
			best, most = k, sum
		}
	}
	return max(best-at, at-best)
}

// places has the step elsewhere.
func places(o options) (table.Table, bool) {
	t := table.Table{Title: "Steps near the ends", Head: append([]string{"step", "new runs"}, sightHead...)}
	t.Note("The same step with few runs before or after it, of 50. With fewer than %d runs on one side nothing is claimed there, so that a step "+
		"in the last runs is not found yet: that is what tare gate is for. A change that is shown then lies elsewhere.", history.DefaultSegment)
	for _, size := range []float64{0.05, 0.10} {
		for _, last := range []int{45, 40, 10, 5, 3} {
			list := repeat(o, fmt.Sprint("place ", size, last), func(rng *rand.Rand) sight {
				return see(step(normal(rng, 50, sd), 50-last, size), 50-last, size, history.Options{})
			})
			t.Add(append([]string{percent(size) + " %", strconv.Itoa(last)}, describe(list)...)...)
		}
	}
	return t, true
}

// segments compares smallest segments.
func segments(o options) (table.Table, bool) {
	t := table.Table{Title: "The smallest segment", Head: []string{"runs at least", "flat shows a change %", "flat with outliers %", "5 % after 25 of 50 %",
		"10 % in the last 5 of 50 %", "10 % in the last 4 of 20 %", "10 % in 4 of 50, then gone %"}}
	t.Note("How often a change is shown, by the smallest number of runs between two changes. The level of the test does not depend on it. A smaller one sees a step "+
		"with fewer new runs, and takes a disturbance of so many runs for two changes (last column); a larger one waits longer. %d is the default.", history.DefaultSegment)
	for _, least := range []int{4, 5, 8, 10} {
		opts := history.Options{Segment: least}
		count := func(name string, make func(rng *rand.Rand) []float64) string {
			found := repeat(o, name, func(rng *rand.Rand) bool { return len(shifts(opts, make(rng))) > 0 })
			return percent(share(found, func(b bool) bool { return b }))
		}
		t.Add(strconv.Itoa(least),
			count("segment flat", func(rng *rand.Rand) []float64 { return normal(rng, 50, sd) }),
			count("segment outliers", func(rng *rand.Rand) []float64 { return outliers(rng, 50, sd) }),
			count("segment step", func(rng *rand.Rand) []float64 { return step(normal(rng, 50, sd), 25, 0.05) }),
			count("segment last", func(rng *rand.Rand) []float64 { return step(normal(rng, 50, sd), 45, 0.1) }),
			count("segment young", func(rng *rand.Rand) []float64 { return step(normal(rng, 20, sd), 16, 0.1) }),
			count("segment gone", func(rng *rand.Rand) []float64 { return step(step(normal(rng, 50, sd), 20, 0.1), 24, 1/1.1-1) }))
	}
	return t, true
}

// drifts has a level that never jumps.
func drifts(o options) (table.Table, bool) {
	t := table.Table{Title: "Slow drift", Head: []string{"drift over 50 runs", "noise", "shows a change %", "changes on average"}}
	t.Note("A level that moves a little with every run has no changepoint. Where the drift is seen at all, it is shown as steps.")
	for _, size := range []float64{0.01, 0.05, 0.25} {
		for _, noise := range []float64{0.01, 0.03} {
			counts := repeat(o, fmt.Sprint("drift ", size, noise), func(rng *rand.Rand) int {
				return len(shifts(history.Options{}, drift(normal(rng, 50, noise), size)))
			})
			sum := 0
			for _, c := range counts {
				sum += c
			}
			t.Add(percent(size)+" %", percent(noise)+" %", percent(share(counts, func(c int) bool { return c > 0 })), fmt.Sprintf("%.2f", float64(sum)/float64(len(counts))))
		}
	}
	return t, true
}

// interludes has a level that comes and goes.
func interludes(o options) (table.Table, bool) {
	t := table.Table{Title: "A change that is taken back", Head: []string{"change", "runs", "shown %", "both ends within 2 %", "more than two changes %"}}
	t.Note("The level changes in the middle of 50 runs for some runs, and then is what it was.")
	for _, size := range []float64{0.05, 0.10} {
		for _, length := range []int{3, 5, 8, 15} {
			list := repeat(o, fmt.Sprint("interlude ", size, length), func(rng *rand.Rand) []history.Change {
				return shifts(history.Options{}, step(step(normal(rng, 50, sd), 20, size), 20+length, 1/(1+size)-1))
			})
			near := func(list []history.Change, at int) bool {
				return slices.ContainsFunc(list, func(s history.Change) bool { return max(s.Run-at, at-s.Run) <= 2 })
			}
			t.Add(percent(size)+" %", strconv.Itoa(length), percent(share(list, func(l []history.Change) bool { return len(l) > 0 })),
				percent(share(list, func(l []history.Change) bool { return near(l, 20) && near(l, 20+length) })),
				percent(share(list, func(l []history.Change) bool { return len(l) > 2 })))
		}
	}
	return t, true
}
