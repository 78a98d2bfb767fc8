package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/run/journal"
)

var queries = experiment.Metric{Name: "queries", Unit: "1/s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio, Discrete: true}

// lawPlan returns a plan of a workload whose queries are expected to be proxies × hosts ÷ ttl, with
// all combinations of the given levels: "hosts=10,50,200".
func lawPlan(rounds int, factors ...string) *experiment.Plan {
	p := testPlan(rounds, []experiment.Metric{queries})
	law := &experiment.PowerLaw{Metric: "queries", Exponents: map[string]float64{"proxies": 1, "hosts": 1, "ttl": -1}}
	p.Cells = []experiment.Cell{{Workload: "dns"}}
	for _, f := range factors {
		name, levels, _ := strings.Cut(f, "=")
		var next []experiment.Cell
		for _, c := range p.Cells {
			for _, l := range strings.Split(levels, ",") {
				one := c
				one.Levels = append(slices.Clone(c.Levels), factor.Level{Factor: name, Value: l})
				next = append(next, one)
			}
		}
		p.Cells = next
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		c.ID, c.Kind, c.Metrics, c.PowerLaw = fmt.Sprint(c.Levels), "dns", []experiment.Metric{queries}, law
	}
	return p
}

// lawTrials carries a plan out. The function value computes values from the levels of the cell.
func lawTrials(p *experiment.Plan, value func(levels map[string]float64) float64) []journal.Trial {
	at := map[string]map[string]float64{}
	for _, c := range p.Cells {
		at[c.ID] = map[string]float64{}
		for _, l := range c.Levels {
			at[c.ID][l.Factor], _ = strconv.ParseFloat(strings.TrimSuffix(l.Value, "s"), 64)
		}
	}
	return testTrials(p, p.Rounds, func(_ int, cell, _, _ string) float64 { return value(at[cell]) })
}

func TestPowerLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	plan := lawPlan(8, "proxies=1,2", "hosts=10,50,200", "ttl=1s,2s")
	trials := lawTrials(plan, func(l map[string]float64) float64 {
		return 3 * l["proxies"] * math.Pow(l["hosts"], 0.9) / l["ttl"] * math.Exp(0.01*rng.NormFloat64())
	})
	laws := Analyze(plan, trials, nil).PowerLaws
	if len(laws) != 1 || len(laws[0].Arms) != 2 {
		t.Fatalf("%+v", laws)
	}
	l := laws[0]
	var factors []string
	for _, f := range l.Factors {
		factors = append(factors, fmt.Sprintf("%s %v %s expected %v", f.Factor, f.Levels, f.Unit, f.Expected))
	}
	if want := []string{"proxies [1 2]  expected 1", "hosts [10 50 200]  expected 1", "ttl [1 2] s expected -1"}; !slices.Equal(factors, want) {
		t.Errorf("factors %q, want %q", factors, want)
	}
	a := l.Arms[0]
	for j, want := range []float64{1, 0.9, -1} {
		e := a.Exponents[j]
		if e.Lo > want || e.Hi < want || e.Hi-e.Lo > 0.05 || e.PointOnly || e.Method == "" || e.Unexpected != (want == 0.9) {
			t.Errorf("exponent of %s: %+v, want %v", l.Factors[j].Factor, e, want)
		}
	}
	if a.Arm != "plain" || len(a.Rounds) != 8 || a.Unity.Lo > 3 || a.Unity.Hi < 3 || a.Misfit.Poor || len(l.Cells) != 12 {
		t.Errorf("%+v", a)
	}
}

// If a law does not hold, the result names the cell that is farthest from it. A factor with another
// effect shows in its exponent.
func TestPowerLawMisfit(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	plan := lawPlan(8, "hosts=10,50,200", "ttl=1s,2s,4s")
	trials := lawTrials(plan, func(l map[string]float64) float64 {
		v := l["hosts"] / l["ttl"] * math.Exp(0.005*rng.NormFloat64())
		if l["hosts"] == 200 && l["ttl"] == 1 { // that many cannot be answered in time
			v /= 2
		}
		return v
	})
	m := Analyze(plan, trials, nil).PowerLaws[0].Arms[0].Misfit
	if m.Cell != "[hosts=200 ttl=1s]" || !m.Poor || m.Off > -0.2 || m.Off < -0.5 {
		t.Errorf("%+v", m)
	}
}

// If all rounds have the same values, exponents have no intervals. Rounds that lack a cell are left
// out.
func TestPowerLawLeavesOut(t *testing.T) {
	exact := func(l map[string]float64) float64 { return l["hosts"] / l["ttl"] }
	plan := lawPlan(6, "hosts=10,50", "ttl=1s,2s")
	trials := lawTrials(plan, exact)
	for i := range trials {
		if trials[i].Round == 3 && trials[i].Arm == "plain" && trials[i].Cell == plan.Cells[0].ID {
			trials[i].Invalid = []journal.Violation{{Rule: "foreign-cpu"}}
		}
	}
	a := Analyze(plan, trials, nil).PowerLaws[0].Arms[0]
	if e := a.Exponents[0]; !slices.Equal(a.Rounds, []int{1, 2, 4, 5, 6}) || math.Abs(e.Point-1) > 1e-12 || math.Abs(a.Unity.Point-1) > 1e-12 || a.Misfit.Poor {
		t.Errorf("%+v", a)
	}
	for name, plan := range map[string]*experiment.Plan{
		"too few cells":  lawPlan(6, "hosts=10,50"),
		"no logarithm":   lawPlan(6, "hosts=0,50,100"),
		"words":          lawPlan(6, "hosts=few,some,many"),
		"no such factor": lawPlan(6, "workers=1,2,3"),
		"no cell has it": func() *experiment.Plan {
			p := lawPlan(6, "hosts=10,50,100")
			for i := range p.Cells {
				p.Cells[i].PowerLaw = nil
			}
			return p
		}(),
	} {
		if laws := Analyze(plan, lawTrials(plan, func(map[string]float64) float64 { return 7 }), nil).PowerLaws; laws != nil {
			t.Errorf("%s: %+v", name, laws)
		}
	}
	held := lawPlan(6, "path=a,b", "hosts=10,50,200")
	if laws := Analyze(held, lawTrials(held, func(l map[string]float64) float64 { return l["hosts"] }), nil).PowerLaws; len(laws) != 2 || laws[1].Held[0].Value != "b" || len(laws[1].Factors) != 1 {
		t.Errorf("laws at each level of what the law does not speak of: %+v", laws)
	}
}

// TestPowerLawCoverage simulates laws whose rounds share drift.
func TestPowerLawCoverage(t *testing.T) {
	const runs, rounds = 400, 8
	exact := 0.9609 // confidence of the signed-rank interval with eight rounds
	rng := rand.New(rand.NewPCG(17, 6))
	plan := lawPlan(rounds, "proxies=1,2,4", "hosts=10,50,200", "ttl=1s,2s")
	hits, poor := make([]int, 3), 0
	for range runs {
		drift := 0.0
		before := -1
		trials := testTrials(plan, rounds, func(round int, cell, _, _ string) float64 {
			if round != before {
				drift, before = 0.1*rng.NormFloat64(), round
			}
			var proxies, hosts, ttl float64
			fmt.Sscanf(cell, "[proxies=%f hosts=%f ttl=%fs]", &proxies, &hosts, &ttl)
			return proxies * hosts / ttl * math.Exp(drift+0.02*(rng.ExpFloat64()-rng.ExpFloat64()))
		})
		a := powerLaws(tabulate(plan, trials, validOnly))[0].Arms[0]
		for j, want := range []float64{1, 1, -1} {
			if e := a.Exponents[j]; e.Lo <= want && want <= e.Hi {
				hits[j]++
			}
		}
		if a.Misfit.Poor {
			poor++
		}
	}
	for j, n := range hits {
		share := float64(n) / runs
		if band := 4 * math.Sqrt(exact*(1-exact)/runs); math.Abs(share-exact) > band {
			t.Errorf("exponent %d is in %v of its intervals, want %v ± %.3f", j, share, exact, band)
		}
		fmt.Fprintf(t.Output(), "exponent %d: %.1f %% of %d intervals\n", j, 100*share, runs)
	}
	if share := float64(poor) / runs; share > 0.01+4*math.Sqrt(0.01*0.99/runs) {
		t.Errorf("%.1f %% of laws that hold are said to be poor", 100*share)
	}
}
