package report

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tare/analysis"
	"tare/experiment"
	"tare/journal"
	"tare/report/markdown"
	terminal "tare/report/text"
)

// TestCapacity: every form says how much less load an arm holds, at what, and where it
// collapses beyond.
func TestCapacity(t *testing.T) {
	plan := &experiment.Plan{Schema: experiment.PlanSchema, Name: "capacity", Testbed: "local", Seed: 7, Rounds: 12, Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 1,
		Arms: []experiment.PlannedArm{{Name: "direct", Role: experiment.Baseline}, {Name: experiment.ControlName, Role: experiment.Control}, {Name: "mtls", Role: experiment.Treatment}},
		Cells: []experiment.Cell{{ID: "http", Workload: "http", Kind: "http", Metrics: []experiment.Metric{
			{Name: "capacity", Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio, Objective: "p99 ≤ 20 ms"},
			{Name: "rate-beyond", Better: experiment.Higher, Scale: experiment.Ratio}}}}}
	rng := rand.New(rand.NewPCG(2, 1))
	var trials []journal.Trial
	for round := 1; round <= plan.Rounds; round++ {
		for i, step := range plan.Order(round) {
			capacity, beyond := 10_000., 0.99
			if plan.Arms[step.Arm].Name == "mtls" {
				capacity, beyond = 8_900, 0.4
			}
			trials = append(trials, journal.Trial{Round: round, Attempt: 1, Position: i + 1, Cell: "http", Arm: plan.Arms[step.Arm].Name,
				Start: start.Add(time.Duration(len(trials)) * time.Minute), Wall: time.Minute,
				Values: map[string]float64{"capacity": capacity * math.Exp(0.005*rng.NormFloat64()), "rate-beyond": beyond * math.Exp(0.005*rng.NormFloat64())}})
		}
	}
	r := analysis.Analyze(plan, trials, nil)
	var text, md bytes.Buffer
	for _, err := range []error{terminal.Write(&text, Run(r, RunOptions{}), terminal.Options{Width: 120}), markdown.Write(&md, Run(r, RunOptions{}))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for form, page := range map[string]string{"terminal": text.String(), "Markdown": md.String(), "page": words(render(t, r, RunOptions{}))} {
		page = strings.NewReplacer("\u00a0", " ", "\\", "").Replace(page)
		for _, want := range []string{"holds 10.8 %", "less load at p99 ≤ 20 ms", "Loaded beyond its capacity: direct answers 99 % of it; mtls answers 40 % of it, a collapse."} {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q:\n%s", form, want, page)
			}
			if strings.Contains(page, "control holds") || strings.Contains(page, "control: holds") {
				t.Errorf("%s tells the control as a result", form)
			}
		}
	}
}
