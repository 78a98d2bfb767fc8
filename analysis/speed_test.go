package analysis

import (
	"fmt"
	"testing"

	"tare/experiment"
)

// BenchmarkAnalyze is the size that the project promises to analyse and report
// in under 2 s: 1,000 rounds of 4 arms with 50 metrics.
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

// BenchmarkJudge is one simulated experiment of bench/method.
func BenchmarkJudge(b *testing.B) {
	plan := testPlan(12, []experiment.Metric{headline("time", experiment.Lower)}, "one")
	trials := testTrials(plan, 12, noisy(1, 0.03, map[string]float64{"one": 1.05}))
	for b.Loop() {
		Judge(plan, trials)
	}
}
