package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/workload"
)

// breaking makes the program fail in the first rounds of an arm.
func breaking(trials []journal.Trial, arm string, rounds int) {
	for i := range trials {
		if trials[i].Arm == arm && trials[i].Round <= rounds {
			trials[i].Values, trials[i].Invalid = nil, []journal.Violation{{Rule: "exit-status", Detail: "made so"}}
		}
	}
}

func outcomes(r *Result) string {
	var cases []string
	for _, k := range r.Cases {
		cases = append(cases, fmt.Sprintf("%s %s: %s", k.Metric.Name, k.Outcome, k.Reason))
	}
	return string(r.Outcome) + ": " + strings.Join(cases, "; ")
}

// A program that behaves otherwise keeps no budget, and can still exceed one.
func TestBehaviour(t *testing.T) {
	for _, c := range []struct {
		budget, want string
		allow        []experiment.Aspect
	}{
		{"latency=15%", "unresolved: latency unresolved: behaves", nil},
		{"latency=5%", "fail: latency fail: exceeds", nil},
		{"latency=15%", "pass: latency pass: within", []experiment.Aspect{experiment.Stderr}},
	} {
		p := planOf(40, []experiment.Metric{latency}, "slow")
		p.Arms[2].Allow = c.allow
		trials := trialsOf(p, 40, noisy(3, 0.01, map[string]float64{"slow": 1.1}))
		for i := range trials {
			if trials[i].Behaviour = (workload.Behaviour{experiment.Exit: {Runs: 1}}); trials[i].Arm == "slow" {
				trials[i].Behaviour.Add(experiment.Stderr, workload.Observation{Marks: []string{"permission denied"}, Runs: 1})
			}
		}
		r, err := judged(p, trials, Options{}, c.budget)
		if err != nil {
			t.Fatal(err)
		}
		if got := outcomes(r); got != c.want {
			t.Errorf("%s: %s\nwant %s\n%+v", c.budget, got, c.want, r.Cases)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		broken  int // rounds of 40 in which the layer fails
		budgets []string
		want    string
	}{
		{"none fails", 0, []string{"latency=15%"}, "pass: latency pass: within"},
		{"fails more often", 12, []string{"latency=15%"}, "fail: latency unresolved: missing; failures fail: fails-more"},
		{"allowed to", 12, []string{"latency=15%", "failures=60%"}, "unresolved: latency unresolved: missing; failures pass: within"},
		{"over its budget", 12, []string{"failures=10%"}, "fail: failures fail: exceeds"},
		{"over, by chance perhaps", 12, []string{"failures@net*=25%"}, "unresolved: failures unresolved: straddles"},
		{"no failure, and a budget", 0, []string{"failures=10%"}, "pass: failures pass: within"},
		{"no failure, and too few rounds for a small budget", 0, []string{"slow:failures=5%"}, "unresolved: failures unresolved: straddles"},
		{"plainly over the limit", 2, []string{"latency=5%"}, "fail: latency fail: exceeds"},
		{"one failure that changes nothing", 1, []string{"latency=15%"}, "pass: latency pass: within"},
	} {
		p := planOf(40, []experiment.Metric{latency}, "slow")
		trials := trialsOf(p, 40, noisy(3, 0.01, map[string]float64{"slow": 1.1}))
		breaking(trials, "slow", c.broken)
		r, err := judged(p, trials, Options{}, c.budgets...)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := outcomes(r); got != c.want {
			t.Errorf("%s: %s\nwant %s\n%+v", c.name, got, c.want, r.Cases)
		}
		if o := r.Cases[0].Overhead; c.name == "plainly over the limit" && (o.Hi-o.Lo < 0.012 || o.Lo < 0.05) {
			t.Errorf("%s: %+v does not hold what is missing", c.name, o)
		}
	}
	p := planOf(40, []experiment.Metric{latency}, "slow")
	if _, err := judged(p, nil, Options{}, "failures=1ms"); err == nil || !strings.Contains(err.Error(), "failures") {
		t.Errorf("an amount of failures: %v", err)
	}
}

// TestMeanOver: an arm whose typical round is within the limit but whose mean is not does not pass.
func TestMeanOver(t *testing.T) {
	p := planOf(40, []experiment.Metric{latency}, "slow")
	trials := trialsOf(p, 40, noisy(3, 0.01, nil))
	for i := range trials {
		if trials[i].Arm == "slow" && trials[i].Round%10 == 0 {
			trials[i].Values["latency"] *= 2
		}
	}
	for limit, want := range map[string]string{"latency=5%": "unresolved: latency unresolved: mean-over", "latency=15%": "pass: latency pass: within"} {
		r, err := judged(p, trials, Options{}, limit)
		if err != nil || outcomes(r) != want {
			t.Errorf("%s: %s, %v, want %s", limit, outcomes(r), err, want)
		}
	}
}

// TestSecondGrade: very few values decide nothing, unless claims that assume normal noise are
// accepted.
func TestSecondGrade(t *testing.T) {
	for n, want := range map[int][2]string{
		2: {"unresolved: latency unresolved: too-few", "unresolved: latency unresolved: too-few"},
		3: {"unresolved: latency unresolved: too-few", "fail: latency fail: exceeds"},
	} {
		p := planOf(n, []experiment.Metric{latency}, "slow")
		trials := trialsOf(p, n, noisy(5, 0.002, map[string]float64{"slow": 1.88}))
		imported(p, trials)
		trials = slices.DeleteFunc(trials, func(t journal.Trial) bool { return t.Arm == "gone" })
		for i, o := range []Options{{Observational: true}, {Observational: true, Normal: true}} {
			r, err := judged(p, trials, o, "latency=10%")
			if err != nil || outcomes(r) != want[i] {
				t.Errorf("%d values, %+v: %s, %v, want %s", n, o, outcomes(r), err, want[i])
			}
			if decided := r.Outcome == Fail; decided != (r.Cases[0].Grade == analysis.Normal) {
				t.Errorf("%d values, %+v: %s of grade %q", n, o, r.Outcome, r.Cases[0].Grade)
			}
		}
	}
}

// TestArmsThatAreFinished: an arm that was left out does not affect the others' cases.
func TestArmsThatAreFinished(t *testing.T) {
	p := planOf(12, []experiment.Metric{latency}, "slow", "gone")
	trials := slices.DeleteFunc(trialsOf(p, 12, noisy(3, 0.01, map[string]float64{"slow": 1.1})), func(t journal.Trial) bool { return t.Arm == "gone" && t.Round > 4 })
	for budget, want := range map[string]string{"slow:latency=15%": "pass: latency pass: within", "latency=15%": "invalid: latency pass: within; latency invalid: not-finished"} {
		r, err := judged(p, trials, Options{}, budget)
		if err != nil || outcomes(r) != want || r.Finished {
			t.Errorf("%s: %s, %v, want %s", budget, outcomes(r), err, want)
		}
	}
}
