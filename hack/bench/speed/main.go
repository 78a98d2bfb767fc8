// Command speed times how a large run is read, analysed and reported: 1,000
// rounds × 50 metrics × 4 arms unless told otherwise.
//
//	go -C hack/bench run ./speed
//
// It makes the run in a temporary directory, with made-up values, and exits with
// 1 when analysis and report together take longer than the limit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report"
	"tare/internal/report/html"
	"tare/internal/run/journal"
	"tare/internal/run/machine/owned"
)

func main() {
	rounds := flag.Int("rounds", 1000, "rounds of the run")
	metrics := flag.Int("metrics", 50, "headline metrics of a trial")
	arms := flag.Int("arms", 4, "arms, baseline and control included")
	limit := flag.Duration("limit", 2*time.Second, "most that analysis and report may take; 0: no limit")
	flag.Parse()
	took, err := measure(os.Stdout, *rounds, *metrics, *arms)
	if err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
	if *limit > 0 && took > *limit {
		fmt.Printf("over the limit of %v\n", *limit)
		os.Exit(1)
	}
}

// measure makes a run, goes the whole way with it, and gives the time that
// analysis and report took together.
func measure(w io.Writer, rounds, metrics, arms int) (time.Duration, error) {
	dir, err := os.MkdirTemp("", "tare-speed-")
	if err != nil {
		return 0, err
	}
	defer owned.Remove(dir)
	dir = filepath.Join(dir, "run")
	if err := record(dir, planOf(rounds, metrics, arms)); err != nil {
		return 0, err
	}
	start := time.Now()
	run, err := journal.Open(dir)
	if err != nil {
		return 0, err
	}
	read := time.Since(start)
	start = time.Now()
	result := analysis.Analyze(run.Plan, run.Trials, run.Environment)
	analysed := time.Since(start)
	page, err := os.Create(filepath.Join(dir, "report.html"))
	if err != nil {
		return 0, err
	}
	defer page.Close()
	start = time.Now()
	if err := html.Write(page, report.Run(result, report.RunOptions{Experiment: run.Experiment, RunDir: dir})); err != nil {
		return 0, err
	}
	reported := time.Since(start)
	size, err := page.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(w, "%d rounds × %d metrics × %d arms: read %v, analysed %v, reported %v (%.1f MB of HTML)\n", rounds, metrics, arms,
		read.Round(time.Millisecond), analysed.Round(time.Millisecond), reported.Round(time.Millisecond), float64(size)/1e6)
	return analysed + reported, nil
}

// planOf is a plan of one cell.
func planOf(rounds, metrics, arms int) *experiment.Plan {
	p := &experiment.Plan{
		Schema: experiment.PlanSchema, Name: "speed", Testbed: "local", Seed: 1, Rounds: rounds, Attempts: 1,
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8,
		Arms: []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}, {Name: experiment.ControlName, Role: experiment.Control}},
	}
	for a := 2; a < arms; a++ {
		p.Arms = append(p.Arms, experiment.PlannedArm{Name: fmt.Sprintf("arm-%d", a-1), Role: experiment.Treatment})
	}
	cell := experiment.Cell{ID: "made-up", Workload: "made-up", Kind: "command", Expected: time.Second}
	for m := range metrics {
		cell.Metrics = append(cell.Metrics, experiment.Metric{Name: fmt.Sprintf("metric-%d", m+1), Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio})
	}
	p.Cells = []experiment.Cell{cell}
	return p
}

// record writes a run directory whose values have 3 % of noise and, in arm k, an
// overhead of k %. It is written at once: durability is not what is timed.
func record(dir string, p *experiment.Plan) error {
	run, err := journal.NewBulk(dir)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := 1; round <= p.Rounds; round++ {
		for position, step := range p.Order(round) {
			values := map[string]float64{}
			for _, m := range p.Cells[0].Metrics {
				values[m.Name] = math.Exp(0.03*rng.NormFloat64() + 0.01*float64(max(step.Arm-1, 0)))
			}
			err := run.Add(&journal.Trial{
				Round: round, Attempt: 1, Position: position + 1, Cell: p.Cells[0].ID, Arm: p.Arms[step.Arm].Name,
				Start: time.Unix(int64(run.Trials()), 0), Wall: time.Second, Values: values,
			})
			if err != nil {
				return errors.Join(err, run.Discard())
			}
		}
	}
	return run.Finish(p, nil)
}
