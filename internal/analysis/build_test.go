package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
)

// testPlan returns a plan with a baseline, a control and the named treatments over one cell.
func testPlan(rounds int, metrics []experiment.Metric, treatments ...string) *experiment.Plan {
	p := &experiment.Plan{
		Schema: experiment.PlanSchema, Name: "test", Seed: 7, Rounds: rounds,
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 2,
		Arms: []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}, {Name: "control", Role: experiment.Control}},
		Cells: []experiment.Cell{{
			ID: "network", Workload: "network", Kind: "network", Metrics: metrics,
			Testbed: map[string]any{"link": map[string]any{"rate": "1Gbit", "mtu": 1500}},
		}},
	}
	for _, name := range treatments {
		p.Arms = append(p.Arms, experiment.PlannedArm{Name: name, Role: experiment.Treatment})
	}
	return p
}

func headline(name string, better experiment.Better) experiment.Metric {
	return experiment.Metric{Name: name, Unit: "s", Better: better, Headline: true, Scale: experiment.Ratio}
}

var testStart = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// testTrials carries the plan out. The function value returns a metric's value in a round.
func testTrials(p *experiment.Plan, rounds int, value func(round int, cell, arm, metric string) float64) []journal.Trial {
	var trials []journal.Trial
	for round := 1; round <= rounds; round++ {
		for i, step := range p.Order(round) {
			cell, arm := p.Cells[step.Cell], p.Arms[step.Arm]
			t := journal.Trial{
				Seq: len(trials) + 1, Session: 1, Round: round, Attempt: 1, Position: i%len(p.Arms) + 1,
				Cell: cell.ID, Arm: arm.Name, Values: map[string]float64{},
				Start: testStart.Add(time.Duration(len(trials)) * 4 * time.Second), Wall: 3 * time.Second,
				Harness: journal.Harness{CPU: 15 * time.Millisecond, Around: time.Second},
			}
			for _, m := range cell.Metrics {
				t.Values[m.Name] = value(round, cell.ID, arm.Name, m.Name)
			}
			trials = append(trials, t)
		}
	}
	return trials
}

// noisy returns values around 100 with log-normal noise, times each arm's factor.
func noisy(seed uint64, sd float64, factor map[string]float64) func(int, string, string, string) float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(_ int, _, arm, metric string) float64 {
		f, ok := factor[arm+" "+metric]
		if !ok {
			f, ok = factor[arm]
		}
		if !ok {
			f = 1
		}
		return 100 * f * math.Exp(sd*rng.NormFloat64())
	}
}

// breakRule makes every trial of an arm invalid.
func breakRule(trials []journal.Trial, arm, rule string) {
	for i := range trials {
		if trials[i].Arm == arm {
			trials[i].Values = nil
			trials[i].Invalid = []journal.Violation{{Rule: rule, Detail: "made so"}}
		}
	}
}

func percentOf(v float64) *quantity.Percent {
	p := quantity.Percent(v)
	return &p
}

func texts(r *Run) (list []string) {
	for _, c := range r.Comparisons {
		list = append(list, fmt.Sprintf("%s/%s/%s: %s", c.Cell, c.Arm, c.Metric.Name, said(c)))
	}
	return list
}

// said formats a comparison as a line: its verdict, overheads (in percent for a ratio), and its
// reason with the figures.
func said(c Comparison) string {
	text := string(c.Verdict)
	if c.Grade == Normal {
		text += " if normal"
	}
	unit := 100.0
	if c.Metric.Scale == experiment.Difference {
		unit = 1
	}
	interval := func(i Interval) string { return fmt.Sprintf("[%.1f %.1f]", unit*i.Lo, unit*i.Hi) }
	if c.Rounds > 0 {
		text += fmt.Sprintf(" %.1f", unit*c.Overhead.Point)
	}
	if c.Rounds > 0 && !c.PointOnly {
		text += " " + interval(c.Overhead)
	}
	if c.Inner != nil {
		text += fmt.Sprintf(" inner %.2g %s", c.Inner.Confidence, interval(c.Inner.Interval))
	}
	if c.Reason != nil {
		text += " " + figures(c.Reason)
	}
	if c.Reason == (NothingShown{}) {
		text += fmt.Sprintf(" mde %.1f needed %d", unit*c.MDE, c.Needed)
	}
	if c.Observational {
		text += " observational"
	}
	if !c.Metric.Headline {
		text += " exploratory"
	}
	if c.Control {
		text += " control"
	}
	if c.Restates != "" {
		text += " restates " + c.Restates
	}
	return text
}

// figures formats a reason or a finding as a line: its kind and its figures.
func figures(f interface{ Kind() string }) string {
	data, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(f.Kind()+" "+string(data), " {}")
}

func reasons(r *Run) (list []string) {
	for _, reason := range r.Reasons {
		list = append(list, figures(reason))
	}
	return list
}
