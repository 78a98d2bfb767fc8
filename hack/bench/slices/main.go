// Command slices measures what cutting trials into slices does to the spread of a round's
// ratio between two arms that are the same, on this machine and beside a load.
//
//	go -C hack/bench run ./slices -load 'stress-ng --cpu 2 --quiet' >docs/figures/slices.md
//
// A shell counts, for about 0.03 s of CPU time. Three experiments with a baseline and its
// control run one after the other, twice: a trial is one run; it is one run of eight times
// the work; it is eight slices of one run each. The second and the third do the same work.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"

	"gonum.org/v1/gonum/stat"

	"tare/hack/bench/beside"
	"tare/hack/bench/carryout"
	"tare/internal/run/journal"
	"tare/internal/run/machine/owned"
)

// slices is the number of slices, and how many times as much a whole trial of the same work does.
const slices = 8

func main() {
	binary := flag.String("tare", "../../bin/tare", "the tare binary")
	load := flag.String("load", "", "a program that runs beside the trials, with its arguments; none if empty")
	rounds := flag.Int("rounds", 20, "rounds of each run")
	work := flag.Int("work", 30_000, "how far the shell counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := compare(ctx, *binary, *load, *rounds, *work)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "slices:", err)
		os.Exit(1)
	}
}

// compare runs the experiments beside the load and prints a page.
func compare(ctx context.Context, binary, load string, rounds, work int) error {
	dir, err := os.MkdirTemp("", "tare-slices-")
	if err != nil {
		return err
	}
	defer owned.Remove(dir)
	stop, err := beside.Start(ctx, load)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf(`<!-- made by: go -C hack/bench run ./slices -load %q -rounds %d -->

# What slices do to the spread

An A/A experiment of %d rounds on a shell that counts, beside %s; all limits on the
machine's conditions are off. The spread is the standard deviation, over the rounds, of the
logarithm of control ÷ baseline: the width of an interval is proportional to it, and the number
of rounds that it takes to its square. One run of the program is about 0.03 s of CPU time. Two repeats of each,
one after the other.

| a trial is | wall clock of a trial, s | load average | spread of wall clock, %% | spread of CPU time, %% |
|---|---|---|---|---|
`, load, rounds, rounds, beside.Named(load))
	for repeat := range 2 {
		for _, kind := range []struct {
			name   string
			times  int
			slices string
		}{
			{"one run", 1, "none"},
			{"one run of 8 times the work", slices, "none"},
			{"8 slices of one run", 1, fmt.Sprint(slices)},
		} {
			at := filepath.Join(dir, fmt.Sprintf("%d-%d-%s", repeat, kind.times, kind.slices))
			trials, err := run(ctx, binary, at, rounds, work*kind.times, kind.slices)
			if err != nil {
				return err
			}
			var wall, load float64
			for _, t := range trials {
				wall += t.Wall.Seconds() / float64(len(trials))
				load += t.Conditions.Load / float64(len(trials))
			}
			fmt.Printf("| %s | %.2f | %.1f | %.1f | %.1f |\n", kind.name, wall, load, 100*spread(trials, "wall-clock"), 100*spread(trials, "cpu"))
		}
	}
	return nil
}

// run carries an experiment out and gives its trials.
func run(ctx context.Context, binary, dir string, rounds, count int, slices string) ([]journal.Trial, error) {
	r, err := carryout.Run(ctx, binary, dir, fmt.Appendf(nil, `apiVersion: tare/v1alpha1
kind: Experiment
name: slices
arms: [{name: plain}]
workloads:
  - command: {shell: 'i=0; while [ $i -lt %d ]; do i=$((i+1)); done'}
design: {rounds: %d, slices: %s, seed: 1}
limits: {foreignCPU: none, steal: none, throttling: none}
`, count, rounds, slices))
	if err != nil {
		return nil, err
	}
	return r.Trials, nil
}

// spread is the standard deviation, over the rounds, of the logarithm of control ÷ baseline.
func spread(trials []journal.Trial, metric string) float64 {
	ratio, seen := map[int]float64{}, map[int]int{}
	for _, t := range trials {
		sign := 1.0
		if t.Arm == "plain" {
			sign = -1
		}
		if v := t.Values[metric]; t.Valid() && v > 0 {
			ratio[t.Round] += sign * math.Log(v)
			seen[t.Round]++
		}
	}
	var all []float64
	for round, r := range ratio {
		if seen[round] == 2 {
			all = append(all, r)
		}
	}
	return stat.StdDev(all, nil)
}
