package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/workload"
)

// slicedBlock runs one cell of one round with sliced trials: all arms begin, alternate by slices, and end
// together. If the machine's condition spoils the trial of one arm, all arms repeat the block: arms must be
// compared over the same slices. Trials are recorded after all have ended. An interrupted block begins anew.
func (r *run) slicedBlock(ctx context.Context, round int, steps []experiment.Step) error {
	var busy *journal.Trial
	for {
		attempt, position, repeat := r.blockState(round, steps)
		if !repeat {
			return nil
		}
		if busy != nil {
			if err := r.rest(ctx, attempt+1, busy); err != nil {
				return err
			}
		}
		trials, err := r.alternate(ctx, round, attempt+1, position, steps)
		if err != nil {
			return err
		}
		busy = nil
		if i := slices.IndexFunc(trials, func(t *journal.Trial) bool { return spoiltByMachine(t, r.cpuLimited()) }); i >= 0 {
			busy = trials[i]
		}
	}
}

// blockState returns a sliced block's last attempt, the highest position of its trials, and whether it
// must run again. If a trial is missing from the last attempt, its recording was interrupted, and the
// attempt does not count.
func (r *run) blockState(round int, steps []experiment.Step) (attempt, position int, repeat bool) {
	cell := r.plan.Cells[steps[0].Cell].ID
	last := map[string]*journal.Trial{} // last trial by arm
	trials := r.Journal.Trials()
	for i := range trials {
		t := &trials[i]
		if t.Round != round || t.Cell != cell {
			continue
		}
		if t.Attempt > attempt {
			clear(last)
		}
		attempt, position, last[t.Arm] = max(attempt, t.Attempt), max(position, t.Position), t
	}
	for _, step := range steps {
		if !r.takesPart(step.Arm, round) {
			continue
		}
		t := last[r.plan.Arms[step.Arm].Name]
		repeat = repeat || t == nil || repeats(t, r.cpuLimited()) && attempt < r.plan.Attempts
	}
	return attempt, position, repeat
}

func (r *run) takesPart(arm, round int) bool { return !r.dropped[arm] && round >= r.since[arm] }

// alternate runs and records one trial of each arm that takes part. Proofs are made before and after all
// of them.
func (r *run) alternate(ctx context.Context, round, attempt, position int, steps []experiment.Step) ([]*journal.Trial, error) {
	cell := r.plan.Cells[steps[0].Cell]
	start := BlockStarted{Round: round, Rounds: r.clock.rounds, Cell: cell.ID, Slices: cell.Slices, Attempt: attempt, Progress: r.clock.progress(r.Journal.Trials())}
	for _, step := range steps {
		if r.takesPart(step.Arm, round) {
			start.Arms = append(start.Arms, r.plan.Arms[step.Arm].Name)
		}
	}
	r.Events(start)
	var turns []*armTrial
	defer func() {
		for _, u := range turns {
			u.cancel()
		}
	}()
	for _, step := range steps {
		if !r.takesPart(step.Arm, round) {
			continue
		}
		position++
		u, err := r.beginTrial(ctx, trialID{round: round, attempt: attempt, position: position, step: step})
		var alone *armError
		if errors.As(err, &alone) {
			if err := r.drop(ctx, step.Arm, round, err); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		turns = append(turns, u)
	}
	for _, u := range turns {
		if err := u.prepare(ctx, cell.Slices); err != nil {
			return nil, err
		}
	}
	for i := range cell.Slices {
		for _, u := range mirrored(turns, i) {
			if err := r.slice(ctx, u, i); err != nil {
				return nil, err
			}
		}
	}
	for _, u := range turns {
		if err := r.finish(ctx, u); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the unfinished trials are lost, as documented
	}
	return r.recordAll(ctx, turns)
}

// mirrored returns the arms in order for even slices and in reverse order for odd ones: ABC CBA ABC CBA.
// A steady drift over a block thus affects all arms alike.
func mirrored(turns []*armTrial, slice int) []*armTrial {
	if slice%2 == 0 {
		return turns
	}
	reverse := slices.Clone(turns)
	slices.Reverse(reverse)
	return reverse
}

// armTrial is the trial of one arm in a sliced block.
type armTrial struct {
	id    trialID
	p     *armSite
	t     *journal.Trial
	load  workload.Sliceable
	site  *watchedSite
	trial *workload.Trial

	ctx    context.Context // context of the trial over all its slices
	cancel context.CancelFunc
	limit  time.Duration // time limit of the trial
	left   time.Duration // remaining part of limit; other arms' slices do not count
	sliced workload.Sliced
	seen   observation // observations of the slices so far
	result workload.Result
}

// beginTrial ensures that an arm's site is whole, and gathers the proofs before its trial.
func (r *run) beginTrial(ctx context.Context, id trialID) (*armTrial, error) {
	cell, arm := r.plan.Cells[id.step.Cell], r.plan.Arms[id.step.Arm]
	p := r.sites.cells[id.step.Cell][id.step.Arm]
	failed := func(err error) error { return fmt.Errorf("arm %s, round %d: %w", arm.Name, id.round, err) }
	load, ok := r.Expansion.Cells[id.step.Cell].Workload.(workload.Sliceable)
	if !ok {
		return nil, failed(fmt.Errorf("trials of %s cannot be cut into slices", cell.ID))
	}
	whole := r.ensureWhole(ctx, p)
	if whole != nil && !isDisturbance(whole) {
		return nil, failed(whole)
	}
	if switches := p.switches(); len(switches) > 0 {
		return nil, failed(fmt.Errorf("trials cannot be cut into slices: the layer %s is turned on and off for all arms between trials", switches[0].kind))
	}
	raw, err := r.Journal.Raw(id.round, id.attempt, arm.Name, cell.ID)
	if err != nil {
		return nil, err
	}
	r.used = true
	u := &armTrial{id: id, p: p, load: load, site: &watchedSite{Site: p.site}, limit: load.Measures().Cut(cell.Slices).Bound()}
	u.t = &journal.Trial{Round: id.round, Attempt: id.attempt, Position: id.position, SetUp: r.setUp, Slices: cell.Slices, Cell: cell.ID, Arm: arm.Name,
		Raw: raw.Dir(), Start: time.Now(), Checks: slices.Clone(p.once)}
	u.trial = &workload.Trial{Site: u.site, Raw: raw, Round: id.round, Seed: r.plan.TrialSeed(id.round, id.step), Standing: p.service(load), Lateness: r.lateness()}
	u.left = u.limit
	u.ctx, u.cancel = context.WithCancel(ctx)
	var checks []layer.Check
	err = whole
	if err == nil {
		checks, err = p.before(ctx)
	}
	if _, reached := machine.Exhausted(err); reached {
		u.cancel()
		return nil, failed(err)
	}
	u.t.Checks = append(u.t.Checks, checks...)
	recordProofs(u.t, err)
	return u, nil
}

// runPart runs a part of a trial within its remaining time, unless the trial has broken a rule. An error of
// the part becomes a broken rule, if it does not end the run.
func (u *armTrial) runPart(ctx context.Context, what string, do func(ctx context.Context) error) error {
	if !u.t.Valid() {
		return nil
	}
	start := time.Now()
	limit := time.AfterFunc(u.left, u.cancel)
	err := do(u.ctx)
	limit.Stop()
	u.left -= time.Since(start)
	late := ""
	if u.ctx.Err() != nil && ctx.Err() == nil {
		late = fmt.Sprintf("%s was not done when the trial had run for %v, which is its limit", what, quantity.Duration(u.limit))
	}
	if err := failure(u.t, err, late); err != nil {
		return fmt.Errorf("%s in arm %s, round %d: %w", u.t.Cell, u.t.Arm, u.t.Round, err)
	}
	if !u.t.Valid() {
		u.cancel() // other arms must not run beside a failed trial
	}
	return nil
}

func (u *armTrial) prepare(ctx context.Context, n int) error {
	start := time.Now()
	defer func() { u.t.Prepared += time.Since(start) }()
	return u.runPart(ctx, "the preparation", func(ctx context.Context) (err error) {
		u.sliced, err = u.load.PrepareSlices(ctx, u.trial, n)
		return err
	})
}

func (r *run) slice(ctx context.Context, u *armTrial, i int) error {
	return u.runPart(ctx, fmt.Sprintf("slice %d", i+1), func(limited context.Context) error {
		s, err := r.watch(ctx, limited, u.p, func(ctx context.Context) error { return u.sliced.Run(ctx, i) })
		if i > 0 {
			s = u.seen.plus(s)
		}
		u.seen = s
		return err
	})
}

// finish ends the trial, gathers the proofs after it, and applies the rules.
func (r *run) finish(ctx context.Context, u *armTrial) error {
	start := time.Now()
	err := u.runPart(ctx, "the end", func(ctx context.Context) (err error) {
		u.result, err = u.sliced.Finish(ctx)
		return err
	})
	u.cancel()
	u.t.Prepared += time.Since(start)
	if err != nil {
		return err
	}
	layers := u.seen.record(u.t)
	if err := r.conclude(ctx, u.id, u.p, u.site, u.result, layers, u.t); err != nil {
		return err
	}
	u.p.suspectIfInvalid(u.t)
	return nil
}

// recordAll records the trials of a block in the journal and cleans up after them. The time spent by
// Tare itself is divided equally among them.
func (r *run) recordAll(ctx context.Context, turns []*armTrial) ([]*journal.Trial, error) {
	if len(turns) == 0 {
		return nil, nil
	}
	turns[0].t.Prepared += r.cleared
	now := time.Now()
	around := now.Sub(r.last)
	for _, u := range turns {
		around -= u.t.Prepared + u.t.Wall
	}
	r.last, r.cleared = now, 0
	var trials []*journal.Trial
	for _, u := range turns {
		u.t.Harness.Around = around / time.Duration(len(turns))
		if err := r.Journal.Append(u.t); err != nil {
			return nil, err
		}
		trials = append(trials, u.t)
		r.Events(r.doneEvent(u.t))
	}
	for _, u := range turns {
		if u.trial.Clear == nil {
			continue
		}
		if err := r.clear(ctx, u.id, u.trial.Clear); err != nil {
			return nil, err
		}
	}
	return trials, nil
}
