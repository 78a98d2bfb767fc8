package report

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"tare/analysis"
	"tare/experiment"
	"tare/experiment/factor"
	"tare/golden"
	"tare/journal"
	"tare/report/columns"
	"tare/report/markdown"
	terminal "tare/report/text"
)

// swept is a run of a sandbox with 0 to 64 rules, whose last level costs more than the line says
// where bent.
func swept(rounds int, bent bool) *analysis.Run {
	metrics := []experiment.Metric{metric("time", "s", experiment.Lower, true, 0, 0).Metric, metric("wall", "s", experiment.Lower, false, 0, 0).Metric}
	plan := &experiment.Plan{Schema: experiment.PlanSchema, Name: "rules", Testbed: "local", Seed: 7, Rounds: rounds,
		Confidence: 0.95, Equivalence: 0.005, Power: 0.8, Attempts: 1,
		Arms:  []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}, {Name: experiment.ControlName, Role: experiment.Control}},
		Cells: []experiment.Cell{{ID: "open", Workload: "open", Kind: "command", Metrics: metrics}}}
	for _, n := range []string{"0", "1", "2", "4", "8", "64"} {
		level := factor.Level{Factor: "rules", Value: n}
		plan.Arms = append(plan.Arms, experiment.PlannedArm{Name: "seccomp[" + level.String() + "]", Role: experiment.Treatment, Levels: []factor.Level{level}})
	}
	rng := rand.New(rand.NewPCG(4, 2))
	var trials []journal.Trial
	for round := 1; round <= rounds; round++ {
		for i, step := range plan.Order(round) {
			arm := plan.Arms[step.Arm]
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
			trials = append(trials, journal.Trial{Round: round, Attempt: 1, Position: i + 1, Cell: "open", Arm: arm.Name,
				Start: start.Add(time.Duration(len(trials)) * time.Minute), Wall: time.Minute, Values: values})
		}
	}
	return analysis.Analyze(plan, trials, nil)
}

func TestBreakdownText(t *testing.T) {
	show := func(r *analysis.Run, width int, all bool) string {
		t.Helper()
		var b bytes.Buffer
		if err := terminal.Write(&b, Run(r, RunOptions{All: all}), terminal.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if columns.Width(strings.TrimRight(line, "\n")) > width {
				t.Errorf("a line of %d columns at %d: %q", columns.Width(line), width, line)
			}
		}
		_, text, found := strings.Cut(b.String(), "Installed, any, each\n")
		if !found {
			t.Fatalf("no section:\n%s", b.String())
		}
		return text
	}
	golden.Check(t, "testdata/breakdown.txt", show(swept(12, false), 100, false))
	golden.Check(t, "testdata/breakdown-bent.txt", show(swept(12, true), 80, true))
	show(swept(3, true), 60, true)
}

func TestBreakdownMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := markdown.Write(&b, Run(swept(12, true), RunOptions{})); err != nil {
		t.Fatal(err)
	}
	summary, text, _ := strings.Cut(b.String(), "## Installed, any, each")
	text, _, _ = strings.Cut(text, "\n## ")
	golden.Check(t, "testdata/breakdown.md", text)
	if !strings.Contains(summary, "seccomp on time in open: installed costs 1.") {
		t.Errorf("the summary does not say what costs are made of:\n%s", summary)
	}
}

func TestBreakdownPage(t *testing.T) {
	page := render(t, swept(12, true), RunOptions{})
	checkPage(t, "breakdown", page)
	for _, want := range []string{`<section id="breakdown">`, "any rule", "not a line: 64 rules cost", "time by rules, seccomp"} {
		if !strings.Contains(strings.ToLower(page), strings.ToLower(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
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
	var b bytes.Buffer
	if err := CSV(&b, swept(12, true)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nopen,time,s,lower,ratio,true,seccomp,installed,costs,,12,0.01", ",seccomp,any,costs,,12,0.0", ",seccomp,each,costs,,12,0.00", "signed-rank+t", ",rules,\"each rule costs "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestBreakdownChart(t *testing.T) {
	r := swept(12, true)
	golden.Check(t, "testdata/breakdown.svg", arrange(r).breakdownChart(&r.Breakdowns[0]).Draw(true))
}
