package report

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"tare/analysis"
	"tare/experiment"
	"tare/golden"
	"tare/journal"
	"tare/report/columns"
	"tare/report/markdown"
	terminal "tare/report/text"
)

// composed is a run of all combinations of factors, of which the first two cost 10 % each and
// together 5 % less than that, as the analysis sees it.
func composed(rounds int, factors ...string) *analysis.Run {
	metrics := []experiment.Metric{metric("cpu", "s", experiment.Lower, true, 0, 0).Metric, metric("wall", "s", experiment.Lower, false, 0, 0).Metric}
	plan := &experiment.Plan{Schema: experiment.PlanSchema, Name: "defence", Testbed: "local", Seed: 7, Rounds: rounds, Factorial: factors,
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 1,
		Arms:  []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}, {Name: experiment.ControlName, Role: experiment.Control}},
		Cells: []experiment.Cell{{ID: "http", Workload: "http", Kind: "http", Metrics: metrics}}}
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
	var trials []journal.Trial
	for round := 1; round <= rounds; round++ {
		for i, step := range plan.Order(round) {
			arm := plan.Arms[step.Arm]
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
			trials = append(trials, journal.Trial{Round: round, Attempt: 1, Position: i + 1, Cell: "http", Arm: arm.Name,
				Start: start.Add(time.Duration(len(trials)) * time.Minute), Wall: time.Minute, Values: values})
		}
	}
	return analysis.Analyze(plan, trials, nil)
}

func TestFactorialText(t *testing.T) {
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
		_, text, found := strings.Cut(b.String(), "Alone and together\n")
		if !found {
			t.Fatalf("no section:\n%s", b.String())
		}
		return text
	}
	golden.Check(t, "testdata/factorial.txt", show(composed(20, "wireguard", "mtls"), 100, false))
	golden.Check(t, "testdata/factorial-three.txt", show(composed(12, "wireguard", "mtls", "seccomp"), 80, true))
	show(composed(3, "wireguard", "mtls"), 60, true)
}

func TestFactorialMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := markdown.Write(&b, Run(composed(20, "wireguard", "mtls"), RunOptions{})); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(b.String(), "## Alone and together")
	text, _, _ = strings.Cut(text, "\n## ")
	golden.Check(t, "testdata/factorial.md", text)
}

func TestFactorialPage(t *testing.T) {
	page := render(t, composed(12, "wireguard", "mtls"), RunOptions{})
	checkPage(t, "factorial", page)
	for _, want := range []string{`<section id="factorial">`, "Alone and together", "wireguard × mtls", "less than the sum"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	poisoned, n := composed(6, "wireguard", "mtls"), 0
	poison(reflect.ValueOf(poisoned), &n)
	checkPage(t, "hostile factorial", render(t, poisoned, RunOptions{}))
	if strings.Contains(render(t, wireguard().run(), RunOptions{}), "Alone and together") {
		t.Error("a run that is no factorial design has effects")
	}
}

func TestFactorialCSV(t *testing.T) {
	var b bytes.Buffer
	if err := CSV(&b, composed(20, "wireguard", "mtls")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nhttp,cpu,s,lower,ratio,true,wireguard × mtls,interaction,less together,,20,-0.0", ",wireguard,main effect,costs,,20,0.0",
		",,,", "together costs ", " less than the sum\"\n", `"costs `, ", on average over mtls\"\n", "wireguard+mtls,treatment,costs,"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// What layers cost together is in the summary of a page and of Markdown, and so is what to
// know of an interaction before trusting it.
func TestFactorialSummary(t *testing.T) {
	r := composed(20, "wireguard", "mtls")
	for i := range r.Factorial.Effects {
		e := &r.Factorial.Effects[i]
		e.Warnings = append(e.Warnings, analysis.Autocorrelation{Lag1: 0.61})
	}
	var b bytes.Buffer
	if err := markdown.Write(&b, Run(r, RunOptions{})); err != nil {
		t.Fatal(err)
	}
	md, _, _ := strings.Cut(b.String(), "## Results")
	b.Reset()
	if err := terminal.Write(&b, Run(r, RunOptions{}), terminal.Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	page, _, _ := strings.Cut(words(render(t, r, RunOptions{})), "Each mark is the overhead")
	for form, text := range map[string]string{"Markdown": md, "page": page, "terminal": b.String()} {
		if !strings.Contains(text, "wireguard × mtls, cpu, http: ") {
			t.Errorf("%s: no warning on an interaction:\n%s", form, text)
		}
		if strings.Contains(text, "wireguard × mtls, wall, http: ") {
			t.Errorf("%s: a warning on an exploratory interaction", form)
		}
		if form != "terminal" && !strings.Contains(text, "wireguard × mtls on cpu in http: together costs 5.6 %") {
			t.Errorf("%s: the summary does not say what layers cost together:\n%s", form, text)
		}
	}
}
