package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/report/text"
)

// lawful is a run of a workload that expects queries = hosts ÷ ttl. In the arm cached, hosts share
// answers.
func lawful(rounds int) *analysis.Run {
	queries := metric("queries", "1/s", experiment.Lower, true, 0, 0).Metric
	plan := planned("dns", rounds, experiment.PlannedArm{Name: "cached", Role: experiment.Treatment})
	for _, hosts := range []int{10, 50, 200} {
		for _, ttl := range []int{1, 2} {
			plan.Cells = append(plan.Cells, experiment.Cell{ID: fmt.Sprintf("dns.hosts=%d.ttl=%ds", hosts, ttl), Workload: "dns", Kind: "dns", Metrics: []experiment.Metric{queries},
				Levels:   []factor.Level{{Factor: "hosts", Value: fmt.Sprint(hosts)}, {Factor: "ttl", Value: fmt.Sprintf("%ds", ttl)}},
				PowerLaw: &experiment.PowerLaw{Metric: "queries", Exponents: map[string]float64{"hosts": 1, "ttl": -1}}})
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	return analysis.Analyze(plan, simulated(plan, func(cell experiment.Cell, arm experiment.PlannedArm, _, _ int) map[string]float64 {
		var hosts, ttl int
		fmt.Sscanf(cell.ID, "dns.hosts=%d.ttl=%ds", &hosts, &ttl)
		level := float64(hosts)
		if arm.Name == "cached" {
			level = math.Sqrt(level)
		}
		return map[string]float64{"queries": level / float64(ttl) * (1 + 0.01*rng.NormFloat64())}
	}), nil)
}

func TestPowerLawShown(t *testing.T) {
	says(t, "the terminal", asText(t, Run(lawful(8), RunOptions{}), text.Options{Width: 120}),
		"  plain in dns: queries = ", "expected is queries = hosts ÷ ttl.", "How it grows\n", "queries = hosts ÷ ttl (dns; 6 cells)\n", "exponent of hosts", "exponent of ttl", "0.50", ", not 1")
	says(t, "the page", asMarkdown(t, Run(lawful(8), RunOptions{})), "### queries = hosts ÷ ttl\n\ndns; 6 cells\n", "| arm | where all are 1 | exponent of hosts | exponent of ttl | fit |\n")
	checkPage(t, "lawful", render(t, lawful(8), RunOptions{}))
}

// Hostile laws are drawn as any other.
func TestPowerLawHostile(t *testing.T) {
	r, n := lawful(6), 0
	poison(reflect.ValueOf(r), &n)
	r.PowerLaws[0].Arms[0].Exponents = nil
	checkPage(t, "hostile", render(t, r, RunOptions{}))
	asMarkdown(t, Run(r, RunOptions{}))
	fits(t, asText(t, Run(r, RunOptions{}), text.Options{Width: 60}), 60)
}
