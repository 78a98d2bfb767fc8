package gate

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
	"tare/internal/test/slow"
)

var experiments = flag.Int("experiments", 300, "experiments per row of TestErrorRates; docs/pipeline.md has the figures of 20000")

// TestErrorRates simulates many experiments whose true overhead is known, with log-normal noise of
// 2 % and drift, judges them with Run, and counts outcomes. A gate must not fail for budgets that
// are kept exactly, must not pass for budgets that are exceeded at all, and must pass or fail if
// the true overhead is far from the limit. With -v it prints the table of docs/pipeline.md.
func TestErrorRates(t *testing.T) {
	slow.Test(t)
	const most = 0.025
	table := "| true overheads, limit and rounds | pass | fail | unresolved | no verdicts |\n|---|--:|--:|--:|--:|\n"
	for i, c := range []struct {
		name   string
		rounds int
		pilot  bool
		budget string
		truth  []float64 // true overheads of the arms, each of which has the budget
		// Bounds on the true rates.
		pass, fail, atLeastPass, atLeastFail float64
	}{
		{"overhead at the limit of 10 %, 12 rounds", 12, false, "10%", same(0.1, 1), most, most, 0, 0},
		{"overhead at the limit of 10 %, 6 rounds", 6, false, "10%", same(0.1, 1), most, most, 0, 0},
		{"overhead at the limit of 10 %, 30 rounds", 30, false, "10%", same(0.1, 1), most, most, 0, 0},
		{"overhead at the limit of 10 %, pilot of 8, precision 1.5 %", 8, true, "10%", same(0.1, 1), most, most, 0, 0},
		{"difference at the limit of 10 ms, 12 rounds", 12, false, "10ms", same(0.1, 1), most, most, 0, 0},
		{"twenty overheads at their limits, 12 rounds", 12, false, "10%", same(0.1, 20), most, most, 0, 0},
		{"twenty, one over its limit by 0.01 %, the others far below", 12, false, "10%", append(same(0, 19), 0.1001), most, 1, 0, 0},
		{"overhead 2 %, limit 10 %, 12 rounds", 12, false, "10%", same(0.02, 1), 1, most, 0.99, 0},
		{"overhead 20 %, limit 10 %, 12 rounds", 12, false, "10%", same(0.2, 1), most, 1, 0, 0.99},
		{"twenty overheads of 2 %, limit 10 %, 12 rounds", 12, false, "10%", same(0.02, 20), 1, most, 0.99, 0},
		{"twenty overheads of 20 %, limit 10 %, 12 rounds", 12, false, "10%", same(0.2, 20), most, 1, 0, 0.99},
	} {
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		count := map[Outcome]float64{}
		for range *experiments {
			count[once(t, rng, c.rounds, c.pilot, c.budget, c.truth)]++
		}
		n := float64(*experiments) - count[Invalid]
		pass, fail := count[Pass]/n, count[Fail]/n
		table += fmt.Sprintf("| %s | %.2f %% | %.2f %% | %.2f %% | %.2f %% |\n", c.name, 100*pass, 100*fail, 100*count[Unresolved]/n,
			100*count[Invalid]/float64(*experiments))
		if pass > chance(c.pass, n) || fail > chance(c.fail, n) || pass < 1-chance(1-c.atLeastPass, n) || fail < 1-chance(1-c.atLeastFail, n) {
			t.Errorf("%s: %.2f %% pass and %.2f %% fail", c.name, 100*pass, 100*fail)
		}
		if chance(0.05, float64(*experiments)) < count[Invalid]/float64(*experiments) {
			t.Errorf("%s: %.0f of %d runs give no verdicts", c.name, count[Invalid], *experiments)
		}
	}
	t.Log("\n" + table)
}

func same(v float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// chance returns a share of n experiments for an event with a given rate that only one in ten
// thousand simulations exceeds.
func chance(rate, n float64) float64 {
	if rate <= 0 || rate >= 1 {
		return rate
	}
	return (distuv.Binomial{N: n, P: rate}.Mean() + distuv.UnitNormal.Quantile(1-1e-4)*math.Sqrt(n*rate*(1-rate)) + 1) / n
}

// once simulates one experiment: values of 100 ms, which drift by 10 %.
func once(t *testing.T, rng *rand.Rand, rounds int, pilot bool, budget string, truth []float64) Outcome {
	var names []string
	effect := map[string]float64{}
	for i, v := range truth {
		name := fmt.Sprintf("layer-%d", i)
		names, effect[name] = append(names, name), v
	}
	p := planOf(rounds, []experiment.Metric{latency}, names...)
	p.Seed = rng.Uint64()
	p.Budget = experiment.Budget{"latency": limit(budget)}
	additive := p.Budget["latency"].Unit != "%"
	value := func(round int, arm, _ string) float64 {
		level := 0.1 * (1 + 0.1*math.Sin(float64(round)))
		if additive {
			return level + 0.1*effect[arm] + 0.002*rng.NormFloat64()
		}
		return level * (1 + effect[arm]) * math.Exp(0.02*rng.NormFloat64())
	}
	if pilot {
		p.Precision, p.MaxRounds = quantity.Percent(0.015), 100
	}
	trials := trialsOf(p, rounds, value)
	if pilot {
		total, err := analysis.NeededRounds(p, trials)
		if err != nil {
			t.Fatal(err)
		}
		trials = trialsOf(p, total, replay(trials, value))
	}
	run := analysis.Judge(p, trials)
	r, err := Run(run, trials, LimitsOf(p), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Outcome
}

// replay returns the values of the pilot again, and new ones after it.
func replay(pilot []journal.Trial, value func(int, string, string) float64) func(int, string, string) float64 {
	type place struct {
		round int
		arm   string
	}
	known := map[place]float64{}
	for i := range pilot {
		known[place{pilot[i].Round, pilot[i].Arm}] = pilot[i].Values["latency"]
	}
	return func(round int, arm, metric string) float64 {
		if v, ok := known[place{round, arm}]; ok {
			return v
		}
		return value(round, arm, metric)
	}
}
