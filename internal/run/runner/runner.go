// Package runner carries out a plan: it sets up every arm, runs the rounds in random order, proves that layers are on,
// and applies the rules. It records each trial before the next one starts, and sleeps during trials. It knows testbeds,
// layers and workloads only by their interfaces.
package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/testbed"
)

// Sampler records the conditions on the machines of a trial. ThisMachine does so for this machine. Testbeds on other
// machines have their own.
type Sampler interface {
	// Start begins a sample at a site. It must be the last call before the trial.
	Start(ctx context.Context, site testbed.Site) error
	// Stop ends the sample. The argument own is the CPU time of Tare and all its programs on this machine since Start.
	Stop(ctx context.Context, own time.Duration) (testbed.Sample, error)
}

// ThisMachine samples the machine that Tare runs on.
type ThisMachine struct{ *machine.Sampler }

// Start begins a sample.
func (m ThisMachine) Start(context.Context, testbed.Site) error { return m.Sampler.Start() }

// Stop ends the sample.
func (m ThisMachine) Stop(_ context.Context, own time.Duration) (testbed.Sample, error) {
	spent, err := m.Sampler.Stop(own)
	return testbed.Sample{Conditions: spent.Conditions(), Machine: &spent}, err
}

// Options are the parameters of Run.
type Options struct {
	Expansion *experiment.Expansion
	Testbed   testbed.Testbed
	Journal   *journal.Journal
	Sampler   Sampler
	// Ready is called once all sites are set up, before the first trial; nil: nothing is called.
	Ready func(ctx context.Context) error
	// Inspect is called while the site of one arm is up, if arms are up in turn: for each arm, before Ready; nil: nothing
	// is called.
	Inspect func(ctx context.Context) error
	// Rounds returns the total number of rounds that a goal of precision needs, computed from the trials of the
	// pilot (analysis.NeededRounds).
	Rounds func(*experiment.Plan, []journal.Trial) (int, error)
	// Decided reports, for a plan with looks, whether the first rounds decide every headline comparison (analysis.Decided).
	Decided func(plan *experiment.Plan, trials []journal.Trial, rounds int) bool
	Fewest  int // fewest set-ups or rounds with which a claim is possible (analysis.FewestRounds)
	// Pause is the wait before the first repeat of a trial spoilt by the machine's condition. Each further wait is
	// twice as long.
	Pause time.Duration
	// Patience is the total time for which a run waits for a less busy machine; then the run ends. It looks again after
	// each Pause.
	Patience time.Duration
	// Events gets all events, from one goroutine; nil: nobody gets them.
	Events func(Event)
}

// run is one session of a run.
type run struct {
	Options
	plan      *experiment.Plan
	sites     *sites
	clock     *clock
	last      time.Time     // time from which Tare's own work counts towards the next trial (Harness.Around)
	cleared   time.Duration // duration of the clean-up after the last trial
	dropped   map[int]bool  // arms that this session has left out
	reasons   []error       // the reasons for leaving out arms
	since     []int         // by arm: the session's first round in which the arm takes part
	setUp     int           // number of the present set-up
	used      bool          // set if a trial has run since the last set-up
	groups    groups        // groups of rounds; the rounds of a group share a set-up
	undecided bool          // set until groups is fixed
}

// Run carries out the rest of the plan, until it is complete, an error occurs or the context is done. Then it takes
// down all that it has set up. The caller closes the testbed.
func Run(ctx context.Context, o Options) (err error) {
	if o.Events == nil {
		o.Events = func(Event) {}
	}
	r := &run{Options: o, plan: &o.Expansion.Plan, clock: newClock(&o.Expansion.Plan, o.Expansion.Cells[0].Testbed.LimitsCPU()), sites: &sites{}}
	r.dropped = r.clock.dropped
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

// piloting reports whether the pilot is under way: the number of rounds is not fixed yet.
func (r *run) piloting() bool { return r.plan.Precision > 0 && r.Journal.Rounds() == 0 }

// skip keeps the time from the last trial until now out of Harness.Around.
func (r *run) skip() { r.last = time.Now().Add(-r.cleared) }

// rounds runs all rounds that are not complete. With a goal of precision, it fixes their number at the end of the
// pilot.
func (r *run) rounds(ctx context.Context) error {
	planned := r.plan.Rounds
	if n := r.Journal.Rounds(); n > 0 {
		planned = n
	}
	for round := r.resume(); ; round++ {
		if stop, err := r.decided(round - 1); stop || err != nil {
			return err
		}
		total, spoilt := r.total(planned)
		if r.piloting() {
			total -= spoilt // a pilot gets no extra rounds
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
			if err := r.addExtraRounds(planned, spoilt); err != nil {
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
		r.clock.rounds, r.clock.anew = total, r.setUpsLeft(round, total)
		if err := r.renew(ctx, round); err != nil {
			return err
		}
		if err := r.round(ctx, round); err != nil {
			return err
		}
		err := r.dropSpoilt(ctx, round)
		if err == nil {
			err = r.checkBaseline()
		}
		if err != nil {
			return r.endEarly(round, err)
		}
	}
}

// decided reports whether the run ends after a round. If the plan has a look after this round, the results decide
// whether the run ends.
func (r *run) decided(round int) (bool, error) {
	if r.Journal.Decided() > 0 {
		return true, nil
	}
	if round == r.plan.Rounds || !slices.Contains(r.plan.DecideAt, round) || !r.Options.Decided(r.plan, r.Journal.Trials(), round) {
		return false, nil
	}
	r.Events(Decided{Rounds: round, Of: r.plan.Rounds})
	r.plan.Decided = round
	why := fmt.Sprintf("every headline comparison was decided after %d of at most %d rounds; looks were planned after %s rounds, and the intervals allow for them", round, r.plan.Rounds, r.plan.LookRounds())
	return true, r.Journal.Record(journal.Note{Kind: journal.NoteDecided, Rounds: round, Text: why})
}

// round runs one round cell by cell. In each cell, every arm runs once, and then spoilt trials are
// repeated up to the plan's number of attempts.
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

// block runs one cell of one round. Trials that the journal already has are not run again.
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
			attempts, stands, last := r.attempts(round, step)
			position = max(position, last)
			if stands || attempts >= pass || !r.takesPart(step.Arm, round) {
				continue
			}
			t, err := r.turn(ctx, trialID{round: round, attempt: attempts + 1, position: position + 1, step: step})
			if err != nil {
				if err := r.dropAlone(ctx, step.Arm, round, err); err != nil {
					return err
				}
				continue
			}
			position++
			if spoiltByMachine(t, r.cpuLimited()) {
				busy = t
			}
		}
	}
	return nil
}

// longestRest is the longest single wait for the machine to become quiet.
const longestRest = 5 * time.Minute

// rest waits before trials spoilt by the machine's condition are repeated: first for Options.Pause, then twice as long
// each time.
func (r *run) rest(ctx context.Context, pass int, spoilt *journal.Trial) error {
	pause := longestRest
	if doublings := pass - 2; doublings < 16 {
		pause = min(r.Pause<<doublings, longestRest)
	}
	why, _ := r.spoilingRule(spoilt)
	r.Events(Resting{Pause: pause, Why: why})
	err := testbed.Pause(ctx, pause)
	r.skip() // the wait does not count as time of Tare itself
	return err
}

// attempts counts the recorded attempts at a step. stands is true if one needs no repeat. position is the highest
// position in this cell and round.
func (r *run) attempts(round int, step experiment.Step) (attempts int, stands bool, position int) {
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
			stands = stands || !repeats(t, r.cpuLimited())
		}
	}
	return attempts, stands, position
}
