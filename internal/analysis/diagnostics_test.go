package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// series returns 60 values of a kind.
func series(kind string, seed uint64) []float64 {
	x := normal(seed, 60, 100)
	rng := rand.New(rand.NewPCG(seed, 5))
	last := 0.0
	for i := range x {
		switch kind {
		case "step":
			if i >= 40 {
				x[i] *= 1.05
			}
		case "trend":
			x[i] *= 1 + 0.03*float64(i)/59
		case "carried":
			last = 0.75*last + 0.02*rng.NormFloat64()
			x[i] = 100 * math.Exp(last)
		case "modes":
			if i%2 == 0 || i%5 == 0 {
				x[i] *= 1.12
			}
		case "grid":
			x[i] = math.Round(x[i])
		}
	}
	return x
}

func TestSeriesWarnings(t *testing.T) {
	for _, c := range []struct {
		kind  string
		want  Oddity // warning for c11n on the headline metric; "": none
		shows func(Diagnostics) bool
	}{
		{"quiet", "", nil},
		{"grid", "", nil},
		{"step", OddLevels, func(d Diagnostics) bool { return slices.Equal(d.Changes, []int{41}) }},
		{"trend", OddDrift, func(d Diagnostics) bool { return math.Abs(d.Trend-0.03) < 0.005 }},
		{"carried", OddCarry, func(d Diagnostics) bool { return math.Abs(d.Lag1-0.77) < 0.005 }},
		{"modes", OddGroups, func(d Diagnostics) bool { return d.DipP < 0.001 }},
	} {
		t.Run(c.kind, func(t *testing.T) {
			other := headline("other", experiment.Lower)
			other.Headline = false
			plan := importedPlan([]experiment.Metric{headline("time", experiment.Lower), other}, "aks", "c11n")
			trials := slices.Concat(imported("aks", "time", hour(0), normal(1, 60, 100)...), imported("c11n", "time", hour(5), series(c.kind, 2)...))
			for i := range trials {
				trials[i].Values["other"] = trials[i].Values["time"]
			}
			var headlines, hints []Warning
			for _, w := range Analyze(plan, trials, nil).Warnings {
				if w.Exploratory {
					hints = append(hints, w)
				} else {
					headlines = append(headlines, w)
				}
			}
			if c.want == "" {
				if len(headlines)+len(hints) > 0 {
					t.Errorf("warnings of quiet series: %v %v", headlines, hints)
				}
				return
			}
			check := func(list []Warning, metric string) {
				if len(list) != 1 || list[0].Cell != "randread" || list[0].Metric != metric || list[0].Arm != "c11n" {
					t.Fatalf("%s: %+v", metric, list)
				}
				odd, ok := list[0].Finding.(OddSeries)
				if !ok || odd.Oddity != c.want || len(odd.Places) != 1 || !c.shows(odd.Places[0].Diagnostics) {
					t.Errorf("%s: %+v, want %s", metric, list[0].Finding, c.want)
				}
			}
			check(headlines, "time")
			check(hints, "other")
		})
	}
}

// TestOneWarningForManyMetrics: an oddity in many metrics of an arm gives one warning.
func TestOneWarningForManyMetrics(t *testing.T) {
	var metrics []experiment.Metric
	for i := range 9 {
		metrics = append(metrics, headline(fmt.Sprintf("m%d", i), experiment.Lower))
	}
	plan := importedPlan(metrics, "aks", "c11n")
	trials := slices.Concat(imported("aks", "m0", hour(0), normal(1, 60, 100)...), imported("c11n", "m0", hour(5), series("step", 2)...))
	for i := range trials {
		for _, m := range metrics {
			trials[i].Values[m.Name] = trials[i].Values["m0"]
		}
	}
	list := Analyze(plan, trials, nil).Warnings
	if len(list) != 1 || list[0].Arm != "c11n" || list[0].Metric != "" || list[0].Cell != "" {
		t.Fatalf("%+v", list)
	}
	odd := list[0].Finding.(OddSeries)
	if odd.Oddity != OddLevels || len(odd.Places) != 9 {
		t.Fatalf("%+v", odd)
	}
	for i, p := range odd.Places {
		if p.Metric != metrics[i].Name || p.Cell != "randread" || !slices.Equal(p.Diagnostics.Changes, []int{41}) {
			t.Errorf("place %d: %+v", i, p)
		}
	}
}

func TestDiagnosticsOfFewValues(t *testing.T) {
	for _, values := range [][]float64{nil, {5}, {5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, {1, 2, 3, 4, 5, 6, 7}} {
		d := diagnosticsOf(values, summarize(values, 0.95), 0.01, 1)
		if d.TrendP != 1 || d.DipP != 1 || d.Trend != 0 || d.Changes != nil || len(d.oddities(len(values), 0.01)) != 0 {
			t.Errorf("%v: %+v", values, d)
		}
	}
}

func TestSpreadWarning(t *testing.T) {
	plan := importedPlan([]experiment.Metric{headline("time", experiment.Lower)}, "aks", "c11n")
	wide := normal(2, 30, 1)
	for i := range wide {
		wide[i] = 100 * math.Pow(wide[i], 6)
	}
	run := Analyze(plan, slices.Concat(imported("aks", "time", hour(0), normal(1, 30, 100)...), imported("c11n", "time", hour(5), wide...)), nil)
	if w := run.Comparisons[0].Warnings; len(w) != 1 || w[0].(UnequalSpread).Wider != experiment.Treatment || w[0].(UnequalSpread).Ratio < 3 {
		t.Errorf("%+v", w)
	}
}

// TestFalseAlarms: for series without changes, in an import of 3 arms × 12 headline metrics, at
// most about one of ten runs has a warning.
func TestFalseAlarms(t *testing.T) {
	var metrics []experiment.Metric
	for i := range 12 {
		metrics = append(metrics, headline(fmt.Sprintf("m%d", i), experiment.Lower))
	}
	plan := importedPlan(metrics, "aks", "c11n", "gke")
	const runs = 60
	alarms := 0
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 11))
		var trials []journal.Trial
		for _, arm := range []string{"aks", "c11n", "gke"} {
			list := imported(arm, "m0", hour(0), make([]float64, 40)...)
			for i := range list {
				for _, m := range metrics {
					list[i].Values[m.Name] = 100 * math.Exp(0.02*rng.NormFloat64())
				}
			}
			trials = append(trials, list...)
		}
		plan.Seed = seed
		if len(Analyze(plan, trials, nil).Warnings) > 0 {
			alarms++
		}
	}
	if alarms > runs/6 {
		t.Errorf("%d of %d quiet runs are warned of", alarms, runs)
	}
	t.Logf("%d of %d quiet runs are warned of", alarms, runs)
}

// A claim that is barely significant gets a warning and a clear one does not, even with so few
// rounds that ranks cannot give a small p.
func TestWeakClaims(t *testing.T) {
	exploratory := headline("time", experiment.Lower)
	exploratory.Headline = false
	for _, c := range []struct {
		name   string
		rounds int
		metric experiment.Metric
		centre float64
		want   bool
	}{
		{"just enough", 12, timeOnly[0], 0.0061, true},
		{"clear", 12, timeOnly[0], 0.02, false},
		{"clear, six rounds", 6, timeOnly[0], 0.1, false},
		{"nothing claimed", 12, timeOnly[0], 0.0005, false},
		{"exploratory", 12, exploratory, 0.0061, false},
	} {
		plan := testPlan(c.rounds, []experiment.Metric{c.metric}, "layer")
		plan.Equivalence = 0.0001
		run := Analyze(plan, testTrials(plan, c.rounds, scripted(map[string][]float64{"layer": around(c.centre, 1, 0), "control": around(0, 1, 5)})), nil)
		got := run.Comparisons[0]
		weak, is := WeakClaim{}, false
		for _, f := range got.Warnings {
			if w, ok := f.(WeakClaim); ok {
				weak, is = w, true
			}
		}
		if is != c.want || is && (weak.Power <= 0 || weak.Power >= 0.5 || weak.Factor <= 1) {
			t.Errorf("%s: %s, p %v: %+v", c.name, got.Verdict, got.P, got.Warnings)
		}
	}
}

// A run that was extended has a finding, and its confidence is corrected.
func TestExtendedRun(t *testing.T) {
	plan := testPlan(6, timeOnly, "layer")
	plan.Fixed, plan.Looks = 12, []int{6}
	trials := testTrials(plan, 12, scripted(map[string][]float64{"layer": around(0.0061, 1, 0), "control": around(0, 1, 5)}))
	plan.Equivalence = 0.0001
	run := Analyze(plan, trials, nil)
	if c := run.Comparisons[0]; c.Verdict != NotResolved || !run.Finished || run.Trials.Planned != 36 {
		t.Errorf("%s, finished %v, %d trials planned", said(c), run.Finished, run.Trials.Planned)
	}
	if want := `extended {"looks":[6],"rounds":12,"confidence":0.9875}`; !strings.Contains(strings.Join(warningTexts(run), "\n"), want) {
		t.Errorf("no warning %q in %q", want, warningTexts(run))
	}
	plan.Looks = nil
	if c := Analyze(plan, trials, nil).Comparisons[0]; c.Verdict != Costs {
		t.Errorf("at the first look %s", said(c))
	}
	if got := Analyze(plan, trials[:30], nil); got.Finished {
		t.Error("ten rounds of twelve are finished")
	}
}
