package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
	"tare/internal/workload"
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
	rounds    int        // fixed, or the pilot's
	precision float64    // then as many rounds as it asks for; 0: fixed
	arms      int        // treatments, all alike
	setUps    int        // how often all arms are set up, in blocks of rounds; 0: once
	slices    int        // that each trial is cut into, the arms alternating; 0: trials are whole
	counts    bool       // the metric is a count, Poisson; else a time
	count     float64    // what the baseline counts in a trial, on average
	search    *searching // the metric is a capacity that trials search; nil: it is not
	decided   bool       // the run looks on the way, and stops when it is decided
	always    bool       // the control takes part in every round of a single arm, too
	mixed     bool       // every second arm differs in nothing
	half      bool       // claims of a difference and of equivalence have half of the error each
	tails     bool       // stalls and means are looked at as well
	effect    float64    // true cost of an arm, as a share of the baseline; of counts, in their unit
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
	truth  float64   // logarithm of the baseline's capacity
	before *float64  // error of the level in the run before, if that was the first of a pair
	drawn  []float64 // what the present set-up drew, by arm
	broken []bool    // whether every trial of the present set-up fails, by arm
	offset float64   // of the nominal value from the grid, in steps
	rare   int       // trials of the treatments that stalled or failed, or of the baseline that are missing
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
	if d.noise.busy > 0 {
		l.plan.Attempts, l.plan.Cells[0].Metrics[0].Headline = 3, false // else Analyze draws for each how many rounds it would take
	}
	if d.counts {
		m := &l.plan.Cells[0].Metrics[0]
		m.Unit, m.Scale = "1", experiment.Difference
	}
	if d.search != nil {
		m := &l.plan.Cells[0].Metrics[0]
		m.Unit, m.Better = "1/s", experiment.Higher
	}
	for i := range d.arms {
		l.plan.Arms = append(l.plan.Arms, experiment.PlannedArm{Name: fmt.Sprintf("layer-%d", i+1), Role: experiment.Treatment})
	}
	if !d.always {
		l.plan.SpareControl()
	}
	if d.half {
		l.plan.Confidence = (1 + confidence) / 2
	}
	l.plan.Precision = quantity.Percent(d.precision)
	if d.decided {
		l.plan.DecideAt = experiment.UsualLooks(d.rounds)
	}
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
	l.trials, l.rare = l.trials[:0], 0
	l.clock = l.noise.start(l.rng, l.rounds*len(l.plan.Arms), max(l.slices, 1))
	l.drawn, l.broken = make([]float64, len(l.plan.Arms)), make([]bool, len(l.plan.Arms))
	if l.noise.grid > 0 {
		l.offset = l.rng.Float64()
	}
	if l.search != nil && l.before == nil {
		l.truth = math.Log(near) + math.Log(16)*(l.rng.Float64()-0.5)
	}
	l.plan.Decided = 0
	total := 0
	for _, look := range append(l.plan.LooksBefore(l.rounds), l.rounds) {
		l.carryOut(total+1, look)
		total = look
		if look < l.rounds && analysis.Decided(&l.plan, l.trials, look) {
			l.plan.Decided = look
			break
		}
	}
	if l.precision > 0 {
		var err error
		if total, err = analysis.NeededRounds(&l.plan, l.trials); err != nil {
			return tally{}, err
		}
		l.carryOut(l.rounds+1, total)
	}
	if l.noise.busy > 0 {
		return l.tally(analysis.Analyze(&l.plan, l.trials, nil), total), nil
	}
	if l.tails {
		return l.tally(analysis.JudgeTails(&l.plan, l.trials), total), nil
	}
	return l.tally(analysis.Judge(&l.plan, l.trials), total), nil
}

// carryOut runs the rounds from first to last.
func (l *laboratory) carryOut(first, last int) {
	for round := first; round <= last; round++ {
		setUp := l.setUpOf(round)
		if round == 1 || setUp != l.setUpOf(round-1) {
			for a := range l.drawn {
				l.drawn[a] = l.noise.setUp * l.rng.NormFloat64()
				l.broken[a] = l.noise.broken > 0 && l.rng.Float64() < l.noise.broken
			}
		}
		order := l.plan.Order(round)
		ran := l.round(order)
		for position, step := range order {
			arm := l.plan.Arms[step.Arm]
			trial := journal.Trial{Round: round, Attempt: 1, Position: position + 1, SetUp: setUp, Session: 1, Cell: "cell", Arm: arm.Name}
			treated := arm.Role == experiment.Treatment
			if l.counts {
				l.record(trial, l.counted(treated))
				continue
			}
			if l.search != nil {
				l.record(trial, l.searched(round, step, treated))
				continue
			}
			x := ran[step.Arm] + l.drawn[step.Arm]
			if position == 0 {
				x += math.Log1p(l.noise.first)
			}
			for treated && trial.Attempt < l.plan.Attempts && l.noise.busy > 0 && x > l.noise.sd*distuv.UnitNormal.Quantile(1-l.noise.busy) {
				l.spoil(trial)
				trial.Attempt++
				x = l.clock.next(1)
			}
			if l.broken[step.Arm] {
				l.fail(trial, workload.RuleExit, treated)
				continue
			}
			if treated {
				x += math.Log1p(l.effectOf(step.Arm))
			}
			l.run(trial, x, treated)
		}
	}
}

// setUpOf is the number of the set-up that serves a round.
func (l *laboratory) setUpOf(round int) int {
	if l.setUps == 0 {
		return 1 // also after a pilot
	}
	return 1 + (round-1)*l.setUps/l.rounds
}

// effectOf is the true cost of an arm.
func (l *laboratory) effectOf(arm int) float64 {
	if l.mixed && arm%2 == 1 {
		return 0
	}
	return l.effect
}

// run carries out one trial. x is the logarithm of its time without stalls, relative to the nominal time.
func (l *laboratory) run(trial journal.Trial, x float64, treated bool) {
	stall, fails := l.noise.stallOthers, l.noise.fails
	if treated {
		stall, fails = l.noise.stall, l.noise.armFails
	}
	if stall > 0 && l.rng.Float64() < stall {
		x += math.Log(l.noise.stallTimes)
		l.rare += one(treated)
	}
	value := 100 * math.Exp(x)
	if l.noise.grid > 0 {
		value = 100 * l.noise.grid * math.Round(value*(1+l.offset*l.noise.grid)/(100*l.noise.grid))
	}
	switch {
	case fails > 0 && l.rng.Float64() < fails:
		l.fail(trial, workload.RuleExit, treated)
	case l.noise.limit > 0 && value > 100*(1+l.noise.limit):
		l.fail(trial, workload.RuleTimeout, treated)
	case l.noise.absence.takes(x/l.noise.sd, treated, l.rng):
		l.fail(trial, workload.RuleTimeout, treated)
	default:
		l.record(trial, value)
	}
}

// spoil appends a trial that met foreign load.
func (l *laboratory) spoil(t journal.Trial) {
	t.Invalid = []journal.Violation{{Rule: workload.RuleForeignCPU}}
	l.trials = append(l.trials, t)
}

// fail appends a trial in which the program failed.
func (l *laboratory) fail(t journal.Trial, rule string, treated bool) {
	l.rare += one(treated || (l.noise.absence.share > 0 || l.noise.broken > 0) && t.Arm != experiment.ControlName)
	t.Invalid = []journal.Violation{{Rule: rule}}
	l.trials = append(l.trials, t)
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
			times := 1.
			switch role := l.plan.Arms[order[at].Arm].Role; {
			case role == experiment.Treatment && l.noise.noisier > 0:
				times = l.noise.noisier
			case role == experiment.Control && l.noise.uneasy > 0:
				times = l.noise.uneasy
			}
			ran[order[at].Arm] += l.clock.next(times) / float64(slices)
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
