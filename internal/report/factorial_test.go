package report

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/text"
	"tare/internal/test/golden"
)

// composed is a run of all combinations of factors, of which the first two cost 10 % each and
// together 5 % less than that, as the analysis sees it.
func composed(rounds int, factors ...string) *analysis.Run {
	metrics := []experiment.Metric{metric("cpu", "s", experiment.Lower, true, 0, 0).Metric, metric("wall", "s", experiment.Lower, false, 0, 0).Metric}
	plan := planned("defence", rounds)
	plan.Factorial = factors
	plan.Cells = []experiment.Cell{{ID: "http", Workload: "http", Kind: "http", Metrics: metrics}}
	for set := 1; set < 1<<len(factors); set++ {
		arm := experiment.PlannedArm{Role: experiment.Treatment}
		for i, f := range factors {
			if set>>i&1 == 1 {
				arm.Factors = append(arm.Factors, f)
			}
		}
		arm.Name = strings.Join(arm.Factors, "+")
		plan.Arms = append(plan.Arms, arm)
	}
	rng := rand.New(rand.NewPCG(2, 1))
	return analysis.Analyze(plan, simulated(plan, func(_ experiment.Cell, arm experiment.PlannedArm, _, _ int) map[string]float64 {
		x := 0.0
		for _, f := range arm.Factors {
			if f != factors[len(factors)-1] || len(factors) == 2 {
				x += math.Log(1.1)
			}
		}
		if strings.HasPrefix(arm.Name, strings.Join(factors[:2], "+")) {
			x += math.Log(0.95)
		}
		values := map[string]float64{}
		for _, m := range metrics {
			values[m.Name] = math.Exp(x + 0.01*rng.NormFloat64())
		}
		return values
	}), nil)
}

func TestFactorialText(t *testing.T) {
	show := func(r *analysis.Run, width int, all bool) string {
		t.Helper()
		page := fits(t, asText(t, Run(r, RunOptions{All: all}), text.Options{Width: width}), width)
		_, section, found := strings.Cut(page, "Alone and together\n")
		if !found {
			t.Fatalf("no section:\n%s", page)
		}
		return section
	}
	golden.Check(t, "testdata/factorial.txt", show(composed(20, "wireguard", "mtls"), 100, false))
	golden.Check(t, "testdata/factorial-three.txt", show(composed(12, "wireguard", "mtls", "seccomp"), 80, true))
	show(composed(3, "wireguard", "mtls"), 60, true)
}

func TestFactorialPage(t *testing.T) {
	page := render(t, composed(12, "wireguard", "mtls"), RunOptions{})
	checkPage(t, "factorial", page)
	says(t, "the page", page, `<section id="factorial">`, "Alone and together", "wireguard × mtls", "less than the sum")
	poisoned, n := composed(6, "wireguard", "mtls"), 0
	poison(reflect.ValueOf(poisoned), &n)
	checkPage(t, "hostile factorial", render(t, poisoned, RunOptions{}))
	if strings.Contains(render(t, wireguard().run(), RunOptions{}), "Alone and together") {
		t.Error("a run that is no factorial design has effects")
	}
}

func TestFactorialCSV(t *testing.T) {
	says(t, "the table", asCSV(t, CSV, composed(20, "wireguard", "mtls")),
		"\nhttp,cpu,s,lower,ratio,true,wireguard × mtls,interaction,less together,,20,-0.0", ",wireguard,main effect,costs,,20,0.0",
		",,,", "together costs ", " less than the sum\"\n", `"costs `, ", on average over mtls\"\n", "wireguard+mtls,treatment,costs,")
}

// What layers cost together is in the summary of a page and of Markdown, and so is what to
// know of an interaction before trusting it.
func TestFactorialSummary(t *testing.T) {
	r := composed(20, "wireguard", "mtls")
	for i := range r.Factorial.Effects {
		e := &r.Factorial.Effects[i]
		e.Warnings = append(e.Warnings, analysis.Autocorrelation{Lag1: 0.61})
	}
	md, _, _ := strings.Cut(asMarkdown(t, Run(r, RunOptions{})), "## Results")
	page, _, _ := strings.Cut(words(render(t, r, RunOptions{})), "Beside a metric stands")
	for form, shown := range map[string]string{"Markdown": md, "page": page, "terminal": asText(t, Run(r, RunOptions{}), text.Options{Width: 200})} {
		says(t, form, shown, "wireguard × mtls, CPU time, http: ")
		if strings.Contains(shown, "wireguard × mtls, wall, http: ") {
			t.Errorf("%s: a warning on an exploratory interaction", form)
		}
		if form != "terminal" {
			says(t, form, shown, "wireguard × mtls on CPU time in http: together costs 5.7 %")
		}
	}
}
