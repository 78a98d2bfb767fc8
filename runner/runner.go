// Package runner carries a plan out: it sets up every arm, runs the rounds in
// their random order, proves the treatment around each trial, applies the rules
// of invalidation, and hands every finished trial to the journal before the next
// one starts. It knows testbeds, layers and workloads by their interfaces alone, and
// sleeps while a trial runs.
package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/experiment"
	"tare/journal"
	"tare/layer"
	"tare/machine"
	"tare/testbed"
	"tare/workload"
)

// Journal is where finished trials go (journal.Journal).
type Journal interface {
	Trials() []journal.Trial
	Session() int
	Raw(round, attempt int, arm, cell string) (*journal.Raw, error)
	Append(*journal.Trial) error
	Note(text string) error
	LeaveOut(arm, why string) error
	LeftOut(session int) (arms []string)
	SetRounds(n int, why string) error
	Rounds() int // as set by SetRounds, in this session or an earlier one; 0: not yet
	Finish() error
	layer.Ledger // of what layers change for everyone
}

// Sampler tells what else happened during a trial where it ran: ThisMachine, or
// that of a testbed on other machines.
type Sampler interface {
	// Start begins a sample at a site. Call it last before the trial.
	Start(ctx context.Context, site testbed.Site) error
	// Stop ends the sample; own is the CPU time that Tare and everything it
	// started on this machine used since Start.
	Stop(ctx context.Context, own time.Duration) (testbed.Sample, error)
}

// ThisMachine samples the machine that Tare runs on.
type ThisMachine struct{ *machine.Sampler }

// Start begins a sample.
func (m ThisMachine) Start(context.Context, testbed.Site) error { return m.Sampler.Start() }

// Stop ends it.
func (m ThisMachine) Stop(_ context.Context, own time.Duration) (testbed.Sample, error) {
	c, err := m.Sampler.Stop(own)
	return testbed.Sample{Conditions: c}, err
}

// Options is what a run needs.
type Options struct {
	Expansion *experiment.Expansion
	Testbed   testbed.Testbed
	Journal   Journal
	Sampler   Sampler
	// Ready is called when all sites are set up, before the first trial; may be nil.
	Ready func(ctx context.Context) error
	// Rounds gives the total number of rounds from the pilot's trials, for a
	// plan with a precision goal (analysis.NeededRounds).
	Rounds func(*experiment.Plan, []journal.Trial) (int, error)
	// Pause is how long to wait before a trial that the machine's condition has
	// spoilt is repeated for the first time; each further time it doubles.
	Pause time.Duration
	// Events takes what happens, from one goroutine; nil drops it.
	Events func(Event)
}

// run is one session of a run.
type run struct {
	Options
	plan  *experiment.Plan
	sites *sites
	clock *clock
	// last is the time up to which all time has been attributed to trials. Recording a
	// trial comes after that, and so counts as time around the next one.
	last time.Time
	// cleared is how long clearing up after the last trial took.
	cleared time.Duration
	// dropped are the arms without which this session goes on, and why each of them.
	dropped map[int]bool
	why     []error
	// since is the first round in which an arm takes part in this session.
	since map[int]int
}

// Run carries the plan out from wherever the journal stands, and returns when
// the run is complete, an error ends it, or the context is done. Everything it
// set up is taken down again before it returns; the testbed stays the caller's
// to close.
func Run(ctx context.Context, o Options) (err error) {
	if o.Events == nil {
		o.Events = func(Event) {}
	}
	r := &run{Options: o, plan: &o.Expansion.Plan, clock: newClock(&o.Expansion.Plan), sites: &sites{}, dropped: map[int]bool{}, since: map[int]int{}}
	defer func() { err = errors.Join(err, r.sites.close(context.WithoutCancel(ctx))) }()
	if err := r.openSites(ctx); err != nil {
		return err
	}
	if o.Ready != nil {
		if err := o.Ready(ctx); err != nil {
			return err
		}
	}
	r.last = time.Now()
	if err := r.rounds(ctx); err != nil {
		return err
	}
	return r.complete()
}

// piloting says whether the number of rounds is still to be fixed.
func (r *run) piloting() bool { return r.plan.Precision > 0 && r.Journal.Rounds() == 0 }

// rounds runs every round that is not complete yet. With a precision goal the
// number of rounds is fixed once, after the pilot, and recorded.
func (r *run) rounds(ctx context.Context) error {
	total := r.plan.Rounds
	if n := r.Journal.Rounds(); n > 0 {
		total = n
	}
	first, missing := r.behind()
	total += missing
	for round := first; ; round++ {
		if round > total && r.piloting() {
			n, err := r.Rounds(r.plan, r.Journal.Trials())
			if err != nil {
				return fmt.Errorf("number of rounds from the pilot: %w", err)
			}
			total = max(n, total)
			if err := r.Journal.SetRounds(total, fmt.Sprintf("the pilot of %d rounds asks for %d in all to reach ±%v", r.plan.Rounds, total, r.plan.Precision)); err != nil {
				return err
			}
			r.Events(RoundsFixed{Rounds: total})
		}
		if round > total {
			return nil
		}
		r.clock.rounds = total
		if err := r.round(ctx, round); err != nil {
			return err
		}
		if err := r.hopeless(ctx, round); err != nil {
			return err
		}
	}
}

// round runs the blocks of one round: cell by cell, every arm once, then again
// those whose trial was invalid, up to the plan's attempts.
func (r *run) round(ctx context.Context, round int) error {
	steps := r.plan.Order(round)
	width := len(r.plan.Arms)
	for len(steps) > 0 {
		if err := r.block(ctx, round, steps[:width]); err != nil {
			return err
		}
		steps = steps[width:]
	}
	return nil
}

// block runs one cell of one round. The journal says what an earlier session
// has done of it.
func (r *run) block(ctx context.Context, round int, steps []experiment.Step) error {
	position := 0
	disturbed := false
	for pass := 1; pass <= r.plan.Attempts; pass++ {
		if disturbed {
			if err := r.rest(ctx, pass); err != nil {
				return err
			}
			disturbed = false
		}
		for _, step := range steps {
			attempts, valid, last := r.done(round, step)
			position = max(position, last)
			if valid || attempts >= pass || r.dropped[step.Arm] || round < r.since[step.Arm] {
				continue
			}
			t, err := r.trial(ctx, trialID{round: round, attempt: attempts + 1, position: position + 1, step: step})
			var alone *armError
			if errors.As(err, &alone) {
				if err := r.drop(ctx, step.Arm, round, err); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			position++
			disturbed = disturbed || !t.Valid() && workload.OfMachine(t.Invalid[0].Rule, r.cpuLimited())
		}
	}
	return nil
}

// longestRest bounds how long the run waits at once for the machine to become quiet.
const longestRest = 5 * time.Minute

// rest waits before trials are repeated that the machine's condition has spoilt: a
// pause the first time, twice as long the next. What spoilt them may still go on, and
// attempts are few.
func (r *run) rest(ctx context.Context, pass int) error {
	pause := longestRest
	if doublings := pass - 2; doublings < 16 {
		pause = min(r.Pause<<doublings, longestRest)
	}
	r.Events(Resting{Pause: pause})
	err := rest(ctx, pause)
	r.last = time.Now() // not the harness's time
	return err
}

// done counts the attempts at a step that the journal holds, and gives the
// highest position that any trial of that block has.
func (r *run) done(round int, step experiment.Step) (attempts int, valid bool, position int) {
	cell, arm := r.plan.Cells[step.Cell].ID, r.plan.Arms[step.Arm].Name
	trials := r.Journal.Trials()
	for i := len(trials) - 1; i >= 0 && trials[i].Round >= round; i-- {
		t := &trials[i]
		if t.Round != round || t.Cell != cell {
			continue
		}
		position = max(position, t.Position)
		if t.Arm == arm {
			attempts++
			valid = valid || t.Valid()
		}
	}
	return attempts, valid, position
}

// HopelessError says that an arm cannot give a number.
type HopelessError struct {
	Arm, Cell string
	Trials    int
	Last      journal.Violation
	// CPULimited says that programs ran under limits on CPU time.
	CPULimited bool
}

// Environment says whether the rule is about the machine's condition rather
// than about the workload or a layer: the run may go on when that has passed.
func (e *HopelessError) Environment() bool { return workload.OfMachine(e.Last.Rule, e.CPULimited) }

// CPULimit says whether programs were throttled by a limit on their CPU time, such as
// that of a pod. Waiting does not help.
func (e *HopelessError) CPULimit() bool {
	return e.Last.Rule == workload.RuleThrottled && e.CPULimited
}

// cpuLimited says whether programs run under limits on CPU time.
func (r *run) cpuLimited() bool { return r.Expansion.Cells[0].Testbed.LimitsCPU() }

// Error names the arm, the cell and the rule.
func (e *HopelessError) Error() string {
	return fmt.Sprintf("arm %s has given no valid trial of %s in two rounds: %d of %d broke a rule, the last one %s: %s", e.Arm, e.Cell, e.Trials, e.Trials, e.Last.Rule, e.Last.Detail)
}

// hopeless drops an arm after a round, or ends the session, when the arm has not had one
// valid trial in a cell in this round and the one before: more rounds would cost time
// and give nothing. A busy machine concerns all arms. A resumed session starts afresh.
func (r *run) hopeless(ctx context.Context, round int) error {
	type key struct{ arm, cell string }
	count, valid, last := map[key]int{}, map[key]bool{}, map[key]journal.Violation{}
	before := map[key]bool{} // tried in the round before
	trials := r.Journal.Trials()
	for i := len(trials) - 1; i >= 0 && trials[i].Round >= round-1; i-- {
		t := &trials[i]
		k := key{t.Arm, t.Cell}
		if t.Session != r.Journal.Session() {
			continue
		}
		count[k]++
		before[k] = before[k] || t.Round == round-1
		if t.Valid() {
			valid[k] = true
		} else if _, known := last[k]; !known {
			last[k] = t.Invalid[0]
		}
	}
	for _, cell := range r.plan.Cells {
		for a, arm := range r.plan.Arms {
			k := key{arm.Name, cell.ID}
			if !before[k] || valid[k] || r.dropped[a] {
				continue
			}
			e := &HopelessError{Arm: arm.Name, Cell: cell.ID, Trials: count[k], Last: last[k], CPULimited: r.cpuLimited()}
			if e.Environment() || e.CPULimit() {
				return e
			}
			if err := r.drop(ctx, a, round+1, e); err != nil {
				return err
			}
		}
	}
	return nil
}
