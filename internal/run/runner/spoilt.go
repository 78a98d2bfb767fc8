package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"tare/internal/experiment"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// repeats reports whether a trial must be repeated. One broken rule that asks for a repeat is enough, since the trial's
// other violations may have the same cause.
func repeats(t *journal.Trial, cpuLimited bool) bool {
	return slices.ContainsFunc(t.Invalid, func(v journal.Violation) bool { return workload.Repeated(v.Rule, cpuLimited) })
}

// spoiltByMachine reports whether the machine's condition spoilt a trial.
func spoiltByMachine(t *journal.Trial, cpuLimited bool) bool {
	return slices.ContainsFunc(t.Invalid, func(v journal.Violation) bool { return workload.OfMachine(v.Rule, cpuLimited) })
}

func (r *run) cpuLimited() bool { return r.Expansion.Cells[0].Testbed.LimitsCPU() }

// NoDataError is the error that further rounds of an arm would give no data.
type NoDataError struct {
	Arm, Cell  string
	Trials     int
	Last       journal.Violation
	CPULimited bool // set if programs ran under limits on CPU time
	Sliceable  bool // set if the trials could have been cut into slices, and were not
	Failed     bool // set if the program itself fails in the baseline
	Blind      bool // set if no spoilt trial broke the rule `late`, which may depend on measured values
}

// Environment reports whether the last violation was due to the machine's condition. The run may continue when this
// condition has passed.
func (e *NoDataError) Environment() bool { return workload.OfMachine(e.Last.Rule, e.CPULimited) }

// CPULimit reports whether a limit on CPU time, such as a pod's, throttled the programs. Waiting for a quiet machine
// does not help then.
func (e *NoDataError) CPULimit() bool { return e.Last.Rule == workload.RuleThrottled && e.CPULimited }

// Error names the arm, the cell and the rule.
func (e *NoDataError) Error() string {
	if e.Failed {
		return fmt.Sprintf("there is nothing to compare with: arm %s, which has no layer under test, has given no valid trial of %s: %d of %d failed, the last one %s: %s", e.Arm, e.Cell, e.Trials, e.Trials, e.Last.Rule, e.Last.Detail)
	}
	return fmt.Sprintf("arm %s has given no valid trial of %s in two rounds: %d of %d broke a rule, the last one %s: %s", e.Arm, e.Cell, e.Trials, e.Trials, e.Last.Rule, e.Last.Detail)
}

// dropSpoilt leaves an arm out if, in one cell, all its trials of this round and the previous one were spoilt, for
// example by failed proofs or a lost site. If the machine was too busy, the run waits instead, and ends if the machine
// stays busy. A program that fails spoils no trial, since the failure is a result. Failures of earlier sessions do not
// count.
func (r *run) dropSpoilt(ctx context.Context, round int) error {
	trials := r.Journal.Trials()
	for c, cell := range r.plan.Cells {
		for a, arm := range r.plan.Arms {
			e := &NoDataError{Arm: arm.Name, Cell: cell.ID, CPULimited: r.cpuLimited(), Blind: true}
			before, useful := false, false // before: a trial ran in the previous round; useful: some trial was not spoilt
			for i := len(trials) - 1; i >= 0 && trials[i].Round >= round-1; i-- {
				t := &trials[i]
				if t.Session != r.Journal.Session() || t.Arm != arm.Name || t.Cell != cell.ID {
					continue
				}
				v, spoilt := r.spoilingRule(t)
				if e.Trials++; e.Trials == 1 {
					e.Last = v
				}
				e.Blind = e.Blind && workload.IndependentOfValues(v.Rule)
				before, useful = before || t.Round == round-1, useful || !spoilt
			}
			if !before || useful || r.dropped[a] {
				continue
			}
			if e.Environment() {
				e.Sliceable = cell.Slices == 0 && r.Expansion.Cells[c].Workload.Measures().Slice != nil
				quiet, waited, err := r.waitForQuiet(ctx, r.sites.cells[c][a], e.Last)
				switch {
				case err != nil:
					return err
				case !quiet:
					return e
				case waited || workload.IndependentOfValues(e.Last.Rule):
					return nil
				} // the load generator is late although the machine is quiet, so the arm itself is to blame
			}
			if err := r.drop(ctx, a, round+1, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// endEarly ends a run successfully if the machine is too busy for more rounds, and the rounds so far are enough for a
// claim. The last two rounds do not count, since the machine spoilt all trials of an arm in them. The decision does not
// depend on measured values, so tests stay as valid as with a planned number of rounds.
func (r *run) endEarly(round int, why error) error {
	e, is := errors.AsType[*NoDataError](why)
	n := round - 2
	if !is || !e.Environment() || !e.Blind || r.plan.Precision > 0 || n < 1 {
		return why
	}
	units := n - r.costRounds(n)
	if every, fixed := r.Journal.SetUps(); fixed && every > 1 {
		units /= every
	}
	if units < max(r.Fewest, 2) {
		return why
	}
	if err := r.Journal.End(n, "the machine was too busy for the rest ("+e.Last.Detail+")"); err != nil {
		return err
	}
	r.Events(EndedEarly{Rounds: n, Of: r.plan.Planned(), Why: e.Last})
	return nil
}

// waitForQuiet checks the machine again and again. It ends when the machine is within the limits (quiet is true), or
// when the run's patience is used up. The result waited is true if more than one check was made.
func (r *run) waitForQuiet(ctx context.Context, p *armSite, why journal.Violation) (quiet, waited bool, err error) {
	for ; r.Patience > 0; waited = true {
		r.Events(Waiting{Left: r.Patience, Why: why.Detail, First: !waited})
		seen, err := r.watch(ctx, ctx, p, func(ctx context.Context) error { return testbed.Pause(ctx, r.Pause) })
		if err != nil {
			return false, waited, ctx.Err() // quiet is false, since the site cannot be checked
		}
		r.Patience -= r.Pause
		r.skip() // the wait does not count as time of Tare itself
		var look journal.Trial
		if conditions(&look, seen.sample.Conditions, r.plan.Limits, ""); look.Valid() {
			return true, waited, nil
		}
		why = look.Invalid[0]
	}
	return false, waited, nil
}

// spoilingRule returns the broken rule that spoils a trial. A spoilt trial is neither data nor a failure of its arm. If
// several rules are broken, one about the machine's condition is preferred.
func (r *run) spoilingRule(t *journal.Trial) (rule journal.Violation, spoilt bool) {
	for _, v := range t.Invalid {
		if workload.OfMachine(v.Rule, r.cpuLimited()) && workload.IndependentOfValues(v.Rule) {
			return v, true
		}
		if !spoilt && (v.Rule == workload.RuleLost || workload.Repeated(v.Rule, r.cpuLimited())) {
			rule, spoilt = v, true
		}
	}
	return rule, spoilt
}

// The run ends after this many failed trials of the baseline and its control. A program that fails at random must not
// end it: at a failure rate of 30 %, six trials in a row fail once in 1,400 times, and twelve once in two million.
const (
	failedFromStart = 6 // number of failed trials that ends a run if no trial has succeeded
	failedInARow    = 12
)

// checkBaseline returns an error if arms have nothing to be compared with in some cell. There are two cases: no trial
// of baseline and control has succeeded since the run began, or their last failedInARow trials have failed. A run that
// is too short for failedFromStart trials gets the first error at its end.
func (r *run) checkBaseline() error {
	trials := r.Journal.Trials()
	references := slices.DeleteFunc(slices.Clone(r.plan.Arms), func(arm experiment.PlannedArm) bool { return arm.Role == experiment.Treatment })
	fromStart := min(failedFromStart, len(references)*r.plan.Total())
	for _, cell := range r.plan.Cells {
		e, ever := &NoDataError{Cell: cell.ID, CPULimited: r.cpuLimited(), Failed: true}, false
		for i := len(trials) - 1; i >= 0 && !ever; i-- {
			t := &trials[i]
			arm := r.plan.Arm(t.Arm)
			if t.Cell != cell.ID || arm == nil || arm.Role == experiment.Treatment {
				continue
			}
			ever = t.Valid()
			if _, spoilt := r.spoilingRule(t); ever || spoilt || t.Session != r.Journal.Session() {
				continue
			}
			if e.Trials++; e.Trials == 1 {
				e.Arm, e.Last = t.Arm, t.Invalid[0]
			}
		}
		if e.Trials >= failedInARow || !ever && e.Trials >= fromStart {
			return e
		}
	}
	return nil
}

// plannedPerExtra limits the extra rounds, which replace rounds spoilt by the machine's condition. A run has at
// most one extra round for every four planned rounds, rounded up.
const plannedPerExtra = 4

// resume returns the first round of this session. The previous session may have left out arms. They take part again
// only from the next round on, since trials of one round must be close in time.
func (r *run) resume() (first int) {
	trials := r.Journal.Trials()
	first = 1
	var left []string // arms that the previous session left out
	for i := range trials {
		if first <= trials[i].Round {
			first, left = trials[i].Round, r.Journal.LeftOut(trials[i].Session)
		}
	}
	done := settled(r.plan, trials, r.cpuLimited())
	r.since, r.clock.missed = make([]int, len(r.plan.Arms)), map[[2]string]int{}
	for a, arm := range r.plan.Arms {
		r.since[a] = first
		if slices.Contains(left, arm.Name) {
			r.since[a]++
		}
		for _, cell := range r.plan.Cells {
			for round := 1; round < r.since[a]; round++ {
				if r.plan.TakesPart(a, round) && !done[trialKey{round, cell.ID, arm.Name}] {
					r.clock.missed[[2]string{cell.ID, arm.Name}]++
				}
			}
		}
	}
	return first
}

// total returns the number of all rounds, planned and extra. All arms run in an extra round. Some extra rounds replace
// rounds that a left-out arm has missed. The others replace rounds that the machine's condition has spoilt; the result
// spoilt is the number of these.
func (r *run) total(planned int) (rounds, spoilt int) {
	missed := 0
	for a, arm := range r.plan.Arms {
		for _, cell := range r.plan.Cells {
			if !r.dropped[a] {
				missed = max(missed, r.clock.missed[[2]string{cell.ID, arm.Name}])
			}
		}
	}
	spoilt = min(r.costRounds(math.MaxInt), (planned+plannedPerExtra-1)/plannedPerExtra)
	return planned + missed + spoilt, spoilt
}

// costRounds returns the number of spoilt rounds, up to the round with the number last, in the cell that has most of
// them. A round is spoilt if one of its trials has used up its attempts, and all these attempts were spoilt.
func (r *run) costRounds(last int) int {
	trials := r.Journal.Trials()
	stands, tried := map[trialKey]bool{}, map[trialKey]bool{}
	for i := range trials {
		t := &trials[i]
		arm := slices.IndexFunc(r.plan.Arms, func(arm experiment.PlannedArm) bool { return arm.Name == t.Arm })
		if arm < 0 || r.dropped[arm] || t.Round > last {
			continue
		}
		at := trialKey{t.Round, t.Cell, t.Arm}
		// Of the attempts at a sliced trial, only the last one counts.
		stands[at] = stands[at] && t.Slices == 0 || !repeats(t, r.cpuLimited())
		tried[at] = tried[at] || t.Attempt >= r.plan.Attempts
	}
	most := 0
	for _, cell := range r.plan.Cells {
		rounds := map[int]bool{}
		for at := range tried {
			if at.cell == cell.ID && tried[at] && !stands[at] {
				rounds[at.round] = true
			}
		}
		most = max(most, len(rounds))
	}
	return most
}

// addExtraRounds records the number of extra rounds in the journal if the number has grown.
func (r *run) addExtraRounds(planned, spoilt int) error {
	if spoilt <= r.Journal.ExtraRounds() {
		return nil
	}
	why := fmt.Sprintf("after the %s of the plan, %s make up for those in which the machine's condition, or a failed proof, cost a trial", wording.Count(planned, "round", "rounds"), wording.Count(spoilt, "more round", "more rounds"))
	if err := r.Journal.Record(journal.Note{Kind: journal.NoteExtraRounds, Rounds: spoilt, Text: why}); err != nil {
		return err
	}
	r.Events(ExtraRoundsAdded{Rounds: spoilt})
	return nil
}
