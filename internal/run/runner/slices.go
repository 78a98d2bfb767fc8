package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
	"tare/internal/workload"
)

// slicedBlock runs one cell of one round with sliced trials. If one arm's trial is spoilt, all arms repeat their
// trials, which must share slices.
func (r *run) slicedBlock(ctx context.Context, round int, steps []experiment.Step) error {
	var busy *journal.Trial
	for {
		steps = slices.DeleteFunc(steps, func(s experiment.Step) bool { return !r.takesPart(s.Arm, round) })
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

// blockState returns the number of a sliced block's last attempt, and its highest position. repeat is true if the block
// must run again.
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
		t := last[r.plan.Arms[step.Arm].Name]
		repeat = repeat || t == nil || repeats(t, r.cpuLimited()) && attempt < r.plan.Attempts
	}
	return attempt, position, repeat
}

func (r *run) takesPart(arm, round int) bool { return !r.dropped[arm] && round >= r.since[arm] }

// alternate runs one trial for each step, with alternating slices. It makes proofs before the first and after the last
// slice, and records trials.
func (r *run) alternate(ctx context.Context, round, attempt, position int, steps []experiment.Step) ([]*journal.Trial, error) {
	cell := r.plan.Cells[steps[0].Cell]
	start := BlockStarted{Round: round, Rounds: r.clock.rounds, Cell: cell.ID, Slices: cell.Slices, Attempt: attempt, Progress: r.clock.progress(r.Journal.Trials())}
	for _, step := range steps {
		start.Arms = append(start.Arms, r.plan.Arms[step.Arm].Name)
	}
	r.Events(start)
	var turns []*armTrial
	defer func() {
		for _, u := range turns {
			u.cancel()
		}
	}()
	for _, step := range steps {
		position++
		u, err := r.beginTrial(ctx, trialID{round: round, attempt: attempt, position: position, step: step})
		if err == nil {
			turns = append(turns, u)
		} else if err := r.dropAlone(ctx, step.Arm, round, err); err != nil {
			return nil, err
		}
	}
	for _, u := range turns {
		if err := u.prepare(ctx, cell.Slices); err != nil {
			return nil, err
		}
	}
	for i := range cell.Slices {
		for _, u := range turns {
			if err := r.slice(ctx, u, i); err != nil {
				return nil, err
			}
		}
		slices.Reverse(turns) // in the order ABC CBA ABC CBA, a steady drift affects all arms alike
	}
	if cell.Slices%2 == 1 {
		slices.Reverse(turns)
	}
	for _, u := range turns {
		if err := r.finish(ctx, u); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the trials that are not finished are lost, as the docs say
	}
	return r.record(ctx, turns)
}

// runPart runs a part of a trial within the trial's remaining time, unless a rule is broken. An error of the part
// breaks a rule or ends the run.
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
	if err := u.failure(err, late); err != nil {
		return err
	}
	if !u.t.Valid() {
		u.cancel() // ends what the failed trial still runs: it would disturb the slices of the other arms
	}
	return nil
}

func (u *armTrial) prepare(ctx context.Context, n int) error {
	start := time.Now()
	defer func() { u.t.Prepared += time.Since(start) }()
	return u.runPart(ctx, "the preparation", func(ctx context.Context) (err error) {
		u.sliced, err = u.load.(workload.Sliceable).PrepareSlices(ctx, u.trial, n)
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

func (r *run) finish(ctx context.Context, u *armTrial) error {
	start := time.Now()
	var result workload.Result
	err := u.runPart(ctx, "the end", func(ctx context.Context) (err error) {
		result, err = u.sliced.Finish(ctx)
		return err
	})
	u.cancel()
	u.t.Prepared += time.Since(start)
	if err != nil {
		return err
	}
	if err := r.conclude(ctx, u, result, u.seen.record(u.t)); err != nil {
		return err
	}
	u.p.suspectIfInvalid(u.t)
	return nil
}
