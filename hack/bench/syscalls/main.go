// Command syscalls measures how small an effect the workload syscalls resolves in a minute, test by test,
// and how often it claims one where there is none.
//
//	go -C hack/bench run ./syscalls
//	go -C hack/bench run ./syscalls -load 'stress-ng --cpu 2 --quiet' -runs 20
//
// Each run has a baseline, its control, and an arm that is the same again: a variable is set around it, and
// the probe has no environment. What that arm is found to cost is a false claim.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/hack/bench/beside"
	"tare/hack/bench/carryout"
	"tare/hack/bench/table"
	"tare/internal/analysis"
	"tare/internal/report/wording"
	"tare/internal/run/machine/owned"
	"tare/internal/workload/syscalls"
)

// design is what is run.
type design struct {
	binary   string
	rounds   int
	slices   int
	duration time.Duration
	runs     int
}

func main() {
	d := design{}
	flag.StringVar(&d.binary, "tare", "../../bin/tare", "the tare binary")
	flag.IntVar(&d.rounds, "rounds", 44, "rounds of each run")
	flag.IntVar(&d.slices, "slices", 4, "slices of a trial")
	flag.DurationVar(&d.duration, "duration", 310*time.Millisecond, "measured time of a trial; with 44 rounds of three arms a run takes a minute")
	flag.IntVar(&d.runs, "runs", 1, "runs of each test")
	tests := flag.String("tests", "", "tests, with commas between them; all if empty")
	load := flag.String("load", "", "a program that runs beside the trials, with its arguments; none if empty")
	flag.Parse()
	names := syscalls.Test("").Values()
	if *tests != "" {
		names = strings.Split(*tests, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := measure(ctx, d, names, *load)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "syscalls:", err)
		os.Exit(1)
	}
}

// measure runs all of it beside the load and prints a page.
func measure(ctx context.Context, d design, names []string, load string) error {
	dir, err := os.MkdirTemp("", "tare-syscalls-")
	if err != nil {
		return err
	}
	defer owned.Remove(dir)
	stop, err := beside.Start(ctx, load)
	if err != nil {
		return err
	}
	defer stop()
	t := &table.Table{
		Title: "What a run resolves",
		Head:  []string{"test", "CPU time of one", "found from %", "wall clock of one", "found from %", "seconds of a run", "claims", "intervals without 0", "controls that failed"},
	}
	var machine string
	for _, name := range names {
		var all results
		for i := range d.runs {
			run, took, err := carryOut(ctx, d, filepath.Join(dir, fmt.Sprintf("%s-%d", name, i)), name, i+1)
			if err != nil {
				return err
			}
			all.add(run, took)
			if e := run.Environment; e != nil && machine == "" {
				machine = fmt.Sprintf("%s of %s, Linux %s, load %.1f at the start", wording.Count(e.CPU.Online, "processor", "processors"), e.CPU.Model, e.Kernel, e.Load[0])
			}
		}
		all.row(t, name)
		fmt.Fprintln(os.Stderr, strings.Join(t.Rows[len(t.Rows)-1], "  "))
	}
	fmt.Printf("<!-- made by: go -C hack/bench run ./syscalls -rounds %d -slices %d -duration %v -runs %d -load %q -->\n\n# What the workload syscalls resolves\n\n%s, beside %s.\n",
		d.rounds, d.slices, d.duration, d.runs, load, machine, beside.Named(load))
	t.Note("Runs of %d rounds of a baseline, its control and an arm that is the same again; a trial measures for %v, in %d slices.\n"+
		"Found from: the smallest effect that such a run finds with a chance of 80 %%, the median of the runs. Claims are verdicts on that\n"+
		"arm's CPU time that it costs or gains; intervals without 0 are those of 95 %% for the same, of which one in twenty is expected\n"+
		"by chance. A run whose control fails gives no verdicts.", d.rounds, d.duration, d.slices)
	t.Write(os.Stdout, true)
	return nil
}

// carryOut runs one test once.
func carryOut(ctx context.Context, d design, dir, test string, seed int) (*analysis.Run, time.Duration, error) {
	text := fmt.Appendf(nil, `apiVersion: tare/v1alpha1
kind: Experiment
name: %s
arms:
  - name: plain
  - name: same
    layers: [{env: {set: {NOTHING: x}}}]
workloads:
  - syscalls: {tests: %s, duration: %s, in: host}
design: {rounds: %d, slices: %d, seed: %d}
limits: {foreignCPU: none, steal: none, throttling: none}
`, test, test, d.duration, d.rounds, d.slices, seed)
	begun := time.Now()
	r, err := carryout.Run(ctx, d.binary, dir, text)
	if err != nil {
		return nil, 0, err
	}
	return analysis.Analyze(r.Plan, r.Trials, r.Environment), time.Since(begun), nil
}

// results are those of the runs of one test.
type results struct {
	runs                  int
	seconds               float64
	cpu, wall             []float64 // s, of the baseline
	cpuFound, wallFound   []float64 // the smallest effects that are found
	claims, excludes, bad int
}

func (r *results) add(run *analysis.Run, took time.Duration) {
	r.runs++
	r.seconds += took.Seconds()
	if !run.Valid {
		r.bad++
	}
	for _, c := range run.Comparisons {
		switch c.Metric.Name {
		case "operation-cpu":
			r.cpu, r.cpuFound = append(r.cpu, c.Baseline.Median), append(r.cpuFound, c.MDE)
			if c.Verdict == analysis.Costs || c.Verdict == analysis.Gains {
				r.claims++
			}
			if c.Overhead.Lo > 0 || c.Overhead.Hi < 0 {
				r.excludes++
			}
		case "operation-wall":
			r.wall, r.wallFound = append(r.wall, c.Baseline.Median), append(r.wallFound, c.MDE)
		}
	}
}

func (r *results) row(t *table.Table, name string) {
	time := func(list []float64) string { return wording.Value(median(list), "s") }
	share := func(list []float64) string { return fmt.Sprintf("%.2f", 100*median(list)) }
	of := func(n int) string { return fmt.Sprintf("%d of %d", n, r.runs) }
	t.Add(name, time(r.cpu), share(r.cpuFound), time(r.wall), share(r.wallFound), fmt.Sprintf("%.0f", r.seconds/float64(r.runs)), of(r.claims), of(r.excludes), of(r.bad))
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}
