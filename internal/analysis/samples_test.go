package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/workload"
)

// importedPlan returns a plan of imported trials, whose first arm is the baseline.
func importedPlan(metrics []experiment.Metric, arms ...string) *experiment.Plan {
	p := &experiment.Plan{
		Schema: experiment.PlanSchema, Name: "imported", Testbed: experiment.TestbedImport, Import: &experiment.Import{Tool: "fio"},
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8,
		Cells: []experiment.Cell{{ID: "randread", Workload: "storage", Kind: "storage", Metrics: metrics}},
	}
	for i, name := range arms {
		r := experiment.Treatment
		if i == 0 {
			r = experiment.Baseline
		}
		p.Arms = append(p.Arms, experiment.PlannedArm{Name: name, Role: r})
		p.Import.Arms = append(p.Import.Arms, experiment.ImportedArm{Name: name, From: []string{name + "/"}})
	}
	return p
}

// hour returns a schedule: one trial every ten seconds, from an hour on.
func hour(h int) func(int) time.Time {
	return func(i int) time.Time {
		return testStart.Add(time.Duration(h)*time.Hour + time.Duration(i)*10*time.Second)
	}
}

func never(int) time.Time { return time.Time{} }

// imported returns trials of an arm with one metric.
func imported(arm, metric string, start func(int) time.Time, values ...float64) []journal.Trial {
	var list []journal.Trial
	for i, v := range values {
		list = append(list, journal.Trial{Seq: i + 1, Session: 1, Round: i + 1, Attempt: 1, Cell: "randread", Arm: arm,
			Start: start(i), Values: map[string]float64{metric: v}})
	}
	return list
}

// normal returns n values around a centre, with a deviation of 1 % of it.
func normal(seed uint64, n int, centre float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 9))
	x := make([]float64, n)
	for i := range x {
		x[i] = centre * math.Exp(0.01*rng.NormFloat64())
	}
	return x
}

func TestIndependentSamples(t *testing.T) {
	lower, higher := headline("time", experiment.Lower), headline("rate", experiment.Higher)
	exploratory := lower
	exploratory.Headline = false
	count := experiment.Metric{Name: "errors", Better: experiment.Lower, Headline: true, Scale: experiment.Difference}
	for _, c := range []struct {
		name      string
		metric    experiment.Metric
		base, arm []float64
		want      Verdict
		method    string
		text      string
	}{
		{"cost of a time", lower, normal(1, 20, 100), normal(2, 15, 107), Costs, "rank-sum+welch", "costs 7.0 [6.2 7.7] observational"},
		{"cost of a rate", higher, normal(1, 20, 100), normal(2, 15, 93), Costs, "rank-sum+welch", "costs 7.0 [6.4 7.7] observational"},
		{"gain", lower, normal(1, 20, 100), normal(2, 15, 95), Gains, "rank-sum+welch", "gains -5.0 [-5.7 -4.3] observational"},
		{"gain of a rate", higher, normal(1, 20, 100), normal(2, 15, 105), Gains, "rank-sum+welch", "gains -5.0 [-5.7 -4.2] observational"},
		{"equivalent", lower, normal(1, 20, 100), normal(2, 20, 100.3), Equivalent, "rank-sum+welch", "equivalent 0.4 [-0.3 1.1] observational"},
		{"exploratory", exploratory, normal(1, 20, 100), normal(2, 15, 107), Costs, "rank-sum+welch", "costs 7.0 [6.2 7.7] observational exploratory"},
		{"difference", count, []float64{0, 1, 0, 2, 1, 0}, []float64{9, 7, 8, 9, 11, 8}, Costs, "rank-sum+welch", "costs 8.0 [6.5 9.5] observational"},
		{"too few for a measured claim", lower, normal(1, 3, 100), normal(2, 3, 150), Costs, "welch",
			"costs if normal 51.1 [46.6 55.7] observational"},
		{"too few for any claim", lower, normal(1, 2, 100), normal(2, 2, 150), NotResolved, "welch",
			`not resolved 51.1 [38.0 65.5] too-few-to-claim {"family":1,"fewest":4} observational`},
		{"exploratory and too few", exploratory, normal(1, 3, 100), normal(2, 3, 150), Costs, "welch",
			"costs if normal 51.1 [46.6 55.7] observational exploratory"},
		{"too few of one", lower, normal(1, 30, 100), normal(2, 1, 150), NotResolved, "welch",
			"not resolved 48.0 too-few-values observational"},
		{"none of one", lower, normal(1, 30, 100), nil, NotResolved, "welch",
			"not resolved too-few-values observational"},
		{"constant", lower, []float64{5, 5, 5}, []float64{5, 5, 5}, Invalid, "welch",
			"invalid 0.0 does-not-vary observational"},
		{"constant in each arm", lower, []float64{5, 5, 5}, []float64{6, 6, 6}, NotResolved, "welch",
			`not resolved 20.0 no-spread {"fewest":6} observational`},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := importedPlan([]experiment.Metric{c.metric}, "aks", "c11n")
			trials := slices.Concat(imported("aks", c.metric.Name, hour(0), c.base...), imported("c11n", c.metric.Name, hour(5), c.arm...))
			got := Analyze(plan, trials, nil).Comparisons[0]
			if got.Verdict != c.want || said(got) != c.text || got.Method != c.method || got.Paired {
				t.Errorf("%s, %q by %s, paired %v\nwant %s, %q by %s", got.Verdict, said(got), got.Method, got.Paired, c.want, c.text, c.method)
			}
			if got.Rounds != min(len(c.base), len(c.arm)) || len(got.Overheads) != 0 || got.OrderP != 1 || got.Lag1 != 0 {
				t.Errorf("rounds %d, overheads %v, order p %v, lag-1 %v", got.Rounds, got.Overheads, got.OrderP, got.Lag1)
			}
			if got.Baseline.N != len(c.base) || got.Treated.N != len(c.arm) {
				t.Errorf("summaries of %d and %d values", got.Baseline.N, got.Treated.N)
			}
		})
	}
}

func TestNotResolvedSaysWhatItTakes(t *testing.T) {
	plan := importedPlan([]experiment.Metric{headline("time", experiment.Lower)}, "aks", "c11n")
	wide := func(seed uint64, centre float64) []float64 {
		x := normal(seed, 12, centre)
		for i := range x {
			x[i] *= 1 + 0.15*float64(i%4)
		}
		return x
	}
	c := Analyze(plan, slices.Concat(imported("aks", "time", hour(0), wide(1, 100)...), imported("c11n", "time", hour(5), wide(2, 106)...)), nil).Comparisons[0]
	if c.Verdict != NotResolved || c.Reason != (NothingShown{}) || c.Needed <= 12 || c.MDE < 0.19 || c.MDE > 0.20 {
		t.Errorf("%q, MDE %v, needed %d", said(c), c.MDE, c.Needed)
	}
}

// TestPairedImport: if the files give rounds, drift cancels in pairs, but the run remains
// observational.
func TestPairedImport(t *testing.T) {
	plan := importedPlan([]experiment.Metric{headline("time", experiment.Lower)}, "aks", "c11n")
	plan.Import.PairBy = "round"
	plan.Rounds = 12
	base, arm := normal(1, 12, 100), normal(2, 12, 107)
	for i := range base {
		drift := math.Exp(0.1 * float64(i))
		base[i], arm[i] = base[i]*drift, arm[i]*drift
	}
	trials := slices.Concat(imported("aks", "time", hour(0), base...), imported("c11n", "time", hour(0), arm...))
	run := Analyze(plan, trials, nil)
	c := run.Comparisons[0]
	if !c.Paired || c.Verdict != Costs || c.Method != "signed-rank" || said(c) != "costs 7.0 [5.9 8.1] observational" || c.Rounds != 12 {
		t.Errorf("%+v", c)
	}
	if run.Cells[0].Metrics[0].Arms[0].Diagnostics != nil {
		t.Error("diagnostics of independent samples on pairs")
	}
	if !run.Finished || !run.Valid || run.Observation == nil {
		t.Errorf("finished %v, valid %v, observation %+v", run.Finished, run.Valid, run.Observation)
	}
}

// TestOrderOfFiles: the result does not depend on the order in which files are read or on their
// round numbers, and the series is in the order measured.
func TestOrderOfFiles(t *testing.T) {
	plan := importedPlan([]experiment.Metric{headline("time", experiment.Lower)}, "aks", "c11n")
	trials := slices.Concat(imported("aks", "time", hour(0), normal(1, 20, 100)...), imported("c11n", "time", hour(5), normal(2, 20, 103)...))
	want := Analyze(plan, trials, nil)
	shuffled := slices.Clone(trials)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for i := range shuffled {
		shuffled[i].Round = 1 + i%3
	}
	got := Analyze(plan, shuffled, nil)
	if said(got.Comparisons[0]) != said(want.Comparisons[0]) || !slices.Equal(got.Cells[0].Metrics[0].Arms[0].Values, want.Cells[0].Metrics[0].Arms[0].Values) {
		t.Errorf("%q, want %q", said(got.Comparisons[0]), said(want.Comparisons[0]))
	}
	if got.Trials.Planned != 40 || got.Trials.Done != 40 || got.Trials.Valid != 40 || got.Sessions != nil {
		t.Errorf("trials %+v, sessions %v", got.Trials, got.Sessions)
	}
}

func TestBrokenFiles(t *testing.T) {
	limit := percentOf(0.1)
	plan := importedPlan([]experiment.Metric{headline("time", experiment.Lower)}, "aks", "c11n")
	trials := slices.Concat(imported("aks", "time", hour(0), normal(1, 8, 100)...), imported("c11n", "time", hour(5), normal(2, 8, 107)...))
	broken := journal.Trial{Seq: 17, Session: 1, Attempt: 1, Arm: "c11n", Raw: "c11n/9.json", Invalid: []journal.Violation{{Rule: "unreadable", Detail: "empty"}}}
	trials = append(trials, broken, broken)
	run := Analyze(plan, trials, nil)
	if run.Trials.Planned != 18 || run.Trials.Lost != 2 || run.Trials.ByRule["unreadable"] != 2 || len(run.Invalids) != 2 || !run.Valid {
		t.Errorf("%+v, %d invalid", run.Trials, len(run.Invalids))
	}
	for _, w := range run.Warnings {
		switch w.Finding.(type) {
		case StrayTrials, Uncontrolled, Unfinished:
			t.Errorf("warning of a run of Tare's own: %q", figures(w.Finding))
		}
	}
	plan.Limits.InvalidTrials = limit
	run = Analyze(plan, trials, nil)
	if want := []string{`invalid-trials {"lost":2,"planned":18,"limit":0.1,"imported":true}`}; run.Valid || !slices.Equal(reasons(run), want) {
		t.Errorf("valid %v, reasons %q, want %q", run.Valid, reasons(run), want)
	}
	if want := "invalid 7.0 [5.3 8.1] invalid-runs observational"; said(run.Comparisons[0]) != want {
		t.Errorf("%q, want %q", said(run.Comparisons[0]), want)
	}
}

// failing gives the first trials of an arm failed operations.
func failing(trials []journal.Trial, arm string, n int, rules ...string) {
	for i := range trials {
		if trials[i].Arm == arm && n > 0 {
			n--
			for _, r := range rules {
				trials[i].Invalid = append(trials[i].Invalid, journal.Violation{Rule: r, Detail: "made so"})
			}
		}
	}
}

func TestVerdictWithFailedTrials(t *testing.T) {
	metrics := []experiment.Metric{headline("time", experiment.Lower)}
	for _, c := range []struct {
		name  string
		value float64 // values of the trials with failed operations
		rules []string
		first string
		with  string // expected verdict with these trials; "": none
	}{
		{"errors that change the verdict", 99.8, []string{workload.RuleErrors},
			`not resolved 7.4 [6.1 8.6] missing-trials {"missing":14,"of":40,"without":"costs"} observational`, "not resolved 0.6 "},
		{"errors that do not", 108, []string{workload.RuleErrors},
			`not resolved 7.4 [6.1 8.6] missing-trials {"missing":14,"of":40,"without":"costs"} observational`, "costs 7.8 "},
		{"another rule", 100, []string{workload.RuleErrors, "unreadable"}, "costs 7.4 [6.1 8.6] observational", ""},
	} {
		plan := importedPlan(metrics, "aks", "c11n")
		arm := normal(2, 20, 107)
		for i := range 14 {
			arm[i] *= c.value / 107
		}
		trials := slices.Concat(imported("aks", "time", hour(0), normal(1, 20, 100)...), imported("c11n", "time", hour(5), arm...))
		failing(trials, "c11n", 14, c.rules...)
		got := Analyze(plan, trials, nil).Comparisons[0]
		if said(got) != c.first || got.Rounds != 6 {
			t.Errorf("%s: %s of %d values, want %s", c.name, said(got), got.Rounds, c.first)
		}
		if c.with == "" {
			if got.WithInvalid != nil {
				t.Errorf("%s: %+v", c.name, got.WithInvalid)
			}
			continue
		}
		a := got.WithInvalid
		if a == nil || a.Trials != 14 || !strings.HasPrefix(said(a.Comparison), c.with) {
			t.Errorf("%s: %+v, want %q", c.name, a, c.with)
		}
	}
}

// TestOwnCells: files that each have a cell of their own take no more memory, paired or not, than
// files times arms.
func TestOwnCells(t *testing.T) {
	const files = 500
	for _, pairBy := range []string{"", "name"} {
		plan := importedPlan([]experiment.Metric{headline("time", experiment.Lower)}, "aks", "gke")
		plan.Import.PairBy, plan.Rounds = pairBy, files
		only := plan.Cells[0]
		plan.Cells = nil
		var trials []journal.Trial
		for i := range files {
			only.ID = fmt.Sprint("cell-", i)
			plan.Cells = append(plan.Cells, only)
			for a, arm := range []string{"aks", "gke"} {
				trials = append(trials, journal.Trial{Round: i + 1, Attempt: 1, Cell: only.ID, Arm: arm, Values: map[string]float64{"time": float64(a + 1)}})
			}
		}
		table := tabulate(plan, trials, validOnly)
		slots := 0
		for _, cell := range table.slots {
			for _, arm := range cell {
				slots += len(arm)
			}
		}
		if slots != len(trials) {
			t.Errorf("paired by %q, %d trials take %d slots", pairBy, len(trials), slots)
		}
		if c := table.counts(files, trials); c.Valid != len(trials) || c.Planned != len(trials) {
			t.Errorf("paired by %q: %+v", pairBy, c)
		}
		if d := table.compared(files-1, 1, 0, only.Metrics[0]); len(d.Treated) != 1 || d.Treated[0] != 2 || d.Baseline[0] != 1 || pairBy != "" && d.Rounds[0] != files {
			t.Errorf("paired by %q, the last cell holds %+v", pairBy, d)
		}
	}
}

// TestOddImports: whatever the files contain, the analysis ends, with numbers that JSON can
// represent.
func TestOddImports(t *testing.T) {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e308, 5e-324, 1, 1, 2}
	ratio, count := headline("time", experiment.Lower), headline("errors", experiment.Higher)
	count.Scale = experiment.Difference
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 21))
		plan := importedPlan([]experiment.Metric{ratio, count}, "aks", "c11n", "gke")
		plan.Cells[0].Loop = &experiment.Loop{Latency: "time", Throughput: "errors", Workers: float64(rng.IntN(2))}
		if seed%3 == 0 {
			plan.Import.PairBy = "round"
		}
		if seed%7 == 0 {
			plan.Import.Arms = nil
		}
		var trials []journal.Trial
		for range rng.IntN(40) {
			trial := journal.Trial{Round: rng.IntN(5), Arm: []string{"aks", "c11n", "gke", "?"}[rng.IntN(4)], Cell: []string{"randread", "randread", "?"}[rng.IntN(3)],
				Values: map[string]float64{"time": odd[rng.IntN(len(odd))], "errors": odd[rng.IntN(len(odd))]}}
			if rng.IntN(4) == 0 {
				trial.Invalid = []journal.Violation{{Rule: workload.RuleErrors}}
			}
			if rng.IntN(2) == 0 {
				trial.Start = testStart.Add(time.Duration(rng.IntN(1000)) * time.Second)
			}
			trials = append(trials, trial)
		}
		run := Analyze(plan, trials, nil)
		run.Invalids = nil // Invalids holds the trials unchanged
		if _, err := json.Marshal(run); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if len(run.Comparisons) != 4 {
			t.Errorf("seed %d: %d comparisons", seed, len(run.Comparisons))
		}
	}
}
