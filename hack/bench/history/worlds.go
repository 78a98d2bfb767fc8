package main

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/runs/history"
)

// world is how runs differ when nothing changes: the logarithms of the values of
// n runs, with a standard deviation of sd.
type world struct {
	name, about string
	values      func(rng *rand.Rand, n int, sd float64) []float64
}

var worlds = []world{
	{"normal", "independent normal noise", normal},
	{"outliers", "the same, and 5 % of runs are 20 % slower", outliers},
	{"AR(0.3)", "normal noise with an autocorrelation of 0.3 from run to run", autocorrelated(0.3)},
	{"AR(0.6)", "the same with 0.6", autocorrelated(0.6)},
}

func normal(rng *rand.Rand, n int, sd float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = sd * rng.NormFloat64()
	}
	return x
}

func outliers(rng *rand.Rand, n int, sd float64) []float64 {
	x := normal(rng, n, sd)
	for i := range x {
		if rng.Float64() < 0.05 {
			x[i] += math.Log(1.2)
		}
	}
	return x
}

func autocorrelated(r float64) func(*rand.Rand, int, float64) []float64 {
	return func(rng *rand.Rand, n int, sd float64) []float64 {
		x := make([]float64, n)
		state := rng.NormFloat64()
		for i := range x {
			x[i] = sd * state
			state = r*state + math.Sqrt(1-r*r)*rng.NormFloat64()
		}
		return x
	}
}

// step adds a change of a share from an index on.
func step(x []float64, at int, share float64) []float64 {
	for i := range x[at:] {
		x[at+i] += math.Log1p(share)
	}
	return x
}

// drift adds a share over the whole length, a little with every run.
func drift(x []float64, share float64) []float64 {
	for i := range x {
		x[i] += math.Log1p(share) * float64(i) / float64(len(x)-1)
	}
	return x
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// runs makes a run of one arm and one trial of each value: series by run. Every
// series is a headline metric of the same cell.
func runs(series ...[]float64) []*history.Run {
	plan := &experiment.Plan{Name: "simulated", Testbed: "local", Rounds: 1, Confidence: 0.95, Equivalence: 0.02, Power: 0.8,
		Arms:  []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}},
		Cells: []experiment.Cell{{ID: "cell", Kind: "command"}}}
	for s := range series {
		plan.Cells[0].Metrics = append(plan.Cells[0].Metrics, experiment.Metric{
			Name: "m" + strconv.Itoa(s), Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio})
	}
	list := make([]*history.Run, len(series[0]))
	for i := range list {
		t := journal.Trial{Seq: 1, Session: 1, Round: 1, Attempt: 1, Position: 1, Cell: "cell", Arm: "plain",
			Start: began.AddDate(0, 0, i), Values: map[string]float64{}}
		for s := range series {
			t.Values[plan.Cells[0].Metrics[s].Name] = math.Exp(series[s][i])
		}
		list[i] = history.Of(&journal.Run{Dir: "run-" + strconv.Itoa(i), Plan: plan, Trials: []journal.Trial{t}, Finished: true})
	}
	return list
}

// judged are such series as their history shows them.
func judged(o history.Options, series ...[]float64) []history.Series {
	return history.New(runs(series...), nil, o).Experiments[0].Series
}

// shifts are the changes that a history of one series shows.
func shifts(o history.Options, x []float64) []history.Change { return judged(o, x)[0].Shifts }
