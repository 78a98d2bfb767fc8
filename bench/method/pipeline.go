package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tare/analysis"
	"tare/experiment"
	"tare/experiment/quantity"
	"tare/journal"
	"tare/stats"
)

// The design of every simulated experiment.
const (
	confidence  = 0.95
	equivalence = 0.02
	maxRounds   = 100
	metric      = "time"
)

// design is one line of a table: an experiment to be repeated many times.
type design struct {
	noise     noise
	rounds    int     // fixed, or the pilot's
	precision float64 // then as many rounds as it asks for; 0: fixed
	arms      int     // treatments, all alike
	setUps    int     // how often all arms are set up, in blocks of rounds; 0: once
	slices    int     // that each trial is cut into, the arms alternating; 0: trials are whole
	effect    float64 // true cost of an arm, as a share of the baseline
}

// tally counts what came of many repetitions of a design. Intervals are those of
// the first arm.
type tally struct {
	n             int // experiments
	rounds        int // all together
	claims        int // verdict costs or gains, of any arm
	right         int // verdict costs
	equivalent    int // verdict equivalent
	unclaimed     int // no interval is claimed to hold the truth, and the run says why
	missed        int // true effect outside the headline interval
	missedT       int // … outside the t interval beside it (Stein's after a pilot)
	missedRank    int // … outside the signed-rank interval alone, at effect 0 after a pilot
	controlFailed int // run invalid
}

func (t *tally) add(o tally) {
	t.n += o.n
	t.rounds += o.rounds
	t.claims += o.claims
	t.right += o.right
	t.equivalent += o.equivalent
	t.unclaimed += o.unclaimed
	t.missed += o.missed
	t.missedT += o.missedT
	t.missedRank += o.missedRank
	t.controlFailed += o.controlFailed
}

// laboratory repeats a design. It goes the way of the real thing: the plan's own
// random order, trials as the journal holds them, analysis.NeededRounds after a
// pilot, analysis.Judge for the verdict.
type laboratory struct {
	design
	rng    *rand.Rand
	plan   experiment.Plan
	trials []journal.Trial
	clock  *clock
	drawn  []float64 // what the present set-up drew, by arm
}

func newLaboratory(d design, rng *rand.Rand) *laboratory {
	l := &laboratory{design: d, rng: rng}
	l.plan = experiment.Plan{
		Rounds: d.rounds, MaxRounds: maxRounds, Confidence: confidence, Equivalence: equivalence, Power: 0.8, Attempts: 1,
		Arms: []experiment.PlannedArm{
			{Name: "baseline", Role: experiment.Baseline},
			{Name: experiment.ControlName, Role: experiment.Control},
		},
		Cells: []experiment.Cell{{ID: "cell", Metrics: []experiment.Metric{
			{Name: metric, Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio},
		}}},
	}
	for i := range d.arms {
		l.plan.Arms = append(l.plan.Arms, experiment.PlannedArm{Name: fmt.Sprintf("layer-%d", i+1), Role: experiment.Treatment})
	}
	l.plan.Precision = quantity.Percent(d.precision)
	return l
}

// repeat carries the experiment out that many times.
func (l *laboratory) repeat(times int) (tally, error) {
	var sum tally
	for range times {
		one, err := l.once()
		if err != nil {
			return sum, err
		}
		sum.add(one)
	}
	return sum, nil
}

func (l *laboratory) once() (tally, error) {
	l.plan.Seed = l.rng.Uint64()
	l.trials = l.trials[:0]
	l.clock = l.noise.start(l.rng, l.rounds*len(l.plan.Arms), max(l.slices, 1))
	l.drawn = make([]float64, len(l.plan.Arms))
	l.carryOut(1, l.rounds)
	total := l.rounds
	if l.precision > 0 {
		var err error
		if total, err = analysis.NeededRounds(&l.plan, l.trials); err != nil {
			return tally{}, err
		}
		l.carryOut(l.rounds+1, total)
	}
	return l.count(analysis.Judge(&l.plan, l.trials), total), nil
}

// carryOut runs the rounds from first to last.
func (l *laboratory) carryOut(first, last int) {
	for round := first; round <= last; round++ {
		setUp := 1 + (round-1)*max(l.setUps, 1)/l.rounds
		if round == 1 || setUp != 1+(round-2)*max(l.setUps, 1)/l.rounds {
			for a := range l.drawn {
				l.drawn[a] = l.noise.setUp * l.rng.NormFloat64()
			}
		}
		order := l.plan.Order(round)
		ran := l.round(order)
		for position, step := range order {
			arm := l.plan.Arms[step.Arm]
			x := ran[step.Arm] + l.drawn[step.Arm]
			if arm.Role == experiment.Treatment {
				x += math.Log1p(l.effect)
				if l.noise.stall > 0 && l.rng.Float64() < l.noise.stall {
					x += math.Log(stallFactor)
				}
			}
			if position == 0 {
				x += math.Log1p(l.noise.first)
			}
			value := 100 * math.Exp(x)
			if l.noise.grid > 0 {
				value = 100 * l.noise.grid * math.Round(value/(100*l.noise.grid))
			}
			l.record(journal.Trial{Round: round, Attempt: 1, Position: position + 1, SetUp: setUp, Session: 1, Cell: "cell", Arm: arm.Name}, value)
		}
	}
}

// round gives the logarithm of how slow each arm's trial was. Slices go forwards through
// the arms and backwards, in turn.
func (l *laboratory) round(order []experiment.Step) []float64 {
	ran := make([]float64, len(l.plan.Arms))
	slices := max(l.slices, 1)
	for i := range slices {
		for k := range order {
			at := k
			if i%2 == 1 {
				at = len(order) - 1 - k
			}
			ran[order[at].Arm] += l.clock.next() / float64(slices)
		}
	}
	return ran
}

// record appends a trial, in the memory of an earlier experiment's if it can.
func (l *laboratory) record(t journal.Trial, value float64) {
	n := len(l.trials)
	if n < cap(l.trials) {
		t.Values = l.trials[:n+1][n].Values
	}
	if t.Values == nil {
		t.Values = map[string]float64{}
	}
	t.Values[metric] = value
	l.trials = append(l.trials, t)
}

func (l *laboratory) count(run *analysis.Run, rounds int) tally {
	c := run.Comparisons[0]
	t := tally{n: 1, rounds: rounds}
	t.claims = one(slices.ContainsFunc(run.Comparisons, func(c analysis.Comparison) bool {
		return c.Verdict == analysis.Costs || c.Verdict == analysis.Gains
	}))
	t.right = one(c.Verdict == analysis.Costs)
	t.equivalent = one(c.Verdict == analysis.Equivalent)
	t.controlFailed = one(!run.Valid)
	t.missed = one(!holds(c.Overhead, l.effect))
	t.missedT = one(!holds(c.T, l.effect))
	if l.precision > 0 && l.effect == 0 {
		t.missedRank = one(!l.rankHolds(rounds))
	}
	return t
}

// rankHolds says whether the signed-rank interval alone holds the true effect.
func (l *laboratory) rankHolds(rounds int) bool {
	d := make([]float64, rounds)
	for i := range l.trials {
		switch t := &l.trials[i]; t.Arm {
		case l.plan.Arms[0].Name:
			d[t.Round-1] -= math.Log(t.Values[metric])
		case l.plan.Arms[2].Name:
			d[t.Round-1] += math.Log(t.Values[metric])
		}
	}
	e, err := stats.SignedRank(d, confidence)
	return err == nil && e.Contains(math.Log1p(l.effect))
}

func holds(i analysis.Interval, v float64) bool { return i.Lo <= v && v <= i.Hi }

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
