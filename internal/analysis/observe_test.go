package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

func TestObservational(t *testing.T) {
	// every returns start times every two minutes from a minute on.
	every := func(minute int) func(int) time.Time {
		return func(i int) time.Time { return testStart.Add(time.Duration(minute+2*i) * time.Minute) }
	}
	partlyTold := func(i int) time.Time {
		if i == 3 {
			return time.Time{}
		}
		return every(0)(i)
	}
	for _, c := range []struct {
		name   string
		starts []func(int) time.Time // start times of the baseline aks, then of c11n and gke
		facts  []map[string][]string
		want   string
	}{
		{"one after the other", []func(int) time.Time{every(0), every(100)}, nil, "c11n apart"},
		{"the baseline last", []func(int) time.Time{every(100), every(0)}, nil, "c11n apart"},
		{"interleaved", []func(int) time.Time{every(0), every(1)}, nil, "c11n interleaved"},
		{"at the same moments", []func(int) time.Time{every(0), every(0)}, nil, "c11n interleaved"},
		{"overlapping at the ends", []func(int) time.Time{every(0), every(15)}, nil, "c11n overlap"},
		{"in turns of five", []func(int) time.Time{func(i int) time.Time { return every(2 * (i / 5) * 40)(i) }, every(50)}, nil, "c11n blocks"},
		{"one arm", []func(int) time.Time{every(0)}, nil, ""},
		{"untold", []func(int) time.Time{every(0), never}, nil, "c11n unknown"},
		{"one file does not tell", []func(int) time.Time{every(0), partlyTold}, nil, "c11n unknown"},
		{"two arms of two kinds", []func(int) time.Time{every(0), every(1), every(200)}, nil,
			"c11n interleaved, gke apart"},
		{"other machines", []func(int) time.Time{every(0), every(100)},
			[]map[string][]string{{"kernel": {"5.15"}, "fio version": {"3.28"}, "node": {"a", "b"}, "cpu": {"x"}}, {"kernel": {"6.1"}, "fio version": {"3.28"}, "node": {"b", "a", "b"}}},
			"c11n apart; kernel"},
		{"many differences", []func(int) time.Time{every(0), every(100)},
			[]map[string][]string{{"a": {"1"}, "b": {"1"}, "c": {"1"}, "d": {"1"}, "e": {"1"}, "f": {"1"}, "g": {"1"}, "h": {"1"}},
				{"a": {"2"}, "b": {"2"}, "c": {"2"}, "d": {"2"}, "e": {"2"}, "f": {"2"}, "g": {"2"}, "h": {"2"}}},
			"c11n apart; a b c d e f g h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := importedPlan([]experiment.Metric{headline("time", experiment.Lower)}, []string{"aks", "c11n", "gke"}[:len(c.starts)]...)
			for i, f := range c.facts {
				plan.Import.Arms[i].Facts = f
			}
			var trials []journal.Trial
			for i, start := range c.starts {
				trials = append(trials, imported(plan.Arms[i].Name, "time", start, normal(uint64(i), 10, 100)...)...)
			}
			run := Analyze(plan, trials, nil)
			if got := figuresOf(run.Observation); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			for _, x := range run.Comparisons {
				if !x.Observational {
					t.Errorf("%s does not say that it is observational", said(x))
				}
			}
		})
	}
}

// figuresOf formats an observation as a line.
func figuresOf(o *Observation) string {
	var arms []string
	for _, a := range o.Arms {
		arms = append(arms, a.Arm+" "+string(a.Times))
	}
	text := strings.Join(arms, ", ")
	if o.Differs != nil {
		text += "; " + strings.Join(o.Differs, " ")
	}
	return text
}

func TestNotObservational(t *testing.T) {
	plan := testPlan(12, []experiment.Metric{headline("time", experiment.Lower)}, "one")
	run := Analyze(plan, testTrials(plan, 12, noisy(1, 0.01, nil)), nil)
	if run.Observation != nil || run.Comparisons[0].Observational || !run.Comparisons[0].Paired {
		t.Errorf("%+v, %s", run.Observation, said(run.Comparisons[0]))
	}
}

// loopTrial returns a trial of n workers, each of which waits 1/speed s for its answer.
func loopTrial(arm string, i int, workers, latency float64) journal.Trial {
	return journal.Trial{Seq: i, Session: 1, Round: i, Cell: "randread", Arm: arm, Start: hour(0)(i),
		Values: map[string]float64{"latency-mean": latency, "latency-p99": 3 * latency, "throughput": workers / latency}}
}

// TestRatesOfArms: arms that are each driven at their own rate are no closed loop, though the
// slower one has the larger latency and the smaller rate.
func TestRatesOfArms(t *testing.T) {
	latency, throughput := headline("latency-mean", experiment.Lower), headline("throughput", experiment.Higher)
	throughput.Unit = "1/s"
	plan := importedPlan([]experiment.Metric{latency, throughput}, "aks", "c11n")
	plan.Cells[0].Loop = &experiment.Loop{Latency: "latency-mean", Throughput: "throughput"}
	var trials []journal.Trial
	for i, noise := range normal(5, 40, 1) {
		rate, seconds := 1000.0, 0.010*noise
		if i%2 == 1 {
			rate, seconds = 800, 0.0125*noise
		}
		trials = append(trials, loopTrial([]string{"aks", "c11n"}[i%2], i+1, rate*seconds, seconds))
	}
	if l := Analyze(plan, trials, nil).Cells[0].Loop; l != nil {
		t.Errorf("%+v", l)
	}
}

func TestClosedLoop(t *testing.T) {
	latency, p99, throughput := headline("latency-mean", experiment.Lower), headline("latency-p99", experiment.Lower), headline("throughput", experiment.Higher)
	throughput.Unit = "1/s"
	for _, c := range []struct {
		name    string
		workers float64 // number of workers in the file
		trials  int     // number of trials of each arm
		rate    float64 // rate given from outside; 0: a closed loop of 64 workers
		jitter  float64 // variation of the number of requests in flight
		want    string
	}{
		{"told, constant", 64, 4, 0, 0,
			"64.0, 64.0 to 64.0 over 8, known true"},
		{"told, but others", 128, 4, 0, 0, ""},
		{"not told, constant", 0, 6, 0, 0.01,
			"64.2, 62.6 to 66.1 over 12, known false"},
		{"not told, few trials", 0, 4, 0, 0, ""},
		{"open loop", 0, 20, 100, 0, ""},
		{"open loop, told", 64, 20, 100, 0, ""},
		{"number under way varies with the latency", 0, 20, 0, 0.10, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := importedPlan([]experiment.Metric{latency, p99, throughput}, "aks", "c11n")
			plan.Cells[0].Loop = &experiment.Loop{Latency: "latency-mean", Throughput: "throughput", Workers: c.workers}
			var trials []journal.Trial
			spread, under := normal(3, 2*c.trials, 1), normal(4, 2*c.trials, 1)
			for i := range 2 * c.trials {
				seconds := 0.02 * (1 + 8*(spread[i]-1)) // latency varies by ± 8 %
				workers := 64 * (1 + c.jitter*100*(under[i]-1))
				if c.rate > 0 {
					workers = seconds * c.rate
				}
				trials = append(trials, loopTrial([]string{"aks", "c11n"}[i%2], i+1, workers, seconds))
			}
			run := Analyze(plan, trials, nil)
			text := ""
			if l := run.Cells[0].Loop; l != nil {
				text = fmt.Sprintf("%.1f, %.1f to %.1f over %d, known %v", l.Median, l.Least, l.Most, l.Trials, l.Known)
			}
			if text != c.want {
				t.Errorf("%q\nwant %q", text, c.want)
			}
			closed := c.want != ""
			family := map[bool]int{true: 2, false: 3}[closed]
			if run.Family != family {
				t.Errorf("family of %d, want %d", run.Family, family)
			}
			warned := slices.ContainsFunc(run.Warnings, func(w Warning) bool {
				return figures(w.Finding) == `omission {"metrics":["latency-p99"]}`
			})
			if warned != closed {
				t.Errorf("warned of coordinated omission: %v", warned)
			}
			for _, x := range run.Comparisons {
				restates := ""
				if closed && x.Metric.Name == "latency-mean" {
					restates = "throughput"
				}
				if x.Restates != restates {
					t.Errorf("%s restates %q: %q", x.Metric.Name, x.Restates, said(x))
				}
			}
		})
	}
}

// TestEchoIsNoSecondClaim: latency and throughput of a closed loop have the same p, and Holm's
// correction counts them once.
func TestEchoIsNoSecondClaim(t *testing.T) {
	latency, throughput := headline("latency-mean", experiment.Lower), headline("throughput", experiment.Higher)
	plan := importedPlan([]experiment.Metric{latency, throughput}, "aks", "c11n", "gke")
	plan.Cells[0].Loop = &experiment.Loop{Latency: "latency-mean", Throughput: "throughput", Workers: 64}
	var trials []journal.Trial
	for a, arm := range []string{"aks", "c11n", "gke"} {
		for i, x := range normal(uint64(a), 8, []float64{1, 1.012, 1.001}[a]) {
			trials = append(trials, loopTrial(arm, i+1, 64, 0.02*x))
		}
	}
	run := Analyze(plan, trials, nil)
	if run.Family != 2 {
		t.Fatalf("family of %d, want 2", run.Family)
	}
	byName := map[string]Comparison{}
	for _, c := range run.Comparisons {
		byName[c.Arm+" "+c.Metric.Name] = c
	}
	for _, arm := range []string{"c11n", "gke"} {
		a, b := byName[arm+" latency-mean"], byName[arm+" throughput"]
		if fmt.Sprintf("%.9f", a.P) != fmt.Sprintf("%.9f", b.P) || fmt.Sprintf("%.9f", a.PAdjusted) != fmt.Sprintf("%.9f", b.PAdjusted) {
			t.Errorf("%s: p %v and %v, adjusted %v and %v", arm, a.P, b.P, a.PAdjusted, b.PAdjusted)
		}
	}
	if c := byName["c11n throughput"]; c.PAdjusted > 2*c.P*(1+1e-9) || c.PAdjusted < c.P {
		t.Errorf("adjusted %v of p %v in a family of 2", c.PAdjusted, c.P)
	}
}

func TestExtremes(t *testing.T) {
	for name, want := range map[string]bool{
		"latency-p99": true, "latency-p99.9": true, "p50": true, "latency-max": true, "latency_99th": true, "Max": true, "clat p99": true,
		"latency-mean": false, "latency-min": false, "maxed-out": false, "wall": false, "pp99x": false, "ramp": false,
	} {
		if got := extreme.MatchString(strings.ToLower(name)); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
