package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/text"
	"tare/internal/run/journal"
	"tare/internal/test/golden"
	"tare/internal/workload"
)

// importedRun is an import as a user has it, analysed by the real thing: 20 files
// of each of three clusters, two of gke with failed requests, one that cannot be
// read, aks slower from its ninth file on, and a closed loop.
func importedRun(pairBy string) *analysis.Run {
	metrics := []experiment.Metric{
		{Name: "throughput", Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio},
		{Name: "latency-mean", Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio},
		{Name: "latency-p99", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio},
	}
	plan := &experiment.Plan{Schema: experiment.PlanSchema, Name: "vault", Testbed: experiment.TestbedImport,
		Import:     &experiment.Import{Tool: "vault-benchmark", PairBy: pairBy, Command: "tare import vault-benchmark --arm c11n=c11n/ --arm aks=aks/ --arm gke=gke/"},
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 1,
		Cells: []experiment.Cell{{ID: "transit_sign", Workload: "vault", Kind: "vault", Metrics: metrics,
			Loop: &experiment.Loop{Latency: "latency-mean", Throughput: "throughput", Workers: 1300}}},
	}
	var trials []journal.Trial
	for a, arm := range []string{"c11n", "aks", "gke"} {
		role := experiment.Treatment
		if a == 0 {
			role = experiment.Baseline
		}
		plan.Arms = append(plan.Arms, experiment.PlannedArm{Name: arm, Role: role})
		plan.Import.Arms = append(plan.Import.Arms, experiment.ImportedArm{Name: arm, From: []string{arm + "/"}, Files: 20,
			Facts: map[string][]string{"kernel": {[]string{"5.15", "5.15", "6.1"}[a]}, "vault version": {"1.14.1"}}})
		rng := rand.New(rand.NewPCG(uint64(a), 7))
		for i := range 20 {
			latency := 1.7 * []float64{1, 1.01, 1.015}[a] * math.Exp(0.015*rng.NormFloat64())
			if arm == "aks" && i >= 8 {
				latency *= 1.08
			}
			t := journal.Trial{Seq: len(trials) + 1, Session: 1, Round: i + 1, Attempt: 1, Cell: "transit_sign", Arm: arm,
				Start: start.Add(time.Duration(a)*time.Hour + time.Duration(i)*time.Minute), Raw: fmt.Sprintf("raw/%s-%03d.json", arm, i+1),
				Values: map[string]float64{"throughput": 1290 / latency, "latency-mean": latency, "latency-p99": 4 * latency * math.Exp(0.1*rng.NormFloat64())}}
			switch {
			case arm == "gke" && i < 2:
				t.Values["throughput"], t.Values["latency-mean"] = 0.6*1290/latency, 0.5*latency
				t.Source = fmt.Sprintf("gke/%03d.json", i+1)
				t.Invalid = []journal.Violation{{Rule: workload.RuleErrors, Detail: "failed operations 47.8%, over the limit of 0%"}}
			case arm == "aks" && i == 19:
				t.Values, t.Source = nil, "aks/020.json"
				t.Invalid = []journal.Violation{{Rule: "import", Detail: "the file is empty"}}
			}
			trials = append(trials, t)
		}
	}
	if pairBy != "" {
		plan.Rounds = 20
	}
	r := analysis.Analyze(plan, trials, nil)
	r.Directory = "runs/vault"
	return r
}

func TestImportedGolden(t *testing.T) {
	for name, r := range map[string]*analysis.Run{"imported": importedRun(""), "imported-pairs": importedRun("round")} {
		golden.Check(t, "testdata/"+name+".txt", asText(t, Run(r, RunOptions{All: true}), text.Options{Width: 100}))
		golden.Check(t, "testdata/"+name+".svg", Figure(r))
	}
	golden.Check(t, "testdata/imported-runchart.svg", runChartOf(importedRun(""), "transit_sign", "latency-mean"))
}

// words is a page as a reader sees it, tags and styles left out.
func words(page string) string {
	_, page, _ = strings.Cut(page, "</head>")
	return plain(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " "))
}

func TestImportedPage(t *testing.T) {
	r := importedRun("")
	page := render(t, r, RunOptions{})
	checkPage(t, "imported", page)
	shown := words(page)
	says(t, "the page", shown,
		"Imported from vault-benchmark", "Observational: arms ran one after the other, on systems or with settings that differ in kernel.",
		"Closed loop: latency-mean × throughput is 1290 (1290 to 1290 over 57 trials), as many as the 1300 workers",
		"restates throughput", "20 files from c11n/; the baseline", "aks/020.json", "the file is empty", "gke/001.json",
		"tare import vault-benchmark --arm c11n=c11n/", "values change level during the run", "Values per arm", "20 and 19", "Each arm by itself")
	for _, no := range []string{"seed", "Seed", "noise floor", "Proof", "wall clock", "Round ", "rounds", "its own copy", "Cost of measuring"} {
		if strings.Contains(shown, no) {
			t.Errorf("the page of an import speaks of %q", no)
		}
	}
}

// TestNoBareClaim: wherever a run that is no experiment claims something, it says
// what it is.
func TestNoBareClaim(t *testing.T) {
	for _, pairBy := range []string{"", "round"} {
		r := importedRun(pairBy)
		claimed := false
		for _, c := range r.Comparisons {
			claimed = claimed || c.Verdict == analysis.Costs || c.Verdict == analysis.Gains
		}
		if !claimed {
			t.Fatal("the fixture claims nothing")
		}
		for name, doc := range map[string]string{"text": asText(t, Run(r, RunOptions{All: true}), text.Options{Width: 200}), "markdown": asMarkdown(t, Run(r, RunOptions{})),
			"csv": asCSV(t, CSV, r), "figure": Figure(r), "page": render(t, r, RunOptions{})} {
			for line := range strings.Lines(doc) {
				line = strings.ReplaceAll(line, `v-costs::before`, "")
				claim := regexp.MustCompile(`\b(costs|gains) [0-9]|[▲▼] (costs|gains)|\| (costs|gains)|>(costs|gains)<|,(costs|gains),`).FindString(line)
				if claim != "" && !regexp.MustCompile(`\(obs\.\)|[Oo]bservational|class="obs"`).MatchString(line) && !strings.Contains(line, "had failed operations") {
					t.Errorf("%s, %q: a bare claim in %q", pairBy, name, strings.TrimSpace(line))
				}
			}
		}
	}
}

func TestVerdictWithFailedTrialsIsShown(t *testing.T) {
	r := importedRun("")
	with := r.Comparisons[0]
	with.Verdict, with.Margin, with.Overhead = analysis.Equivalent, 0.02, analysis.Interval{Point: 0.005, Lo: -0.001, Hi: 0.011}
	r.Comparisons[0].WithInvalid = &analysis.Alternative{Comparison: with, Trials: 3}
	for name, doc := range map[string]string{"text": asText(t, Run(r, RunOptions{}), text.Options{Width: 160}), "markdown": strings.ReplaceAll(asMarkdown(t, Run(r, RunOptions{})), `\`, ""),
		"page": words(render(t, r, RunOptions{}))} {
		says(t, name, doc, "ith the 3 trials that had failed operations, equivalent within ±2 %")
	}
}

func TestManyInvalidFilesAreCounted(t *testing.T) {
	r := importedRun("")
	for i := range 100 {
		r.Invalids = append(r.Invalids, journal.Trial{Arm: "aks", Cell: "transit_sign", Source: fmt.Sprintf("aks/x%d.json", i), Invalid: []journal.Violation{{Rule: "import", Detail: "the file is empty"}}})
	}
	says(t, "the text", asText(t, Run(r, RunOptions{}), text.Options{}), "- 91 files more; the report lists them")
	says(t, "Markdown", asMarkdown(t, Run(r, RunOptions{})), "- 53 files more\n")
}

// A lone arm shows its levels: there is nothing to compare it with.
func TestLoneArm(t *testing.T) {
	both := importedRun("")
	plan := *both.Plan
	plan.Arms, plan.Import = plan.Arms[:1], &experiment.Import{Tool: "vault-benchmark", Arms: plan.Import.Arms[:1]}
	var trials []journal.Trial
	for i := range 20 {
		v := 1.6 + float64(i)/100
		trials = append(trials, journal.Trial{Seq: i + 1, Session: 1, Round: i + 1, Attempt: 1, Cell: "transit_sign", Arm: "c11n",
			Values: map[string]float64{"throughput": 1300 / v, "latency-mean": v, "latency-p99": 4 * v}})
	}
	run := analysis.Analyze(&plan, trials, nil)
	for format, out := range map[string]string{"text": asText(t, Run(run, RunOptions{}), text.Options{Width: 100}),
		"markdown": strings.ReplaceAll(asMarkdown(t, Run(run, RunOptions{})), `\`, ""), "html": strings.ReplaceAll(render(t, run, RunOptions{}), "\u00a0", " ")} {
		// The interval holds the 6th to the 15th of 20 values, with 95.9 % confidence.
		says(t, format, out, "median 1.695 s [1.650, 1.740] over 20 trials")
		for _, absent := range []string{"no complete pairs", "compared with c11n, ", "is a cost"} {
			if strings.Contains(out, absent) {
				t.Errorf("%s of a lone arm says %q", format, absent)
			}
		}
	}
}
