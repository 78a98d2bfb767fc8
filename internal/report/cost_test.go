package report

import (
	"math"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/text"
	"tare/internal/runs/cost"
	"tare/internal/test/golden"
)

// someCost is the cost of a run of six rounds, of which an arm needs a fifth more.
func someCost(t *testing.T, o cost.Options) *cost.Result {
	t.Helper()
	plan := planned("mesh", 6, experiment.PlannedArm{Name: "mtls", Role: experiment.Treatment})
	plan.Cells = []experiment.Cell{{ID: "http", Workload: "http", Kind: "http", Metrics: []experiment.Metric{
		{Name: "http-cpu", Unit: "s/request", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio},
		{Name: "capacity", Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio}}}}
	trials := simulated(plan, func(_ experiment.Cell, arm experiment.PlannedArm, round, step int) map[string]float64 {
		v := 0.001 * math.Pow(1.003, float64((round*7+step)%5))
		if arm.Name == "mtls" {
			v *= 1.2
		}
		return map[string]float64{"http-cpu": v, "capacity": 4 / v}
	})
	r, err := cost.Of(analysis.Analyze(plan, trials, nil), trials, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCostGolden(t *testing.T) {
	r := someCost(t, cost.Options{Rate: "12000/s", NodeCPUs: 8, NodePrice: 0.4, Currency: "EUR", Utilisation: 0.7})
	golden.Check(t, "testdata/cost.txt", asText(t, Cost(r, CompareOptions{}), text.Options{Width: 100}))
	golden.Check(t, "testdata/cost.csv", asCSV(t, CostCSV, r))
	for _, width := range []int{40, 80} {
		fits(t, asText(t, Cost(r, CompareOptions{}), text.Options{Width: width}), width)
	}
}

func TestCostPage(t *testing.T) {
	r := someCost(t, cost.Options{Rate: "12000/s", NodeCPUs: 8, Utilisation: 0.7, Metric: "http-cpu"})
	r.Finished, r.Observation = false, &analysis.Observation{}
	page := asPage(t, Cost(r, CompareOptions{}))
	says(t, "the page", page, "What mesh costs at 12,000 request/s", "12,000 request/s on nodes of 8 CPUs", "above plain", "What this assumes", "these figures are interim")
	for _, no := range []string{"per month", "capacity"} {
		if strings.Contains(page, no) {
			t.Errorf("without a price, or by the CPU alone, the page has %q", no)
		}
	}
	checkPage(t, "cost", page)
}
