package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/run/journal"
)

// This file has arms in turn (setups: every-trial): an arm is up only during its own trials, and no two arms are up at a
// time.

// rehearse sets up every arm and takes it down, one arm after the other, before the first trial of a session. It finds
// the arms that cannot be set up, and lets the testbed inspect their sites.
func (r *run) rehearse(ctx context.Context) error {
	start := time.Now()
	r.setUp, r.used = r.setUp+1, false
	for _, p := range r.sites.list {
		if r.dropped[p.index] {
			continue
		}
		err := r.whileUp(ctx, p, func() error {
			if !r.sites.renewable() {
				return r.notRenewable()
			}
			if r.Inspect == nil {
				return nil
			}
			return r.Inspect(ctx)
		})
		if r.Journal.Session() > 1 {
			err = r.dropAlone(ctx, p.index, 0, err)
		}
		if err != nil {
			return err // in the first session also an *armError: an arm that never worked is a mistake of the user
		}
	}
	r.clock.settingUp(time.Since(start))
	return nil
}

// turn runs one trial. If arms are up in turn, it first sets the arm up, and takes it down after the trial. An arm that
// cannot be set up is an *armError.
func (r *run) turn(ctx context.Context, id trialID) (t *journal.Trial, err error) {
	err = r.whileUp(ctx, r.sites.cells[id.step.Cell][id.step.Arm], func() error {
		t, err = r.trial(ctx, id)
		return err
	})
	return t, err
}

// whileUp calls do while an arm is up. If arms are up in turn, it first sets the arm up, and then takes it down. After
// an error that ends the run, the arm stays up until the run's end takes everything down.
func (r *run) whileUp(ctx context.Context, p *armSite, do func() error) error {
	if !r.plan.InTurn() {
		return do()
	}
	if err := p.open(ctx); err != nil {
		return &armError{fmt.Errorf("arm %s: %w", p.arm, err)}
	}
	r.Events(SiteReady{Arm: p.arm})
	r.skip() // setting up does not count as time of Tare itself
	err := do()
	if _, alone := errors.AsType[*armError](err); ctx.Err() != nil || err != nil && !alone {
		return cmp.Or(err, ctx.Err())
	}
	return cmp.Or(r.takeDownAlone(ctx, p), err)
}

// takeDownAlone takes one arm down, even if the context is cancelled. An error ends the run, since no other arm may be
// up beside this one.
func (r *run) takeDownAlone(ctx context.Context, p *armSite) error {
	whole := context.WithoutCancel(ctx)
	if err := r.sites.leave(whole); err != nil {
		return fmt.Errorf("turn a layer off: %w", err)
	}
	if err := r.layersDown(whole, p); err != nil {
		return err
	}
	if err := p.remove(whole); err != nil {
		return fmt.Errorf("arm %s cannot be taken down, and no other arm may be up beside it: %w", p.arm, err)
	}
	return nil
}
