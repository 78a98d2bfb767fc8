package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tare/experiment"
	"tare/journal"
	"tare/machine"
	"tare/testbed"
	"tare/workload"
)

// armError is an error that concerns one arm alone: the others can go on without it.
type armError struct{ err error }

func (e *armError) Error() string { return e.err.Error() }
func (e *armError) Unwrap() error { return e.err }

// DroppedError says that a run has gone on without some arms, and is complete but for them.
type DroppedError struct {
	Arms []string
	Err  error // why, for each of them
}

// Error names the arms and the reasons.
func (e *DroppedError) Error() string {
	return fmt.Sprintf("the run went on without %s: %v", strings.Join(e.Arms, ", "), e.Err)
}

// Unwrap gives the reasons.
func (e *DroppedError) Unwrap() error { return e.Err }

// whole makes sure before a trial that its place is whole. A place that is broken, or in
// which a proof failed, is set up anew, with its layers. A *testbed.Disturbance says that
// it is not whole yet; an *armError, that it will not be.
func (r *run) whole(ctx context.Context, p *place) error {
	_, renewable := testbed.As[testbed.Closer](p.bare)
	why := p.suspect
	p.suspect = ""
	if why == "" {
		why = p.unwell(ctx)
	}
	if m, ok := testbed.As[testbed.Mender](p.bare); ok && (why == "" || !renewable) {
		err := m.Mend(ctx)
		var broken *testbed.Broken
		switch {
		case errors.As(err, &broken) && renewable:
			why = broken.Error()
		case err != nil && !lost(err):
			return &armError{err}
		default:
			return err
		}
	}
	if why == "" || !renewable {
		return nil
	}
	r.Events(SetUpAnew{Arm: p.arm, Why: why})
	if err := r.Journal.Note(fmt.Sprintf("arm %s was set up anew: %s", p.arm, why)); err != nil {
		return err
	}
	if r.sites.on == p {
		if err := r.sites.leave(ctx); err != nil {
			return fmt.Errorf("turn a layer off: %w", err) // it would stay on for all arms
		}
	}
	// What is broken may not be taken down in order; that nothing of it is left, the proofs show.
	_ = p.remove(context.WithoutCancel(ctx))
	if err := p.open(ctx); err != nil {
		return &armError{fmt.Errorf("cannot be set up anew (%s): %w", why, err)}
	}
	r.skip()
	return nil
}

// doubt has a place set up anew before its next trial where one shows that it, or a layer,
// is not as it should be. A site that was lost is mended, if it can be.
func (p *place) doubt(t *journal.Trial) {
	_, mended := testbed.As[testbed.Mender](p.bare)
	for _, v := range t.Invalid {
		if v.Rule == workload.RuleProof || v.Rule == workload.RuleLost && !mended {
			p.suspect = v.Detail
			return
		}
	}
}

// lost says that an error is about the surroundings of a trial: the trial is
// invalid, and the run goes on.
func lost(err error) bool {
	var disturbance *testbed.Disturbance
	return errors.As(err, &disturbance)
}

// drop goes on without an arm, for the rest of the session: round is the first without it,
// 0 for all. It gives the error back where the others cannot go on: without a baseline,
// without a control that was planned, or without any arm to compare; in a pilot, because
// it sets the number of rounds for all arms; and where the context is done.
func (r *run) drop(ctx context.Context, arm, round int, why error) error {
	left := 0
	for a, other := range r.plan.Arms {
		if a != arm && !r.dropped[a] && other.Role == experiment.Treatment {
			left++
		}
	}
	_, reached := machine.Exhausted(why) // a limit of the system, which the other arms will reach as well
	if reached || ctx.Err() != nil || left == 0 || r.plan.Arms[arm].Role != experiment.Treatment || r.piloting() {
		return why
	}
	var alone *armError
	if errors.As(why, &alone) {
		why = alone.err
	}
	name := r.plan.Arms[arm].Name
	from := "from its beginning"
	if round > 0 {
		from = fmt.Sprintf("from round %d", round)
	}
	if err := r.Journal.LeaveOut(name, fmt.Sprintf("arm %s was left out %s on: %v", name, from, why)); err != nil {
		return err
	}
	r.Events(ArmDropped{Arm: name, Why: why})
	r.dropped[arm], r.clock.gone[name], r.why = true, true, append(r.why, why)
	for _, places := range r.sites.cells {
		p := places[arm]
		if r.sites.on == p {
			if err := r.sites.leave(ctx); err != nil {
				return errors.Join(why, err)
			}
		}
		_ = p.down(ctx)
	}
	return nil
}

// complete ends a session that has run all its rounds.
func (r *run) complete() error {
	if len(r.why) == 0 {
		return r.Journal.Finish()
	}
	e := &DroppedError{Err: errors.Join(r.why...)}
	for a, arm := range r.plan.Arms {
		if r.dropped[a] {
			e.Arms = append(e.Arms, arm.Name)
		}
	}
	return e
}
