package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/report/text"
	"tare/internal/test/golden"
)

// swept is a run of a sandbox with 0 to 64 rules, whose last level costs more than the line says
// where bent.
func swept(rounds int, bent bool) *analysis.Run {
	metrics := []experiment.Metric{metric("time", "s", experiment.Lower, true, 0, 0).Metric, metric("wall", "s", experiment.Lower, false, 0, 0).Metric}
	plan := planned("rules", rounds)
	plan.Equivalence = 0.005
	plan.Cells = []experiment.Cell{{ID: "open", Workload: "open", Kind: "command", Metrics: metrics}}
	for _, n := range []string{"0", "1", "2", "4", "8", "64"} {
		level := factor.Level{Factor: "rules", Value: n}
		plan.Arms = append(plan.Arms, experiment.PlannedArm{Name: "seccomp[" + level.String() + "]", Role: experiment.Treatment, Levels: []factor.Level{level}})
	}
	rng := rand.New(rand.NewPCG(4, 2))
	return analysis.Analyze(plan, simulated(plan, func(_ experiment.Cell, arm experiment.PlannedArm, _, _ int) map[string]float64 {
		cost := 0.0
		if arm.Levels != nil {
			var x float64
			fmt.Sscan(arm.Levels[0].Value, &x)
			cost = 0.012 + 0.034*min(x, 1) + 0.0005*x
			if bent && x == 64 {
				cost += 0.12
			}
		}
		values := map[string]float64{}
		for _, m := range metrics {
			values[m.Name] = 1.2e-6 * (1 + cost) * math.Exp(0.002*rng.NormFloat64())
		}
		return values
	}), nil)
}

func TestBreakdownText(t *testing.T) {
	show := func(r *analysis.Run, width int, all bool) string {
		t.Helper()
		page := fits(t, asText(t, Run(r, RunOptions{All: all}), text.Options{Width: width}), width)
		_, section, found := strings.Cut(page, "Installed, any, each\n")
		if !found {
			t.Fatalf("no section:\n%s", page)
		}
		return section
	}
	golden.Check(t, "testdata/breakdown.txt", show(swept(12, false), 100, false))
	golden.Check(t, "testdata/breakdown-bent.txt", show(swept(12, true), 80, true))
	show(swept(3, true), 60, true)
}

func TestBreakdownMarkdown(t *testing.T) {
	summary, _, _ := strings.Cut(asMarkdown(t, Run(swept(12, true), RunOptions{})), "## Installed, any, each")
	says(t, "the summary", summary, "seccomp on time in open: installed costs 1.")
}

func TestBreakdownPage(t *testing.T) {
	page := render(t, swept(12, true), RunOptions{})
	checkPage(t, "breakdown", page)
	says(t, "the page", strings.ToLower(page), `<section id="breakdown">`, "any rule", "not a line: ", "time by rules, seccomp")
	poisoned, n := swept(6, true), 0
	poison(reflect.ValueOf(poisoned), &n)
	checkPage(t, "hostile breakdown", render(t, poisoned, RunOptions{}))
	bare := swept(6, true)
	bare.Cells, bare.Comparisons = nil, nil
	checkPage(t, "bare breakdown", render(t, bare, RunOptions{}))
	if strings.Contains(render(t, wireguard().run(), RunOptions{}), "Installed, any, each") {
		t.Error("a run without a sweep of arms has parts")
	}
}

func TestBreakdownCSV(t *testing.T) {
	says(t, "the table", asCSV(t, CSV, swept(12, true)),
		"\nopen,time,s,lower,ratio,true,seccomp,installed,costs,,12,0.01", ",seccomp,any,costs,,12,0.0", ",seccomp,each,costs,,12,0.00", "signed-rank+t", ",rules,\"each rule costs ")
}

func TestBreakdownChart(t *testing.T) {
	r := swept(12, true)
	golden.Check(t, "testdata/breakdown.svg", arrange(r).breakdownChart(&r.Breakdowns[0]).Draw(true))
}
