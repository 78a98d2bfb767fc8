package history_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/runs/history"
	"tare/internal/runs/history/historytest"
)

// base is a run with little noise, from which tests derive their runs.
var base = historytest.Run{Name: "disk", Level: 0.4, Cost: 0.07, Noise: 0.004, Rounds: 8, Size: "4KiB", Version: "v1", Kernel: "6.1"}

// made generates n runs, each changed by a function of the test.
func made(n int, change func(i int, r *historytest.Run)) []*history.Run {
	var runs []*history.Run
	for i := range n {
		r := base
		r.Number = i
		change(i, &r)
		runs = append(runs, history.Of(r.Journal(fmt.Sprintf("runs/%03d", i))))
	}
	return runs
}

// walk generates runs of one arm and one trial each, whose levels are the given values on the log
// scale.
func walk(values []float64) []*history.Run {
	return made(len(values), func(i int, r *historytest.Run) {
		r.Alone, r.Rounds, r.Noise, r.Level = true, 1, 0, math.Exp(values[i])
	})
}

// noise returns n values with a standard deviation of 3 %.
func noise(n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 5))
	x := make([]float64, n)
	for i := range x {
		x[i] = 0.03 * rng.NormFloat64()
	}
	return x
}

// stepped adds a step of 5 % from the index on.
func stepped(x []float64, at int) []float64 {
	for i := range x[at:] {
		x[at+i] += math.Log(1.05)
	}
	return x
}

// only returns a series of the only cell.
func only(t *testing.T, h *history.History, arm, metric, of string) history.Series {
	t.Helper()
	for _, e := range h.Experiments {
		for _, s := range e.Series {
			if s.Arm == arm && s.Metric.Name == metric && s.Of == of {
				return s
			}
		}
	}
	t.Fatalf("no series of %s, %s, %s", metric, arm, of)
	return history.Series{}
}
