package cost_test

import (
	"errors"
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/runs/cost"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var (
	cpu      = experiment.Metric{Name: "http-cpu", Unit: "s/request", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio}
	capacity = experiment.Metric{Name: "capacity", Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio}
)

func planned(metrics ...experiment.Metric) *experiment.Plan {
	return &experiment.Plan{Schema: experiment.PlanSchema, Name: "mesh", Seed: 7, Rounds: 6, Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 1,
		Arms: []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}, {Name: "control", Role: experiment.Control},
			{Name: "mtls", Role: experiment.Treatment}},
		Cells: []experiment.Cell{{ID: "http", Workload: "http", Kind: "http", Metrics: metrics}}}
}

// measured returns a run in which each value is the arm's value times two noises: one of the round, which all
// arms share, and one of the trial.
func measured(plan *experiment.Plan, value func(arm, metric string, round int) float64) (*analysis.Run, []journal.Trial) {
	trials := simulated(plan, value)
	return analysis.Analyze(plan, trials, nil), trials
}

func simulated(plan *experiment.Plan, value func(arm, metric string, round int) float64) []journal.Trial {
	var trials []journal.Trial
	for round := 1; round <= plan.Rounds; round++ {
		for i, step := range plan.Order(round) {
			cell, arm := plan.Cells[step.Cell], plan.Arms[step.Arm].Name
			values := map[string]float64{}
			for _, m := range cell.Metrics {
				values[m.Name] = value(arm, m.Name, round)
			}
			trials = append(trials, journal.Trial{Round: round, Attempt: 1, Position: i%len(plan.Arms) + 1, Cell: cell.ID, Arm: arm,
				Start: start.Add(time.Duration(len(trials)) * time.Second), Wall: time.Second, Values: values})
		}
	}
	return trials
}

var asked = cost.Options{Rate: "12000/s", NodeCPUs: 8, NodePrice: 0.4, Utilisation: 0.5}

func near(t *testing.T, what string, got analysis.Interval, point, lo, hi float64) {
	t.Helper()
	for _, c := range []struct{ got, want float64 }{{got.Point, point}, {got.Lo, lo}, {got.Hi, hi}} {
		if math.Abs(c.got-c.want) > 1e-9*math.Max(1, math.Abs(c.want)) {
			t.Errorf("%s is %v; want %v [%v, %v]", what, got, point, lo, hi)
			return
		}
	}
}

// reach returns the factor between the point of a level's interval and its bounds: 1.8 times t, of three
// degrees of freedom, over the means of the quarters of six logarithms.
func reach(values []float64) float64 {
	var quarters []float64
	for _, part := range [][]float64{values[:1], values[1:3], values[3:4], values[4:]} {
		quarters = append(quarters, (math.Log(part[0])+math.Log(part[len(part)-1]))/2)
	}
	return math.Exp(1.8 * contrast.Deviation(quarters) / 2 * 3.182446305284263)
}

// TestByHand checks both bases on values of six rounds. The interval of a level is wider than the exact
// signed-rank interval, which reaches from the smallest value to the largest, as the interval of the difference
// does. 1 ms/request at 12,000/s keeps 12 cores busy. If only half of the cores may be busy, this takes 24
// cores: 3 nodes of 8.
func TestByHand(t *testing.T) {
	drift := []float64{0.98, 0.99, 1, 1, 1.01, 1.02}
	own := []float64{1, 1.001, 1.002, 1.003, 1.004, 1.005}
	run, trials := measured(planned(cpu, capacity), func(arm, metric string, round int) float64 {
		v := 0.001 * drift[round-1]
		if arm == "mtls" {
			v *= 1.2 * own[round-1]
		}
		if metric == "capacity" {
			return 4 / v // 4,000/s
		}
		return v
	})
	r, err := cost.Of(run, trials, asked)
	if err != nil {
		t.Fatal(err)
	}
	if r.Rate != 12000 || r.Unit != "request" || r.Confidence != 0.95 || len(r.Bills) != 2 || r.Bills[1].Basis != cost.Capacity {
		t.Fatalf("%+v", r)
	}
	both := make([]float64, len(own))
	for i := range both {
		both[i] = drift[i] * own[i]
	}
	wide, wider := reach(drift), reach(both)
	for i, b := range r.Bills {
		perNode := []float64{3, 6}[i] // nodes for a value of 1 ms; by capacity, a node does 4,000/s, half of which may be used
		if len(b.Arms) != 2 || b.Arms[0].Arm != "plain" || b.Arms[0].More != nil || b.Arms[1].More == nil || b.Arms[0].Rounds != 6 {
			t.Fatalf("arms of %s: %+v", b.Metric.Name, b.Arms)
		}
		plain, mtls := b.Arms[0], b.Arms[1]
		n, m := plain.Nodes.Point, mtls.Nodes.Point
		if math.Abs(n/perNode-1) > 0.001 || math.Abs(m/perNode/1.2-1) > 0.004 {
			t.Errorf("nodes by %s: %v and %v", b.Metric.Name, n, m)
		}
		near(t, "nodes of plain by "+b.Metric.Name, plain.Nodes, n, n/wide, n*wide)
		near(t, "cores of plain by "+b.Metric.Name, plain.Cores, 8*n, 8*n/wide, 8*n*wide)
		near(t, "nodes of mtls by "+b.Metric.Name, mtls.Nodes, m, m/wider, m*wider)
		more := mtls.More
		near(t, "nodes more by "+b.Metric.Name, more.Nodes, more.Nodes.Point, perNode*0.98*(1.2*own[0]-1), perNode*1.02*(1.2*own[5]-1))
		if more.Verdict != analysis.Costs || more.PointOnly || math.Abs(more.Nodes.Point/perNode-0.203) > 0.002 {
			t.Errorf("more by %s: %+v", b.Metric.Name, more)
		}
		near(t, "price of a month", r.PerMonth(plain.Nodes), 292*plain.Nodes.Point, 292*plain.Nodes.Lo, 292*plain.Nodes.Hi)
		near(t, "price of an hour", r.PerHour(plain.Whole), 0.4*plain.Whole.Point, 0.4*plain.Whole.Lo, 0.4*plain.Whole.Hi)
	}
	mtls := r.Bills[0].Arms[1]
	near(t, "whole nodes", mtls.Whole, 4, 4, 4) // exactly 3.44 to 3.78
	near(t, "level", mtls.Level, mtls.Level.Point, mtls.Level.Point/wider, mtls.Level.Point*wider)
	level := r.Bills[1].Arms[0].Level
	near(t, "level of capacity", level, level.Point, level.Point/wide, level.Point*wide)
}

// TestWholeNodes checks that a whole number is not rounded up, and that additional nodes are added to the
// baseline's.
func TestWholeNodes(t *testing.T) {
	run, trials := measured(planned(cpu), func(arm, _ string, round int) float64 {
		if arm == "mtls" {
			return 0.0011 + 1e-9*float64(round)
		}
		return 0.001 + 1e-18*float64(round)
	})
	r, err := cost.Of(run, trials, asked)
	if err != nil {
		t.Fatal(err)
	}
	plain, mtls := r.Bills[0].Arms[0], r.Bills[0].Arms[1]
	near(t, "whole nodes", plain.Whole, 3, 3, 3)
	near(t, "whole nodes of mtls", mtls.Whole, 4, 4, 4)
	near(t, "whole nodes more", mtls.More.Whole, 1, 1, 1)
}

// TestFewRounds checks that one round gives points without intervals.
func TestFewRounds(t *testing.T) {
	plan := planned(cpu)
	plan.Rounds = 1
	run, trials := measured(plan, func(arm, _ string, _ int) float64 { return map[string]float64{"mtls": 0.002}[arm] + 0.001 })
	r, err := cost.Of(run, trials, asked)
	if err != nil {
		t.Fatal(err)
	}
	mtls := r.Bills[0].Arms[1]
	near(t, "nodes", mtls.Nodes, 9, 9, 9)
	near(t, "nodes more", mtls.More.Nodes, 6, 6, 6)
	if !mtls.PointOnly || !mtls.More.PointOnly {
		t.Error("one round gives an interval")
	}
}

// TestSamples checks imports without pairs.
func TestSamples(t *testing.T) {
	plan := planned(cpu)
	plan.Arms = []experiment.PlannedArm{plan.Arms[0], plan.Arms[2]}
	plan.Import = &experiment.Import{Tool: "csv"}
	values := map[string][]float64{"plain": {0.98, 0.99, 1, 1.01, 1.02, 1.03, 0.97}, "mtls": {1.98, 1.99, 2, 2.01, 2.02, 2.03, 1.97, 2.0}}
	var trials []journal.Trial
	for _, arm := range []string{"plain", "mtls"} {
		for i, v := range values[arm] {
			trials = append(trials, journal.Trial{Round: i + 1, Cell: "http", Arm: arm, Values: map[string]float64{"http-cpu": v / 1000}})
		}
	}
	r, err := cost.Of(analysis.Analyze(plan, trials, nil), trials, asked)
	if err != nil {
		t.Fatal(err)
	}
	mtls := r.Bills[0].Arms[1]
	if r.Observation == nil || mtls.Rounds != 8 || math.Abs(mtls.Nodes.Point-6) > 0.01 || mtls.Nodes.Lo < 5.8 || mtls.Nodes.Hi > 6.2 {
		t.Errorf("%+v, observation %v", mtls, r.Observation)
	}
	if n := mtls.More.Nodes; math.Abs(n.Point-3) > 0.02 || n.Lo < 2.9 || n.Hi > 3.1 || n.Lo > 2.97 {
		t.Errorf("nodes more: %+v", n)
	}
}

func TestErrors(t *testing.T) {
	named := func(name, unit string) experiment.Metric {
		return experiment.Metric{Name: name, Unit: unit, Better: experiment.Lower, Scale: experiment.Ratio}
	}
	two := planned(cpu)
	two.Cells = append(two.Cells, experiment.Cell{ID: "grpc", Metrics: []experiment.Metric{cpu}})
	with := func(change func(*cost.Options)) cost.Options {
		o := asked
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		plan *experiment.Plan
		o    cost.Options
		want string // the text and the hint
	}{
		"no metric":    {planned(named("latency", "s")), asked, "no CPU time per unit of work and no capacity|tcp-cpu in s/Gbit"},
		"other metric": {planned(cpu), with(func(o *cost.Options) { o.Metric = "latency" }), "latency is no CPU time per unit of work|that there are: http-cpu"},
		"two parts":    {planned(named("cpu-client", "s/Gbit"), named("cpu-server", "s/Gbit")), asked, "has 2 figures|choose one: --metric cpu-client|cpu-server"},
		"two cells":    {two, asked, "has 2 figures|choose one: --cell grpc|http"},
		"no cell":      {two, with(func(o *cost.Options) { o.Cell = "dns" }), `no cell "dns"|cells: http, grpc`},
		"no rate":      {planned(cpu), with(func(o *cost.Options) { o.Rate = "12000" }), `"12000" is not a rate|12000/s`},
		"nothing":      {planned(cpu), with(func(o *cost.Options) { o.Rate = "" }), "no rate of work|--rate 12000/s"},
		"no node":      {planned(cpu), with(func(o *cost.Options) { o.NodeCPUs = 0 }), "no node has so few CPUs|--node-cpus 8"},
		"utilisation":  {planned(cpu), with(func(o *cost.Options) { o.Utilisation = 1.2 }), "120% of a node cannot be used|--utilisation 70%"},
		"price":        {planned(cpu), with(func(o *cost.Options) { o.NodePrice = -1 }), "costs something or nothing|--node-price 0.40/h"},
		"no values":    {planned(cpu), asked, "no valid value of http-cpu in http|tare show"},
	} {
		run, trials := measured(c.plan, func(string, string, int) float64 { return 1 })
		if name == "no values" {
			trials = nil
		}
		_, err := cost.Of(run, trials, c.o)
		var wrong *cost.Error
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, hint, _ := strings.Cut(c.want, "|")
		if !strings.Contains(wrong.Text, text) || !strings.Contains(wrong.Hint, hint) {
			t.Errorf("%s: %q, hint %q; want %q", name, wrong.Text, wrong.Hint, c.want)
		}
	}
	run, trials := measured(planned(cpu), func(arm, _ string, round int) float64 {
		return map[string]float64{"control": 2}[arm] + 1 + 0.001*float64(round)
	})
	if run.Valid {
		run.Valid = false // six rounds are too few for a control to fail
	}
	if _, err := cost.Of(run, trials, asked); !errors.Is(err, cost.ErrNoVerdicts) {
		t.Errorf("a run without verdicts: %v", err)
	}
}

// TestChosen checks which metrics an answer is computed from.
func TestChosen(t *testing.T) {
	all := cpu
	all.Name, all.Unit = "tcp-cpu", "s/Gbit"
	part := all
	part.Name = "tcp-cpu-client"
	limit := capacity
	limit.Name, limit.Unit = "tcp-capacity", "bit/s"
	run, trials := measured(planned(all, part, limit, capacity), func(string, string, int) float64 { return 1 })
	for _, c := range []struct {
		metric, rate string
		want         string
		rateWant     float64
	}{
		{"", "3Gbit/s", "tcp-cpu, tcp-capacity", 3}, {"", "90/min", "tcp-cpu, tcp-capacity", 1.5}, {"tcp-cpu-client", "500Mbit/s", "tcp-cpu-client", 0.5},
		{"tcp-capacity", "1Tbit/s", "tcp-capacity", 1000}, {"capacity", "7/s", "capacity", 7},
	} {
		o := asked
		o.Metric, o.Rate = c.metric, c.rate
		r, err := cost.Of(run, trials, o)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		var names []string
		for _, b := range r.Bills {
			names = append(names, b.Metric.Name)
		}
		if got := strings.Join(names, ", "); got != c.want || math.Abs(r.Rate-c.rateWant) > 1e-9 {
			t.Errorf("%+v: %s at %v", c, got, r.Rate)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		want       float64 // 0: an error
	}{
		{"12000/s", "request", 12000}, {"12000request/s", "request", 12000}, {"1.5 op/s", "op", 1.5}, {"7200/h", "op", 2}, {"40Gbit/s", "Gbit", 40}, {"40/s", "Gbit", 40},
		{"500MB/s", "GB", 0.5}, {"40Gbit/s", "op", 0}, {"unlimited/s", "Gbit", 0}, {"-3/s", "op", 0}, {"0/s", "op", 0}, {"NaN/s", "op", 0}, {"1e999/s", "op", 0}, {"/s", "", 0}, {"", "", 0},
	} {
		got, err := cost.ParseRate(c.text, c.unit)
		if math.Abs(got-c.want) > 1e-12 || (err != nil) != (c.want == 0) {
			t.Errorf("%q of %q is %v, %v; want %v", c.text, c.unit, got, err, c.want)
		}
	}
	for text, want := range map[string]float64{"0.40/h": 0.4, "730/month": 1, "0.40": 0, "$1/h": 0, "-1/h": 0, "Inf/h": 0} {
		got, err := cost.ParsePrice(text)
		if math.Abs(got-want) > 1e-12 || (err != nil) != (want == 0) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}

// FuzzParse checks that accepted rates and prices are positive and finite.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"12000/s", "40Gbit/s", "0.40/h", "290/month"} {
		f.Add(text, "Gbit")
	}
	f.Fuzz(func(t *testing.T, text, unit string) {
		if v, err := cost.ParseRate(text, unit); err == nil && (!(v > 0) || math.IsInf(v, 0)) {
			t.Errorf("rate %q of %q is %v", text, unit, v)
		}
		if v, err := cost.ParsePrice(text); err == nil && (!(v > 0) || math.IsInf(v, 0)) {
			t.Errorf("price %q is %v", text, v)
		}
	})
}

var simulatedRuns = flag.Int("cost.n", 200, "simulated runs in each case of TestCoverage")

// drifts are models of a machine's drift over the rounds of a run. At the end of the run it is 5 %, to either side or
// as a standard deviation.
var drifts = map[string]func(rng *rand.Rand, rounds int) []float64{
	"anew": func(rng *rand.Rand, rounds int) []float64 {
		return path(rounds, func(float64, int) float64 { return 0.05 * rng.NormFloat64() })
	},
	"linear": func(rng *rand.Rand, rounds int) []float64 {
		end := 0.05 * float64(1-2*rng.IntN(2))
		return path(rounds, func(_ float64, i int) float64 { return end * (2*float64(i)/float64(rounds-1) - 1) })
	},
	"random walk": func(rng *rand.Rand, rounds int) []float64 {
		return path(rounds, func(at float64, _ int) float64 { return at + 0.05/math.Sqrt(float64(rounds))*rng.NormFloat64() })
	},
	"AR 0.8": func(rng *rand.Rand, rounds int) []float64 { return autoregression(rng, rounds, 0.8) },
	"AR 0.9": func(rng *rand.Rand, rounds int) []float64 { return autoregression(rng, rounds, 0.9) },
}

func path(rounds int, next func(at float64, i int) float64) []float64 {
	list := make([]float64, rounds)
	at := 0.0
	for i := range list {
		at = next(at, i)
		list[i] = at
	}
	return list
}

func autoregression(rng *rand.Rand, rounds int, keeps float64) []float64 {
	return path(rounds, func(at float64, i int) float64 {
		if i == 0 {
			return 0.05 * rng.NormFloat64()
		}
		return keeps*at + 0.05*math.Sqrt(1-keeps*keeps)*rng.NormFloat64()
	})
}

// TestCoverage simulates runs with noise of 5 % on a machine that drifts. It counts how often the intervals
// hold the true values, on a machine without drift, of the baseline, the arm and the difference. -v prints the
// counts. docs/cost.md quotes them from -cost.n 4000.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, name := range slices.Sorted(maps.Keys(drifts)) {
		for _, rounds := range []int{12, 30} {
			held := map[string]int{}
			for range *simulatedRuns {
				plan := planned(cpu)
				plan.Rounds = rounds
				drift := drifts[name](rng, rounds)
				trials := simulated(plan, func(arm, _ string, round int) float64 {
					return (0.001 + map[string]float64{"mtls": 0.0002}[arm]) * math.Exp(drift[round-1]+0.05*rng.NormFloat64())
				})
				run := analysis.Judge(plan, trials)
				run.Valid = true // the control may fail by chance
				r, err := cost.Of(run, trials, asked)
				if err != nil {
					t.Fatal(err)
				}
				plain, mtls := r.Bills[0].Arms[0], r.Bills[0].Arms[1]
				for name, c := range map[string]struct {
					in   analysis.Interval
					true float64
				}{"baseline": {plain.Nodes, 3}, "arm": {mtls.Nodes, 3.6}, "difference": {mtls.More.Nodes, 0.6}} {
					if c.in.Lo <= c.true && c.true <= c.in.Hi {
						held[name]++
					}
				}
			}
			for _, of := range []string{"baseline", "arm", "difference"} {
				share := float64(held[of]) / float64(*simulatedRuns)
				t.Logf("drift %s, %d rounds, %s: %.3f", name, rounds, of, share)
				if slack := 4 * math.Sqrt(0.92*0.08/float64(*simulatedRuns)); share < 0.92-slack {
					t.Errorf("drift %s, %d rounds: %.3f of the intervals of the %s hold the truth; at least 0.92 must", name, rounds, share, of)
				}
			}
		}
	}
}
