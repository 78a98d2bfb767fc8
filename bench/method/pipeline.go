package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/analysis"
	"tare/experiment"
	"tare/experiment/quantity"
	"tare/journal"
	"tare/stats"
	"tare/workload"
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

// tally counts what came of many repetitions of a design. Intervals are those of
// the first arm.
type tally struct {
	n               int // experiments
	rounds          int // all together
	trials          int // all together
	claims          int // verdict costs or gains, of any arm
	right           int // verdict costs
	gains           int // verdict gains
	fails           int // verdict fails
	equivalent      int // verdict equivalent
	wrong           int // a verdict is false
	claimMissed     int // true effect outside the headline interval, and there is a verdict
	missed          int // true effect outside the headline interval
	missedT         int // … outside the t interval beside it (Stein's after a pilot)
	missedRank      int // … outside the interval by ranks alone, at effect 0 after a pilot
	controlFailed   int // run invalid
	blind           blindTally
	stallsFound     int            // difference in how often trials stall
	repeatsFound    int            // difference in how often trials were repeated
	meanMissed      int            // true cost of the mean outside its interval
	off, offSquares float64        // sum of what the estimate is off by, and of its squares
	levels          levels         // of capacities
	reasons         map[string]int // of no verdict, by kind
}

func (t *tally) add(o tally) {
	t.n += o.n
	t.rounds += o.rounds
	t.trials += o.trials
	t.claims += o.claims
	t.right += o.right
	t.gains += o.gains
	t.fails += o.fails
	t.equivalent += o.equivalent
	t.wrong += o.wrong
	t.claimMissed += o.claimMissed
	t.missed += o.missed
	t.missedT += o.missedT
	t.missedRank += o.missedRank
	t.controlFailed += o.controlFailed
	t.blind.add(o.blind)
	t.stallsFound += o.stallsFound
	t.repeatsFound += o.repeatsFound
	t.meanMissed += o.meanMissed
	t.off, t.offSquares = t.off+o.off, t.offSquares+o.offSquares
	t.levels.first, t.levels.second = append(t.levels.first, o.levels.first...), append(t.levels.second, o.levels.second...)
	for kind, n := range o.reasons {
		if t.reasons == nil {
			t.reasons = map[string]int{}
		}
		t.reasons[kind] += n
	}
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

// run carries out one trial, of which the logarithm of how slow it is, but for stalls, is given.
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

// tally counts what came of one experiment.
func (l *laboratory) tally(run *analysis.Run, rounds int) tally {
	c := run.Comparisons[0]
	t := tally{n: 1, rounds: rounds, trials: len(l.trials)}
	t.claims = one(slices.ContainsFunc(run.Comparisons, func(c analysis.Comparison) bool {
		return c.Verdict == analysis.Costs || c.Verdict == analysis.Gains
	}))
	t.repeatsFound = one(slices.ContainsFunc(run.Warnings, func(w analysis.Warning) bool { return w.Finding.Kind() == analysis.MoreRepeats{}.Kind() }))
	t.right = one(c.Verdict == analysis.Costs)
	t.gains = one(c.Verdict == analysis.Gains)
	t.equivalent = one(c.Verdict == analysis.Equivalent)
	t.controlFailed = one(!run.Valid)
	t.missed = one(!holds(c.Overhead, l.effect))
	t.missedT = one(!holds(c.T, l.effect))
	failures := analysis.NotResolved
	if f := run.FailuresOf(c.Cell, c.Arm); f != nil {
		failures = f.Verdict
	}
	t.fails = one(failures == analysis.Fails)
	t.wrong = one(l.untrue(c.Verdict) || l.untrueOfFailures(failures))
	if l.mixed {
		t.wrong = one(slices.ContainsFunc(run.Comparisons, func(c analysis.Comparison) bool {
			nothing := l.effectOf(slices.IndexFunc(l.plan.Arms, func(a experiment.PlannedArm) bool { return a.Name == c.Arm })) == 0
			return nothing && (c.Verdict == analysis.Costs || c.Verdict == analysis.Gains) || !nothing && l.untrue(c.Verdict)
		}))
	}
	t.claimMissed = one(c.Verdict.Claims() && t.missed > 0)
	if l.tails {
		t.stallsFound = one(slices.ContainsFunc(c.Warnings, func(f analysis.Finding) bool { return f.Kind() == analysis.Stalling{}.Kind() }))
		t.meanMissed = one(c.Mean == nil || !holds(*c.Mean, l.meanCost()))
	}
	if l.search != nil {
		t.off = c.Overhead.Point - l.effect
		t.offSquares = t.off * t.off
		if level := l.level(); l.before == nil {
			l.before = &level
		} else {
			t.levels, l.before = levels{[]float64{*l.before}, []float64{level}}, nil
		}
	}
	if l.noise.rare() && l.rare == 0 {
		t.blind = blindTally{n: 1, equivalent: t.equivalent, wrong: t.wrong, meanMissed: t.meanMissed}
	}
	if c.Verdict == analysis.NotResolved && c.Reason != nil {
		t.reasons = map[string]int{c.Reason.Kind(): 1}
	}
	if l.precision > 0 && l.effect == 0 {
		t.missedRank = one(!l.rankHolds(rounds))
	}
	return t
}

// rankHolds says whether the interval by ranks alone holds the true effect.
func (l *laboratory) rankHolds(rounds int) bool {
	logs := make([][3]float64, rounds)
	for i := range l.trials {
		t := &l.trials[i]
		arm := slices.IndexFunc(l.plan.Arms, func(a experiment.PlannedArm) bool { return a.Name == t.Arm })
		logs[t.Round-1][arm] = math.Log(t.Values[metric])
	}
	r := stats.AlignedRounds{Contrasts: make([]float64, rounds), Apart: make([]float64, rounds)}
	for i, x := range logs {
		r.Contrasts[i], r.Apart[i] = x[2]-(x[0]+x[1])/2, (x[1]-x[0])/2
		if !l.plan.TakesPart(1, i+1) {
			r.Contrasts[i], r.Apart[i] = x[2]-x[0], math.NaN()
		}
	}
	e, err := stats.AlignedRank(r, confidence)
	return err == nil && e.Contains(math.Log1p(l.effect))
}

// untrue says whether a verdict on the metric is false. An arm on the margin of equivalence
// is not within it, nor is one whose mean is not, or that fails more often than the baseline.
func (l *laboratory) untrue(v analysis.Verdict) bool {
	switch v {
	case analysis.Costs:
		return l.effect <= 0 && l.meanCost() <= 0
	case analysis.Gains:
		return l.effect >= 0
	case analysis.Equivalent:
		return math.Abs(l.effect) >= equivalence || l.meanCost() >= equivalence || l.failsMore()
	}
	return false
}

// untrueOfFailures says whether a verdict on how often the program fails is false.
func (l *laboratory) untrueOfFailures(v analysis.Verdict) bool {
	return v == analysis.Fails && !l.failsMore() || v == analysis.Gains && l.noise.absence.share == 0
}

// failsMore says whether the treatments fail more often than the baseline, in truth.
func (l *laboratory) failsMore() bool {
	a := l.noise.absence
	return l.noise.armFails > l.noise.fails || l.noise.limit > 0 && l.effect > 0 || a.in == inArm || a.in == inAll && a.because == "slow" && l.effect > 0
}

func holds(i analysis.Interval, v float64) bool { return i.Lo <= v && v <= i.Hi }

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
