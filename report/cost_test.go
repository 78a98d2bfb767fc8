package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tare/analysis"
	"tare/cost"
	"tare/experiment"
	"tare/golden"
	"tare/journal"
	"tare/report/columns"
	"tare/report/html"
	"tare/report/markdown"
	terminal "tare/report/text"
)

// someCost is the cost of a run of six rounds, of which an arm needs a fifth more.
func someCost(t *testing.T, o cost.Options) *cost.Result {
	t.Helper()
	plan := &experiment.Plan{Schema: experiment.PlanSchema, Name: "mesh", Testbed: "local", Seed: 7, Rounds: 6, Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 1,
		Arms: []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}, {Name: "control", Role: experiment.Control}, {Name: "mtls", Role: experiment.Treatment}},
		Cells: []experiment.Cell{{ID: "http", Workload: "http", Kind: "http", Metrics: []experiment.Metric{
			{Name: "http-cpu", Unit: "s/request", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio},
			{Name: "capacity", Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio}}}}}
	var trials []journal.Trial
	for round := 1; round <= 6; round++ {
		for i, step := range plan.Order(round) {
			v := 0.001 * math.Pow(1.003, float64((round*7+i)%5))
			if plan.Arms[step.Arm].Name == "mtls" {
				v *= 1.2
			}
			trials = append(trials, journal.Trial{Round: round, Attempt: 1, Position: i + 1, Cell: "http", Arm: plan.Arms[step.Arm].Name,
				Start: start.Add(time.Duration(len(trials)) * time.Minute), Wall: time.Minute, Values: map[string]float64{"http-cpu": v, "capacity": 4 / v}})
		}
	}
	r, err := cost.Of(analysis.Analyze(plan, trials, nil), trials, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCostGolden(t *testing.T) {
	r := someCost(t, cost.Options{Rate: "12000/s", NodeCPUs: 8, NodePrice: 0.4, Currency: "EUR", Utilisation: 0.7})
	var text, md, csv bytes.Buffer
	for _, err := range []error{terminal.Write(&text, Cost(r, CompareOptions{}), terminal.Options{Width: 100}),
		markdown.Write(&md, Cost(r, CompareOptions{})), CostCSV(&csv, r)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	golden.Check(t, "testdata/cost.txt", text.String())
	golden.Check(t, "testdata/cost.md", md.String())
	golden.Check(t, "testdata/cost.csv", csv.String())
	for _, width := range []int{40, 80} {
		text.Reset()
		if err := terminal.Write(&text, Cost(r, CompareOptions{}), terminal.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if columns.Width(strings.TrimRight(line, "\n")) > width {
				t.Errorf("a line of %d columns at %d: %q", columns.Width(line), width, line)
			}
		}
	}
}

func TestCostPage(t *testing.T) {
	r := someCost(t, cost.Options{Rate: "12000/s", NodeCPUs: 8, Utilisation: 0.7, Metric: "http-cpu"})
	r.Finished, r.Observation = false, &analysis.Observation{}
	var page bytes.Buffer
	if err := html.Write(&page, Cost(r, CompareOptions{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What mesh costs at 12,000 request/s", "12,000 request/s on nodes of 8 CPUs", "above plain", "What this assumes", "these figures are interim"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, no := range []string{"per month", "capacity"} {
		if strings.Contains(page.String(), no) {
			t.Errorf("without a price, or by the CPU alone, the page has %q", no)
		}
	}
	checkPage(t, "cost", fmt.Sprint(page.String()))
}
