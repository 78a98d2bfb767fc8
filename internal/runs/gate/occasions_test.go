package gate

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/runs/combine"
	"tare/internal/runs/compare"
	"tare/internal/workload"
)

// TestOver: several runs pass or fail a limit by the interval of their mean, and failed trials keep
// them from passing.
func TestOver(t *testing.T) {
	fails := func(every int) func(*journal.Trial) {
		return func(t *journal.Trial) {
			if t.Arm == "slow" && t.Round%every == 0 {
				t.Values, t.Invalid = nil, []journal.Violation{{Rule: workload.RuleExit}}
			}
		}
	}
	for _, c := range []struct {
		name    string
		budgets []string
		edit    func(*journal.Trial)
		want    string
	}{
		{"within", []string{"latency=15%"}, nil, "pass: latency pass: within"},
		{"over", []string{"latency=5%"}, nil, "fail: latency fail: exceeds"},
		{"about the limit", []string{"latency=10%"}, nil, "unresolved: latency unresolved: straddles"},
		{"none fails", []string{"failures=5%"}, nil, "pass: failures pass: within"},
		{"a few fail", []string{"latency=15%"}, fails(20), "unresolved: latency unresolved: missing"},
		{"many fail", []string{"latency=15%"}, fails(3), "fail: latency unresolved: missing; failures fail: fails-more"},
		{"many may fail", []string{"latency=5%", "failures=60%"}, fails(3), "fail: latency fail: exceeds; failures pass: within"},
	} {
		var in []compare.Input
		for i := range 5 {
			p := planOf(20, []experiment.Metric{latency}, "slow")
			p.Seed = uint64(i + 1)
			trials := trialsOf(p, 20, noisy(p.Seed, 0.01, map[string]float64{"slow": 1.10}))
			for k := range trials {
				trials[k].Start = trials[k].Start.AddDate(0, 0, i)
				if c.edit != nil {
					c.edit(&trials[k])
				}
			}
			in = append(in, compare.Input{Name: string(rune('a' + i)), Run: analysis.Analyze(p, trials, nil), Trials: trials})
		}
		together, err := combine.Runs(in)
		if err != nil {
			t.Fatal(err)
		}
		limits := LimitsOf(together.Plan)
		for _, b := range c.budgets {
			if err := limits.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Over(together, limits, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := outcomes(r); got != c.want {
			t.Errorf("%s: %s, want %s\n%+v", c.name, got, c.want, r.Cases)
		}
	}
}
