package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/experiment"
	"tare/journal"
)

// series makes 60 values of a kind.
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
		want  Oddity // warned of in c11n on the headline metric; "": none at all
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

// TestOneWarningForManyMetrics: what hits every metric of an arm is told once.
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

// TestFalseAlarms: on quiet series of a usual import, 3 arms × 12 headline
// metrics, something is warned of in about one of ten runs at most.
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
