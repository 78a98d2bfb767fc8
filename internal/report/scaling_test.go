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
)

// growing is a run of a workload at three levels, as the analysis sees it.
func growing(rounds int, scale float64) *analysis.Run {
	metrics := []experiment.Metric{
		metric("ready-p50", "s", experiment.Lower, true, 0, 0).Metric,
		{Name: "memory-istiod", Unit: "B", Better: experiment.Lower, Scale: experiment.Difference},
		{Name: "throttled", Better: experiment.Lower, Scale: experiment.Difference},
	}
	plan := planned("churn", rounds, experiment.PlannedArm{Name: "mesh", Role: experiment.Treatment})
	plan.Testbed = "kubernetes"
	for _, n := range []string{"100", "300", "1000"} {
		plan.Cells = append(plan.Cells, experiment.Cell{ID: "churn.objects=" + n, Workload: "churn", Kind: "churn", Metrics: metrics,
			Levels: []factor.Level{{Factor: "objects", Value: n}, {Factor: "churn", Value: "25%"}}})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	return analysis.Analyze(plan, simulated(plan, func(cell experiment.Cell, arm experiment.PlannedArm, _, _ int) map[string]float64 {
		var x float64
		fmt.Sscan(cell.Levels[0].Value, &x)
		b := 1.0
		if arm.Name == "mesh" {
			b = 1.4
		}
		return map[string]float64{
			"ready-p50":     scale * (0.1 + b*x*1e-5) * (1 + 0.01*rng.NormFloat64()),
			"memory-istiod": scale * (5e7 + b*x*x*10 + 1e5*rng.NormFloat64()), "throttled": 0}
	}), nil)
}

func TestScalingText(t *testing.T) {
	shown := asText(t, Run(growing(8, 1), RunOptions{}), text.Options{Width: 100})
	_, got, found := strings.Cut(shown, "How it grows\n")
	if !found {
		t.Fatalf("no section:\n%s", shown)
	}
	says(t, "the section", got,
		"  median ready time by objects (churn, 25 % churn; 3 levels from 100 to 1,000)\n",
		"    plain    10.0 µs [8.8, 11.1]", "    mesh     13.8 µs [9.7, 18.0]  4.0 µs [1.9, 5.7]", "      slope, per object  15.8 KiB [15.5, 16.2]\n      more than plain    4.6 KiB [4.4, 4.8]\n", "  memory of istiod by objects (churn, 25 % churn; 3 levels from 100 to 1,000)\n",
		"      not a line: at 300 it lies 8 % of the rise below; steeper at higher levels than at lower ones\n")
	if strings.Contains(got, "throttled by objects") {
		t.Error("an exploratory metric is shown without being asked for")
	}
	for _, o := range []struct {
		text.Options
		all bool
	}{{text.Options{Width: 60}, false}, {text.Options{Width: 72}, true}} {
		shown := fits(t, asText(t, Run(growing(2, 1), RunOptions{All: o.all}), o.Options), o.Width)
		if strings.Contains(shown, "throttled by objects") != o.all {
			t.Errorf("exploratory lines at %+v", o)
		}
	}
}

func TestScalingMarkdown(t *testing.T) {
	says(t, "the page", asMarkdown(t, Run(growing(8, 1), RunOptions{})),
		"## How it grows\n", "### median ready time by objects\n\nchurn, 25 % churn; 3 levels from 100 to 1,000\n\n| objects | plain | mesh | control (noise floor) |\n|--:|---|---|---|\n| 100 | 100.7 ms | ",
		"### memory of istiod by objects\n\nchurn, 25 % churn; 3 levels from 100 to 1,000\n\n| arm | slope, per object | more than plain | base, with none | base above plain | fit |\n",
		"| mesh | ", ", not resolved |", "### throttled by objects\n")
}

func TestScalingPage(t *testing.T) {
	page := render(t, growing(8, 1), RunOptions{})
	checkPage(t, "growing", page)
	says(t, "the page", page, `<a href="#scaling">`, `<section id="scaling">`, `aria-label="median ready time by objects"`, "compared with plain")
	if page := render(t, wireguard().run(), RunOptions{}); strings.Contains(page, "scaling") && strings.Contains(page, "How it grows") {
		t.Error("a run without levels has a section on how it grows")
	}
}

// TestScalingChart draws runs of all kinds, hostile and boundless ones too.
func TestScalingChart(t *testing.T) {
	poisoned := growing(6, 1)
	n := 0
	poison(reflect.ValueOf(poisoned), &n)
	poisonedLoad := loaded(6)
	poison(reflect.ValueOf(poisonedLoad), &n)
	nothing := loaded(6) // of which no level has a number left
	for i := range nothing.Cells {
		nothing.Cells[i].Metrics = nil
	}
	bare := growing(6, 1)
	bare.Cells = nil
	for i := range bare.Scaling {
		bare.Scaling[i].Arms[0].Line, bare.Scaling[i].Arms[1].Means = nil, nil
	}
	for name, r := range map[string]*analysis.Run{
		"usual": growing(8, 1), "one round": growing(1, 1), "many rounds": growing(200, 1), "huge": growing(6, 1e140), "tiny": growing(6, 1e-12), "hostile": poisoned, "bare": bare,
		"loaded": loaded(8), "two trials": loaded(2), "hostile load": poisonedLoad, "nothing": nothing,
	} {
		if len(r.Scaling) == 0 {
			t.Errorf("%s: no line", name)
		}
		for i := range r.Scaling {
			chart := arrange(r).lineChart(&r.Scaling[i])
			for _, picture := range []string{chart.Draw(true), chart.Draw(false)} {
				if err := wellFormed(picture); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") || strings.Contains(picture, "<script") {
					t.Errorf("%s: the picture of line %d holds what it must not", name, i)
				}
			}
		}
		page := render(t, r, RunOptions{})
		checkPage(t, name, page)
	}
}

// TestScalingDotsAreThinned keeps pictures of long runs small.
func TestScalingDotsAreThinned(t *testing.T) {
	if few, many := len(lineChartOf(growing(20, 1), 0)), len(lineChartOf(growing(400, 1), 0)); float64(many) > 6*float64(few) || math.Abs(float64(many)) > 60_000 {
		t.Errorf("the picture of 400 rounds has %d bytes, that of 20 has %d", many, few)
	}
}
