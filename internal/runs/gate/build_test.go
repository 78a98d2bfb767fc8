package gate

import (
	"math"
	"math/rand/v2"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
)

var (
	latency    = experiment.Metric{Name: "latency", Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio}
	throughput = experiment.Metric{Name: "throughput", Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio}
	retries    = experiment.Metric{Name: "retries", Better: experiment.Lower, Scale: experiment.Difference}
)

// planOf returns a plan with a baseline, a control and the named treatments over one cell.
func planOf(rounds int, metrics []experiment.Metric, treatments ...string) *experiment.Plan {
	p := &experiment.Plan{
		Schema: experiment.PlanSchema, Name: "test", Seed: 7, Rounds: rounds, Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 1,
		Arms:  []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}, {Name: "control", Role: experiment.Control}},
		Cells: []experiment.Cell{{ID: "network", Workload: "network", Kind: "network", Metrics: metrics}},
	}
	for _, name := range treatments {
		p.Arms = append(p.Arms, experiment.PlannedArm{Name: name, Role: experiment.Treatment})
	}
	return p
}

var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// trialsOf carries a plan out. The function value returns a metric's value in a round.
func trialsOf(p *experiment.Plan, rounds int, value func(round int, arm, metric string) float64) []journal.Trial {
	var trials []journal.Trial
	for round := 1; round <= rounds; round++ {
		for i, step := range p.Order(round) {
			cell, arm := p.Cells[step.Cell], p.Arms[step.Arm]
			t := journal.Trial{
				Seq: len(trials) + 1, Session: 1, Round: round, Attempt: 1, Position: i%len(p.Arms) + 1,
				Cell: cell.ID, Arm: arm.Name, Values: map[string]float64{},
				Start: began.Add(time.Duration(len(trials)) * 4 * time.Second), Wall: 3 * time.Second,
			}
			for _, m := range cell.Metrics {
				t.Values[m.Name] = value(round, arm.Name, m.Name)
			}
			trials = append(trials, t)
		}
	}
	return trials
}

// noisy returns values around 100 with log-normal noise, times the arm's factor.
func noisy(seed uint64, sd float64, factors map[string]float64) func(int, string, string) float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(_ int, arm, metric string) float64 {
		f, ok := factors[arm+" "+metric]
		if !ok {
			f, ok = factors[arm]
		}
		if !ok {
			f = 1
		}
		return 100 * f * math.Exp(sd*rng.NormFloat64())
	}
}

// exactly returns values with a small spread that is the same in every arm.
func exactly(factors map[string]float64) func(int, string, string) float64 {
	return func(round int, arm, metric string) float64 {
		f, ok := factors[arm+" "+metric]
		if !ok {
			f, ok = factors[arm]
		}
		if !ok {
			f = 1
		}
		return 100 * f * (1 + float64(round*round%7)/1e4) * (1 + float64((round*len(arm))%5)/1e5)
	}
}

func limit(text string) quantity.Limit {
	var l quantity.Limit
	if err := l.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return l
}

// judged returns the result of a plan's gate, with limits added by the command line.
func judged(p *experiment.Plan, trials []journal.Trial, o Options, added ...string) (*Result, error) {
	limits := LimitsOf(p)
	for _, text := range added {
		if err := limits.Add(text); err != nil {
			return nil, err
		}
	}
	return Run(analysis.Analyze(p, trials, nil), trials, limits, o)
}

// sweptPlan returns a plan with an arm at two levels.
func sweptPlan() *experiment.Plan {
	p := planOf(12, []experiment.Metric{latency}, "seccomp[rules=1]", "seccomp[rules=8]", "mtls")
	for i, value := range []string{"1", "8"} {
		p.Arms[2+i].Levels = []factor.Level{{Factor: "rules", Value: value}}
	}
	return p
}
