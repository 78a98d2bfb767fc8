package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
)

func TestOutcomes(t *testing.T) {
	twice := []experiment.Metric{latency, throughput, retries}
	costs := map[string]float64{"slow": 1.10, "slow throughput": 0.90}
	for _, c := range []struct {
		name    string
		rounds  int // rounds carried out
		planned int // rounds planned; 0: as many as were carried out
		value   func(int, string, string) float64
		edit    func(*experiment.Plan, []journal.Trial)
		budgets []string
		options Options
		want    Outcome
		cases   string
	}{
		{name: "inside and outside", rounds: 12, value: exactly(costs), budgets: []string{"latency=15%", "throughput=5%"}, want: Fail,
			cases: "latency pass: within; throughput fail: exceeds"},
		{name: "all inside", rounds: 12, value: exactly(costs), budgets: []string{"latency=15%", "throughput=15%"}, want: Pass,
			cases: "latency pass: within; throughput pass: within"},
		{name: "amounts", rounds: 12, value: exactly(costs), budgets: []string{"latency=9s", "throughput=11bit/s", "retries=11"}, want: Fail,
			cases: "latency fail: exceeds; throughput pass: within; retries pass: within"},
		{name: "around the limit", rounds: 12, value: noisy(3, 0.02, costs), budgets: []string{"latency=10%"}, want: Unresolved,
			cases: "latency unresolved: straddles"},
		{name: "a gain", rounds: 12, value: exactly(map[string]float64{"slow": 0.5}), budgets: []string{"latency=0%"}, want: Pass,
			cases: "latency pass: within"},
		{name: "too few rounds", rounds: 5, value: exactly(costs), budgets: []string{"latency=50%"}, want: Unresolved,
			cases: "latency unresolved: too-few"},
		{name: "not finished", rounds: 8, planned: 12, value: exactly(costs), budgets: []string{"latency=50%", "throughput=5%"}, want: Invalid,
			cases: "latency invalid: not-finished; throughput invalid: not-finished"},
		{name: "no values", rounds: 12, value: exactly(costs), budgets: []string{"latency=50%"}, want: Unresolved,
			edit: func(_ *experiment.Plan, trials []journal.Trial) {
				for i := range trials {
					if trials[i].Arm == "slow" {
						delete(trials[i].Values, "latency")
					}
				}
			}, cases: "latency unresolved: no-data"},
		{name: "invalid", rounds: 12, value: exactly(map[string]float64{"control": 1.3}), budgets: []string{"latency=50%"}, want: Invalid,
			cases: "latency invalid: no-verdicts"},
		{name: "control without values", rounds: 12, value: exactly(costs), budgets: []string{"latency=50%"}, want: Unresolved,
			edit: func(_ *experiment.Plan, trials []journal.Trial) {
				for i := range trials {
					if trials[i].Arm == "control" {
						delete(trials[i].Values, "latency")
					}
				}
			}, cases: "latency unresolved: no-control"},
		{name: "biased control", rounds: 12, value: exactly(map[string]float64{"control": 1.015, "slow": 1.1}),
			budgets: []string{"latency=10.5%"}, want: Unresolved,
			cases: "latency unresolved: under-bias"},
		{name: "biased control, clearly over", rounds: 12, value: exactly(map[string]float64{"control": 1.015, "slow": 1.2}),
			budgets: []string{"latency=10%"}, want: Fail, cases: "latency fail: exceeds"},
		{name: "biased control, over by less", rounds: 12, value: exactly(map[string]float64{"control": 1.015, "slow": 1.11}),
			budgets: []string{"latency=8.5%"}, want: Unresolved, // the interval is [9.4, 11.0]
			cases: "latency unresolved: under-bias"},
		{name: "observational", rounds: 12, value: exactly(costs), budgets: []string{"latency=15%"}, edit: imported, want: Unresolved,
			cases: "latency unresolved: not-random"},
		{name: "observational, allowed", rounds: 12, value: exactly(costs), budgets: []string{"latency=15%", "throughput=5%"}, edit: imported,
			options: Options{Observational: true}, want: Fail,
			cases: "latency pass: within; throughput fail: exceeds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(max(c.rounds, c.planned), twice, "slow")
			trials := trialsOf(p, c.rounds, c.value)
			if c.edit != nil {
				c.edit(p, trials)
			}
			r, err := judged(p, trials, c.options, c.budgets...)
			if err != nil {
				t.Fatal(err)
			}
			var cases []string
			for _, k := range r.Cases {
				cases = append(cases, fmt.Sprintf("%s %s: %s", k.Metric.Name, k.Outcome, k.Reason))
			}
			if got := strings.Join(cases, "; "); r.Outcome != c.want || got != c.cases {
				t.Errorf("%s: %s\nwant %s: %s\n%+v", r.Outcome, got, c.want, c.cases, r.Cases)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
		})
	}
}

// imported turns a run into one of another tool: no control, and independent samples.
func imported(p *experiment.Plan, trials []journal.Trial) {
	p.Import = &experiment.Import{Tool: "fio"}
	p.Testbed = experiment.TestbedImport
	p.Arms = append(p.Arms[:1], p.Arms[2:]...)
	for i := range trials {
		if trials[i].Arm == "control" {
			trials[i].Arm = "gone"
		}
	}
}

// TestAmount checks that an amount is compared with the differences of the same values, round by
// round, and a cost is positive whichever direction is better.
func TestAmount(t *testing.T) {
	p := planOf(12, []experiment.Metric{latency, throughput}, "slow")
	trials := trialsOf(p, 12, func(round int, arm, metric string) float64 {
		base := 1000 * float64(round) // drifts by far more than the arm costs
		switch {
		case arm != "slow":
			return base
		case metric == "throughput":
			return base - 40 - float64(round%3)
		}
		return base + 40 + float64(round%3)
	})
	r, err := judged(p, trials, Options{}, "latency=50s", "throughput=30bit/s")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Outcome{Pass, Fail} {
		c := r.Cases[i]
		if c.Outcome != want || math.Abs(c.Overhead.Point-41) > 0.5 || c.Overhead.Lo < 40 || c.Overhead.Hi > 42 {
			t.Errorf("%s: %s, %+v; want %s about 41", c.Metric.Name, c.Outcome, c.Overhead, want)
		}
	}
}

// TestHolm checks that a case which fails alone does not fail as one of many.
func TestHolm(t *testing.T) {
	for _, c := range []struct {
		arms   int
		want   Outcome
		reason Reason
	}{{1, Fail, Exceeds}, {40, Unresolved, NotByHolm}} {
		names := []string{"slow"}
		for i := range c.arms - 1 {
			names = append(names, fmt.Sprintf("same-%d", i))
		}
		p := planOf(6, []experiment.Metric{latency}, names...)
		r, err := judged(p, trialsOf(p, 6, exactly(map[string]float64{"slow": 1.2})), Options{}, "latency=10%")
		if err != nil {
			t.Fatal(err)
		}
		k := r.Cases[0]
		if k.Outcome != c.want || k.Reason != c.reason || math.Abs(k.P-1.0/729) > 1e-12 || math.Abs(k.PAdjusted-min(1, float64(c.arms)/729)) > 1e-12 {
			t.Errorf("as one of %d: %s, %s, p %v, adjusted %v", c.arms, k.Outcome, k.Reason, k.P, k.PAdjusted)
		}
		if c.arms == 40 && k.Needed != 7 { // 3^-7 is the first below 0.025/40
			t.Errorf("%d rounds would resolve it, want 7", k.Needed)
		}
	}
}

// TestNeeded puts limits at growing distances from an estimate: the nearer, the more rounds. A
// limit at the estimate itself still gives a number, since the estimate is not the true value.
func TestNeeded(t *testing.T) {
	p := planOf(12, []experiment.Metric{latency, throughput}, "slow")
	trials := trialsOf(p, 12, noisy(5, 0.02, map[string]float64{"slow": 1.10, "slow throughput": 0.9}))
	at := func(budgets ...string) (needed []int) {
		r, err := judged(p, trials, Options{}, budgets...)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Cases {
			if c.Reason != Straddles || c.Needed <= 12 {
				t.Fatalf("%+v", c)
			}
			needed = append(needed, c.Needed)
		}
		return needed
	}
	r, err := judged(p, trials, Options{}, "latency=10%", "throughput=10%")
	if err != nil {
		t.Fatal(err)
	}
	budget := func(share float64) (list []string) { // limits from the estimate to the upper bound
		for _, c := range r.Cases {
			list = append(list, fmt.Sprintf("%s=%.4f%%", c.Metric.Name, 100*(c.Overhead.Point+share*(c.Overhead.Hi-c.Overhead.Point))))
		}
		return list
	}
	near, middle, far := at(budget(0.01)...), at(budget(0.4)...), at(budget(0.8)...)
	for i := range near {
		if near[i] <= middle[i] || middle[i] <= far[i] || near[i] > 2000 {
			t.Errorf("%s: %d, %d and %d rounds", r.Cases[i].Metric.Name, near[i], middle[i], far[i])
		}
	}
}

func TestTimes(t *testing.T) {
	p := planOf(6, []experiment.Metric{latency, throughput}, "slow")
	r, err := judged(p, trialsOf(p, 6, exactly(nil)), Options{}, "latency=10%", "throughput=10%")
	if err != nil {
		t.Fatal(err)
	}
	if r.Seconds != 54 || r.Cases[0].Seconds != 9 || r.Cases[1].Seconds != 9 {
		t.Errorf("run %v s, cases %v and %v s; want 54, and 18 shared by two", r.Seconds, r.Cases[0].Seconds, r.Cases[1].Seconds)
	}
}

// TestTimesOfImports checks that the times of trials which may have overlapped are not added up.
func TestTimesOfImports(t *testing.T) {
	p := planOf(12, []experiment.Metric{latency}, "slow")
	trials := trialsOf(p, 12, exactly(nil))
	imported(p, trials)
	r, err := judged(p, trials, Options{Observational: true}, "latency=10%")
	if err != nil || r.Outcome != Pass || r.Seconds != 0 || r.Cases[0].Seconds != 0 || r.Paired || r.Rounds != 12 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestFewest checks the numbers of rounds against the outcomes of gates with as many.
func TestFewest(t *testing.T) {
	p := planOf(12, []experiment.Metric{latency, throughput}, "slow")
	p.Budget = experiment.Budget{"latency": limit("10%"), "throughput": limit("10%")}
	cases, pass, fail := Fewest(p)
	if cases != 2 || pass != 6 || fail != 6 {
		t.Errorf("%d cases, pass from %d, fail from %d; want 2, 6 and 6", cases, pass, fail)
	}
	for rounds, want := range map[int][2]Outcome{5: {Unresolved, Unresolved}, 6: {Pass, Fail}} {
		for i, cost := range []float64{1, 1.3} {
			p := planOf(rounds, []experiment.Metric{latency, throughput}, "slow")
			p.Budget = experiment.Budget{"latency": limit("10%"), "throughput": limit("10%")}
			r, err := judged(p, trialsOf(p, rounds, exactly(map[string]float64{"slow": cost, "slow throughput": 1 / cost})), Options{})
			if err != nil || r.Outcome != want[i] {
				t.Errorf("%d rounds, %v: %v, %v; want %s", rounds, cost, r.Outcome, err, want[i])
			}
		}
	}
	if cases, _, _ := Fewest(planOf(12, []experiment.Metric{latency}, "slow")); cases != 0 {
		t.Errorf("without budgets there are %d cases", cases)
	}
}

// TestWarnings checks that warnings about the machine are only in the report.
func TestWarnings(t *testing.T) {
	p := planOf(6, []experiment.Metric{latency}, "slow")
	p.Budget = experiment.Budget{"latency": limit("10%")}
	trials := append(trialsOf(p, 6, exactly(nil)), journal.Trial{Cell: "elsewhere", Arm: "slow", Round: 1})
	env := &machine.Environment{Notes: []string{"the machine is virtual (KVM): others may share its processors"}}
	r, err := Run(analysis.Analyze(p, trials, env), trials, LimitsOf(p), Options{})
	if err != nil || len(r.Warnings) != 1 || r.Warnings[0] != (analysis.StrayTrials{Trials: 1}) {
		t.Errorf("%+v, %v", r.Warnings, err)
	}
}

func TestNoBudget(t *testing.T) {
	p := planOf(6, []experiment.Metric{latency}, "slow")
	if _, err := judged(p, trialsOf(p, 6, exactly(nil)), Options{}); !errors.Is(err, ErrNoBudget) {
		t.Errorf("the error is %v", err)
	}
}

// TestEmptyRun checks that a plan without any trial has a result.
func TestEmptyRun(t *testing.T) {
	p := planOf(6, []experiment.Metric{latency}, "slow")
	r, err := judged(p, nil, Options{}, "latency=10%")
	if err != nil || r.Outcome != Invalid || r.Cases[0].Reason != NotFinished {
		t.Errorf("%+v, %v", r, err)
	}
}
