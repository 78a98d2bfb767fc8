package main

import (
	"math"
	"slices"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// tally counts the results of many repetitions of a design. Intervals are those of
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
	r := stats.AlignedRounds{Contrasts: make([]float64, rounds), OthersDelta: make([]float64, rounds)}
	for i, x := range logs {
		r.Contrasts[i], r.OthersDelta[i] = x[2]-(x[0]+x[1])/2, (x[1]-x[0])/2
		if !l.plan.TakesPart(1, i+1) {
			r.Contrasts[i], r.OthersDelta[i] = x[2]-x[0], math.NaN()
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
