package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"tare/hack/bench/table"
	"tare/internal/experiment"
	"tare/internal/workload/staircase"
)

// searching says that the metric is a capacity, which each trial searches by steps.
type searching struct {
	staircase.Search
	kind   string  // "fine" or "coarse"
	sd     float64 // by how much the server's capacity moves from try to try, on the log scale
	starts starts
}

// starts is where the searches of a run begin.
type starts string

const (
	everyTrial starts = "in every trial"        // as runs do
	everyRound starts = "in every round"        // alike for its arms
	byRound    starts = "by the round's number" // alike in all runs
	never      starts = "never"                 // all searches begin at one place
)

// near is the load that searches begin near.
const near = 1000

// searched is the capacity that a trial finds.
func (l *laboratory) searched(round int, step experiment.Step, treated bool) float64 {
	s, truth := l.search, l.truth
	if treated {
		truth += math.Log1p(-l.effect)
	}
	seed := l.plan.TrialSeed(round, step)
	switch s.starts {
	case everyRound:
		seed = l.plan.TrialSeed(round, experiment.Step{})
	case byRound:
		seed = uint64(round)
	case never:
		seed = 1
	}
	found, err := s.Find(seed, func(load float64) (bool, error) {
		return math.Log(load) < truth+s.sd*l.rng.NormFloat64(), nil
	})
	if err != nil {
		panic(err) // there are no bounds near
	}
	return found
}

// levels are the errors of the baseline's level, on the log scale, in pairs of runs of one server.
type levels struct{ first, second []float64 }

// level is how far the baseline's mean is from the truth.
func (l *laboratory) level() float64 {
	sum := 0.0
	for i := range l.trials {
		if l.trials[i].Arm == l.plan.Arms[0].Name {
			sum += math.Log(l.trials[i].Values[metric]) - l.truth
		}
	}
	return sum / float64(l.rounds)
}

// searching are designs whose trials search a capacity.
func (o options) searching() []*row {
	var list []*row
	add := func(kind string, sd float64, from starts, rounds ...int) {
		s := &searching{Search: staircase.Search{Fineness: staircase.Fine, Near: near, Least: 1, Most: 10e6}, kind: kind, sd: sd, starts: from}
		if kind == "coarse" {
			s.Fineness = staircase.Coarse
		}
		for _, n := range rounds {
			d := design{noise: noise{name: fmt.Sprintf("%s search ±%s %%, start drawn %s", kind, share(sd), from)}, rounds: n, arms: 1, search: s}
			r := newRow(d, []float64{0, equivalence, 0.05, 0.1})
			if r.unasked = from != everyTrial; o.selected(r.name()) {
				list = append(list, r)
			}
		}
	}
	for _, sd := range []float64{0, 0.002, 0.01, 0.03} {
		add("fine", sd, everyTrial, 10, 20)
	}
	for _, sd := range []float64{0, 0.01, 0.03, 0.1} {
		add("coarse", sd, everyTrial, 10, 20)
	}
	for _, from := range []starts{everyRound, byRound, never} {
		for _, sd := range []float64{0.002, 0.01} {
			add("fine", sd, from, 20)
		}
	}
	add("coarse", 0.03, everyRound, 20)
	add("coarse", 0.03, byRound, 20)
	return list
}

// ofSearching shows them.
func ofSearching(rows []*row) *table.Table {
	t := &table.Table{
		Title: "Capacities that are searched",
		Notes: []string{
			"Each trial searches the largest load that a server carries, by package internal/workload/staircase: to the fineness of\n*http* (fine: 2.2 %, eight turns) or of *xds* (coarse: 9 %, four turns). The server's capacity moves by the noise from try to try. What it\nis in truth is drawn for every two runs, from a quarter of what searches begin near to four times as much. Drawn is where a search\nbegins: in every trial, as runs do, or as it should not be. ± is one standard error.",
			"Bias is that of the cost's estimate, at the true cost where it is largest; the level's is that of the baseline's mean. Correlation: of the errors\nof the baseline's level in two runs of one server.",
		},
		Head: []string{"search", "noise of a try", "start is drawn", "rounds", "false claims %", "coverage at 0 %", "at 2 %", "at 5 %", "at 10 %", "false equivalence %", "largest bias %", "bias of a level %", "correlation of two runs"},
	}
	for _, r := range rows {
		cells := []string{r.search.kind, share(r.search.sd) + " %", string(r.search.starts), fmt.Sprint(r.rounds), within(r.tallies[0].claims, r.tallies[0].n)}
		worst := 0.0
		worstError := 0.0
		var pairs levels
		for _, s := range r.tallies {
			cells = append(cells, within(s.n-s.missed, s.n))
			mean := s.off / float64(s.n)
			if math.Abs(mean) >= math.Abs(worst) {
				worst, worstError = mean, math.Sqrt(max(s.offSquares/float64(s.n)-mean*mean, 0)/float64(s.n))
			}
			pairs.first, pairs.second = append(pairs.first, s.levels.first...), append(pairs.second, s.levels.second...)
		}
		n := float64(len(pairs.first))
		rho, both := stat.Correlation(pairs.first, pairs.second, nil), slices.Concat(pairs.first, pairs.second)
		t.Add(append(cells, within(r.tallies[1].equivalent, r.tallies[1].n), signed(worst, worstError),
			signed(stat.Mean(both, nil), stat.StdErr(stat.StdDev(both, nil), 2*n)), fmt.Sprintf("%.2f ± %.2f", rho, (1-rho*rho)/math.Sqrt(n)))...)
	}
	return t
}

// within is a count as a percentage of n, with its standard error.
func within(k, n int) string {
	p := float64(k) / float64(n)
	return fmt.Sprintf("%.1f ± %.1f", 100*p, 100*standardError(p, n))
}

// signed is a share as a percentage, with its sign and its standard error.
func signed(v, e float64) string {
	return fmt.Sprintf("%+.2f ± %.2f", math.Round(1e4*v)/100+0, 100*e)
}
