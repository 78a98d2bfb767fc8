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

// repeats reports whether a trial must be repeated. One broken rule that asks for a repeat is enough, since all may
// have one cause.
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

// dropSpoilt leaves out an arm if all its trials of two rounds were spoilt in one cell. If the machine was too busy,
// the run waits or ends instead.
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
				e.Sliceable = cell.Slices == 0 && !r.plan.InTurn() && r.Expansion.Cells[c].Workload.Measures().Slice != nil
				var quiet, waited bool
				err := r.whileUp(ctx, r.sites.cells[c][a], func() (err error) {
					quiet, waited, err = r.waitForQuiet(ctx, r.sites.cells[c][a], e.Last)
					return err
				})
				switch {
				case err != nil:
					if err := r.dropAlone(ctx, a, round+1, err); err != nil {
						return err
					}
					continue
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

// endEarly ends a run successfully if the machine is too busy, but the rounds so far suffice. It ignores measured
// values, so tests stay valid.
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

// waitForQuiet checks the machine until it is within the limits (quiet), or the run's patience is used up. waited: more
// than one check was made.
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

// spoilingRule returns the broken rule that spoils a trial, preferably one about the machine. A spoilt trial is no data
// and no failure of its arm.
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

// Failed trials of baseline and control that end a run. With 30 % random failures, six in a row come once in 1,400
// times, twelve once in two million.
const (
	failedFromStart = 6 // number of failed trials that ends a run if no trial has succeeded
	failedInARow    = 12
)

// checkBaseline returns an error if a cell has nothing to compare with: baseline and control have never succeeded, or
// failed failedInARow times.
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

// plannedPerExtra limits the extra rounds, which replace rounds spoilt by the machine: one for every four planned
// rounds, rounded up.
const plannedPerExtra = 4

// resume returns the first round of this session. Left-out arms return one round later: the trials of a round must be
// close in time.
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

// total returns the number of planned and extra rounds. An extra round replaces one that an arm missed, or that the
// machine spoilt (counted in spoilt).
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

// costRounds returns the number of spoilt rounds up to the round last, in the cell with most. In a spoilt round, all
// attempts at one trial were spoilt.
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
