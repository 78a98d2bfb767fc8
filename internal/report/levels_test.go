package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/report/text"
	"tare/internal/run/journal"
	"tare/internal/test/golden"
)

// loaded is a run of a service at rates up to its capacity, direct and behind proxies:
// latencies rise steeply near it. At the highest rate mutual TLS has no valid trial.
func loaded(rounds int) *analysis.Run {
	var metrics []experiment.Metric
	for _, name := range []string{"latency-p50", "latency-p99"} {
		metrics = append(metrics, metric(name, "s", experiment.Lower, true, 0, 0).Metric)
	}
	metrics = append(metrics, metric("cpu-per-request", "s", experiment.Lower, false, 0, 0).Metric)
	plan := &experiment.Plan{Schema: experiment.PlanSchema, Name: "dataplane", Description: "What do two proxies cost a request, and what does mutual TLS?", Testbed: "local", Seed: 7, Rounds: rounds,
		Confidence: 0.95, Equivalence: 0.05, Power: 0.8, Attempts: 1,
		Arms: []experiment.PlannedArm{{Name: "direct", Role: experiment.Baseline}, {Name: experiment.ControlName, Role: experiment.Control},
			{Name: "proxies", Role: experiment.Treatment}, {Name: "proxies-with-mtls", Role: experiment.Treatment}}}
	for _, rate := range []string{"100/s", "250/s", "500/s", "1000/s", "2000/s", "4000/s", "8000/s"} {
		plan.Cells = append(plan.Cells, experiment.Cell{ID: "http.rate=" + rate, Workload: "http", Kind: "http", Metrics: metrics,
			Levels: []factor.Level{{Factor: "rate", Value: rate}}})
	}
	type cost struct{ service, capacity float64 } // seconds, requests a second
	costs := map[string]cost{"direct": {0.0004, 14_000}, experiment.ControlName: {0.0004, 14_000}, "proxies": {0.0009, 8_600}, "proxies-with-mtls": {0.00093, 7_900}}
	rng := rand.New(rand.NewPCG(11, 4))
	var trials []journal.Trial
	for round := 1; round <= rounds; round++ {
		drift := math.Exp(0.02 * rng.NormFloat64())
		for i, step := range plan.Order(round) {
			cell, arm := plan.Cells[step.Cell], plan.Arms[step.Arm].Name
			var rate float64
			fmt.Sscan(cell.Levels[0].Value, &rate)
			c := costs[arm]
			mean := drift * c.service / (1 - min(0.995, rate/c.capacity))
			t := journal.Trial{Round: round, Attempt: 1, Position: i + 1, Cell: cell.ID, Arm: arm, Start: start.Add(time.Duration(len(trials)) * 10 * time.Second), Wall: 10 * time.Second,
				Values: map[string]float64{"latency-p50": 0.7 * mean * math.Exp(0.03*rng.NormFloat64()), "latency-p99": 4.6 * mean * math.Exp((0.05+0.1*rate/c.capacity)*rng.NormFloat64()),
					"cpu-per-request": (3e-5 + c.service/10 + 1e-3/rate) * math.Exp(0.01*rng.NormFloat64())}}
			if rate > c.capacity || arm == "proxies" && rate == 4000 && round == 3 {
				t.Invalid = []journal.Violation{{Rule: "rate", Detail: fmt.Sprintf("requested rate not reached: %.0f of %.0f requests/s", c.capacity, rate)}}
			}
			trials = append(trials, t)
		}
	}
	return analysis.Analyze(plan, trials, nil)
}

func TestLevelsGolden(t *testing.T) {
	r := loaded(12)
	golden.Check(t, "testdata/levels.txt", growth(asText(t, Run(r, RunOptions{}), text.Options{Width: 120})))
	golden.Check(t, "testdata/levels-narrow.txt", growth(asText(t, Run(r, RunOptions{}), text.Options{Width: 60})))
	chart := arrange(r).lineChart(&r.Scaling[1])
	golden.Check(t, "testdata/levels.svg", chart.Draw(true))
	golden.Check(t, "testdata/levels-narrow.svg", chart.Draw(false))
}

// growth is the section on how it grows.
func growth(page string) string {
	_, after, _ := strings.Cut(page, "How it grows\n")
	before, _, _ := strings.Cut(after, "## Proof")
	return before
}

// TestLevelsWithoutValues breaks the line of an arm where it has no valid trial, and marks
// the place.
func TestLevelsWithoutValues(t *testing.T) {
	r := loaded(6)
	for i := range r.Cells { // nor has it any at 500/s
		if r.Cells[i].ID != "http.rate=500/s" {
			continue
		}
		for k := range r.Cells[i].Metrics {
			for a := range r.Cells[i].Metrics[k].Arms {
				if of := &r.Cells[i].Metrics[k].Arms[a]; of.Arm == "proxies-with-mtls" {
					of.Values, of.Rounds, of.Summary = nil, nil, analysis.Summary{}
				}
			}
		}
	}
	chart := arrange(r).lineChart(&r.Scaling[1])
	var known []string
	for _, p := range chart.Arms[3].Estimates {
		known = append(known, fmt.Sprint(p.Known))
	}
	if got := strings.Join(known, " "); got != "true true false true true true false" {
		t.Errorf("levels with a value: %s", got)
	}
	picture := chart.Draw(true)
	if got := strings.Count(picture, "l6 6m0-6l-6 6"); got != 2 {
		t.Errorf("%d levels are crossed out, want 2", got)
	}
	var lines []int // points of each line of the arm
	for line := range strings.Lines(picture) {
		if strings.HasPrefix(line, "<path d=") && strings.Contains(line, `class="thin c1"`) {
			lines = append(lines, strings.Count(line, "L")+1)
		}
	}
	if !slices.Equal(lines, []int{2, 3}) {
		t.Errorf("the lines go through %v levels, want 2 and 3", lines)
	}
	if page := render(t, r, RunOptions{}); strings.Count(page, "no valid value") != 4 {
		t.Errorf("%d cells say that there is no valid value, want 2 for each of two metrics", strings.Count(page, "no valid value"))
	}
}

// TestLevelsOfImports: trials that are no pairs have a curve as well, and no slope.
func TestLevelsOfImports(t *testing.T) {
	made := loaded(8)
	plan := *made.Plan
	plan.Import, plan.Testbed, plan.Cells = &experiment.Import{Tool: "fortio"}, experiment.TestbedImport, slices.Clone(plan.Cells)
	unlimited := experiment.Cell{ID: "http.rate=max", Workload: "http", Kind: "http", Metrics: plan.Cells[0].Metrics, Levels: []factor.Level{{Factor: "rate", Value: "max"}}}
	plan.Cells = append(plan.Cells, unlimited)
	var trials []journal.Trial
	for _, c := range made.Cells {
		for round := range 8 {
			for _, arm := range plan.Arms {
				trial := journal.Trial{Round: round + 1, Attempt: 1, Cell: c.ID, Arm: arm.Name, Values: map[string]float64{}}
				for _, m := range c.Metrics {
					for _, a := range m.Arms {
						if a.Arm == arm.Name && round < len(a.Values) {
							trial.Values[m.Metric.Name] = a.Values[round]
						}
					}
				}
				trials = append(trials, trial)
			}
		}
	}
	r := analysis.Analyze(&plan, trials, nil)
	if len(r.Scaling) != 2 || len(r.Scaling[0].Arms) != 0 || !slices.Equal(r.Scaling[0].LeftOut, []string{"max"}) {
		t.Fatalf("curves %+v", r.Scaling)
	}
	page := words(render(t, r, RunOptions{}))
	says(t, "the page", strings.ReplaceAll(page, "\u00a0", " "), "p99 latency by rate", "7 levels from 100 to 8,000 requests/s; without max")
	if strings.Contains(page, "the slope is what one more costs") {
		t.Error("the page speaks of slopes, and there is none")
	}
}

// A terminal shows the lines of idle instances' CPU cores and of observed components without --all, whatever their labels.
func TestChosen(t *testing.T) {
	for _, c := range []struct {
		metric experiment.Metric
		want   bool
	}{
		{experiment.Metric{Name: "CPU time", Unit: "cores", Scale: experiment.Difference}, true},
		{experiment.Metric{Name: "memory of istiod", Unit: "B", Scale: experiment.Difference}, true},
		{experiment.Metric{Name: "retransmits", Scale: experiment.Difference}, false},
		{experiment.Metric{Name: "median latency", Unit: "s", Headline: true}, true},
	} {
		if chosen(c.metric) != c.want {
			t.Errorf("%+v: %v", c.metric, !c.want)
		}
	}
}
