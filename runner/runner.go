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
	"slices"
	"time"

	"tare/experiment"
	"tare/journal"
	"tare/layer"
	"tare/machine"
	"tare/testbed"
)

// Journal is where finished trials go (journal.Journal).
type Journal interface {
	Trials() []journal.Trial
	Session() int
	Raw(round, attempt int, arm, cell string) (*journal.Raw, error)
	Append(*journal.Trial) error
	Note(text string) error
	LeaveOut(arm, why string) error
	End(rounds int, why string) error
	LeftOut(session int) (arms []string)
	SetRounds(n int, why string) error
	Rounds() int // as set by SetRounds, in this session or an earlier one; 0: not yet
	FixSetUps(every int, why string) error
	SetUps() (every int, fixed bool) // as fixed by FixSetUps, in this session or an earlier one
	MakeUp(rounds int, why string) error
	MadeUp() int // as recorded by MakeUp, in this session or an earlier one
	Decide(rounds int, why string) error
	Decided() int // as recorded by Decide, in this session or an earlier one; 0: not
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
	spent, err := m.Sampler.Stop(own)
	return testbed.Sample{Conditions: spent.Conditions(), Machine: &spent}, err
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
	// Decided says whether so many rounds decide what is asked, for a plan that looks then (analysis.Decided).
	Decided func(plan *experiment.Plan, trials []journal.Trial, rounds int) bool
	// Fewest is how many set-ups a claim needs, as it needs rounds (analysis.FewestRounds).
	Fewest int
	// Pause is how long to wait before a trial that the machine's condition has
	// spoilt is repeated for the first time; each further time it doubles.
	Pause time.Duration
	// Patience is how long the run waits for a busy machine in all, by looks of a pause each, before it ends.
	Patience time.Duration
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
	// since is the first round in which an arm takes part in this session, by arm.
	since []int
	// setUp is the number of the present set-up, and used says that a trial has run in it.
	setUp int
	used  bool
	// blocks are the rounds that share a set-up; undecided, while that is still to be found
	// out.
	blocks    blocks
	undecided bool
}

// Run carries the plan out from wherever the journal stands, and returns when
// the run is complete, an error ends it, or the context is done. Everything it
// set up is taken down again before it returns; the testbed stays the caller's
// to close.
func Run(ctx context.Context, o Options) (err error) {
	if o.Events == nil {
		o.Events = func(Event) {}
	}
	r := &run{Options: o, plan: &o.Expansion.Plan, clock: newClock(&o.Expansion.Plan, o.Expansion.Cells[0].Testbed.LimitsCPU()), sites: &sites{}, dropped: map[int]bool{}}
	defer func() { err = errors.Join(err, r.sites.close(context.WithoutCancel(ctx))) }()
	if err := r.begin(ctx); err != nil {
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

// skip leaves the time that has passed out of what is attributed to trials.
func (r *run) skip() { r.last = time.Now().Add(-r.cleared) }

// rounds runs every round that is not complete yet. With a precision goal the
// number of rounds is fixed once, after the pilot, and recorded.
func (r *run) rounds(ctx context.Context) error {
	planned := r.plan.Rounds
	if n := r.Journal.Rounds(); n > 0 {
		planned = n
	}
	for round := r.behind(); ; round++ {
		if stop, err := r.decided(round - 1); stop || err != nil {
			return err
		}
		total, spoilt := r.total(planned)
		if r.piloting() {
			total -= spoilt // the pilot is what it is
		}
		if round > total && r.piloting() {
			n, err := r.Rounds(r.plan, r.Journal.Trials())
			if err != nil {
				return fmt.Errorf("number of rounds from the pilot: %w", err)
			}
			planned = max(n, total)
			if err := r.Journal.SetRounds(planned, fmt.Sprintf("the pilot of %d rounds asks for %d in all to reach ±%v", r.plan.Rounds, planned, r.plan.Precision)); err != nil {
				return err
			}
			r.Events(RoundsFixed{Rounds: planned})
			total, spoilt = r.total(planned)
		}
		if round > total-spoilt && spoilt > 0 {
			if err := r.makeUp(planned, spoilt); err != nil {
				return err
			}
		}
		if round > total {
			return nil
		}
		if round > 1 {
			if err := r.decide(); err != nil {
				return err
			}
		}
		r.clock.rounds, r.clock.anew = total, r.toCome(round, total)
		if err := r.renew(ctx, round); err != nil {
			return err
		}
		if err := r.round(ctx, round); err != nil {
			return err
		}
		if err := r.hopeless(ctx, round); err != nil {
			return r.early(round, err)
		}
	}
}

// decided looks at the results after a round, where the plan says so, and says whether they end the run.
func (r *run) decided(round int) (bool, error) {
	if r.Journal.Decided() > 0 {
		return true, nil
	}
	if round == r.plan.Rounds || !slices.Contains(r.plan.DecideAt, round) || !r.Options.Decided(r.plan, r.Journal.Trials(), round) {
		return false, nil
	}
	r.Events(Decided{Rounds: round, Of: r.plan.Rounds})
	r.plan.Decided = round
	return true, r.Journal.Decide(round, fmt.Sprintf("every headline comparison was decided after %d of at most %d rounds; looks were planned after %s rounds, and the intervals allow for them", round, r.plan.Rounds, r.plan.LookRounds()))
}

// round runs the blocks of one round: cell by cell, every arm once, then again
// those whose trial was spoilt, up to the plan's attempts.
func (r *run) round(ctx context.Context, round int) error {
	steps := r.plan.Order(round)
	for steps := range slices.Chunk(steps, len(steps)/len(r.plan.Cells)) {
		block := r.block
		if r.plan.Cells[steps[0].Cell].Slices > 0 {
			block = r.slicedBlock
		}
		if err := block(ctx, round, steps); err != nil {
			return err
		}
	}
	return nil
}

// block runs one cell of one round. The journal says what an earlier session
// has done of it.
func (r *run) block(ctx context.Context, round int, steps []experiment.Step) error {
	position := 0
	var busy *journal.Trial
	for pass := 1; pass <= r.plan.Attempts; pass++ {
		if busy != nil {
			if err := r.rest(ctx, pass, busy); err != nil {
				return err
			}
			busy = nil
		}
		for _, step := range steps {
			attempts, stands, last := r.done(round, step)
			position = max(position, last)
			if stands || attempts >= pass || r.dropped[step.Arm] || round < r.since[step.Arm] {
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
			if disturbed(t, r.cpuLimited()) {
				busy = t
			}
		}
	}
	return nil
}

// longestRest bounds how long the run waits at once for the machine to become quiet.
const longestRest = 5 * time.Minute

// rest waits before trials are repeated that the machine's condition has spoilt: a
// pause the first time, twice as long the next. What spoilt them may still go on, and
// attempts are few.
func (r *run) rest(ctx context.Context, pass int, spoilt *journal.Trial) error {
	pause := longestRest
	if doublings := pass - 2; doublings < 16 {
		pause = min(r.Pause<<doublings, longestRest)
	}
	why, _ := r.spoiler(spoilt)
	r.Events(Resting{Pause: pause, Why: why})
	err := testbed.Pause(ctx, pause)
	r.skip() // not the harness's time
	return err
}

// done counts the attempts at a step that the journal holds, says whether one of them
// stands, as data or as a failure, and gives the highest position that any trial of that
// block has.
func (r *run) done(round int, step experiment.Step) (attempts int, stands bool, position int) {
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
			stands = stands || !again(t, r.cpuLimited())
		}
	}
	return attempts, stands, position
}
