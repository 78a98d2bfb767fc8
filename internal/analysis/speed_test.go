package analysis

import (
	"fmt"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// BenchmarkAnalyze has the size that the project promises to analyse and report in under 2 s: 1,000
// rounds of 4 arms with 50 metrics.
func BenchmarkAnalyze(b *testing.B) {
	var metrics []experiment.Metric
	for i := range 50 {
		m := headline(fmt.Sprintf("metric-%d", i), experiment.Lower)
		m.Headline = i < 10
		metrics = append(metrics, m)
	}
	plan := testPlan(1000, metrics, "one", "two")
	trials := testTrials(plan, 1000, noisy(1, 0.03, map[string]float64{"one": 1.05}))
	for b.Loop() {
		Analyze(plan, trials, nil)
	}
}

// BenchmarkJudge is one simulated experiment of hack/bench/method.
func BenchmarkJudge(b *testing.B) {
	plan := testPlan(12, []experiment.Metric{headline("time", experiment.Lower)}, "one")
	trials := testTrials(plan, 12, noisy(1, 0.03, map[string]float64{"one": 1.05}))
	for b.Loop() {
		Judge(plan, trials)
	}
}

// importedRun returns n trials of every arm in each cell.
func importedRun(n, cells, metrics int, arms ...string) (*experiment.Plan, []journal.Trial) {
	var list []experiment.Metric
	for i := range metrics {
		m := headline(fmt.Sprintf("metric-%d", i), experiment.Lower)
		m.Headline = i < 4
		list = append(list, m)
	}
	plan := importedPlan(list, arms...)
	cell := plan.Cells[0]
	plan.Cells = nil
	var trials []journal.Trial
	for c := range cells {
		cell.ID = fmt.Sprintf("cell-%d", c)
		plan.Cells = append(plan.Cells, cell)
		for a, arm := range arms {
			values := make([][]float64, metrics)
			for m := range values {
				values[m] = normal(uint64(100*c+10*m+a), n, 100)
			}
			for i := range n {
				t := journal.Trial{Round: i + 1, Attempt: 1, Cell: cell.ID, Arm: arm, Start: testStart.Add(time.Duration(i) * time.Second), Values: map[string]float64{}}
				for m := range values {
					t.Values[list[m].Name] = values[m][i]
				}
				trials = append(trials, t)
			}
		}
	}
	return plan, trials
}

// BenchmarkAnalyzeRows has a long table: 50,000 values of each of two arms. It should take well
// under 0.5 s.
func BenchmarkAnalyzeRows(b *testing.B) {
	plan, trials := importedRun(50_000, 1, 1, "a", "b")
	for b.Loop() {
		Analyze(plan, trials, nil)
	}
}

// BenchmarkAnalyzeFiles has a directory of 600 files with four tests of ten metrics each. It should
// take well under 0.5 s.
func BenchmarkAnalyzeFiles(b *testing.B) {
	plan, trials := importedRun(300, 4, 10, "a", "b")
	for b.Loop() {
		Analyze(plan, trials, nil)
	}
}

// BenchmarkUnresolved has a run in which no comparison is resolved, so that each needs the number
// of rounds that would resolve it.
func BenchmarkUnresolved(b *testing.B) {
	for _, rounds := range []int{12, 1000} {
		b.Run(fmt.Sprint(rounds), func(b *testing.B) {
			var metrics []experiment.Metric
			for i := range 50 {
				metrics = append(metrics, headline(fmt.Sprintf("metric-%d", i), experiment.Lower))
			}
			plan := testPlan(rounds, metrics, "one", "two")
			noise := 0.02
			if rounds == 1000 {
				noise = 0.4
			}
			trials := testTrials(plan, rounds, noisy(1, noise, nil))
			for b.Loop() {
				Analyze(plan, trials, nil)
			}
		})
	}
}
