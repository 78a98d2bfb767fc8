package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// armError is an error that concerns one arm only. The run can continue without this arm.
type armError struct{ err error }

func (e *armError) Error() string { return e.err.Error() }
func (e *armError) Unwrap() error { return e.err }

// DroppedError reports that a run is complete, but lacks the arms that the session left out.
type DroppedError struct {
	Arms []string
	Err  error // the reasons, one for each arm
}

// Error names the arms that were left out, and the reasons.
func (e *DroppedError) Error() string {
	return fmt.Sprintf("the run went on without %s: %v", strings.Join(e.Arms, ", "), e.Err)
}

// Unwrap returns the reasons.
func (e *DroppedError) Unwrap() error { return e.Err }

// ensureWhole sets up a broken or suspect site anew. The error is a *testbed.Disturbance if the site may recover, and
// an *armError if not.
func (r *run) ensureWhole(ctx context.Context, p *armSite) error {
	_, renewable := testbed.As[testbed.Closer](p.bare)
	why := p.suspect
	p.suspect = ""
	for _, standing := range p.services {
		if why == "" {
			if err := standing.Check(ctx); err != nil && ctx.Err() == nil {
				why = err.Error()
			}
		}
	}
	if m, ok := testbed.As[testbed.Mender](p.bare); ok && (why == "" || !renewable) {
		err := m.Mend(ctx)
		switch broken, is := errors.AsType[*testbed.Broken](err); {
		case is && renewable:
			why = broken.Error()
		case err != nil && !isDisturbance(err):
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
			return fmt.Errorf("turn a layer off: %w", err) // the run ends, since the layer might stay on for all arms
		}
	}
	// A broken site may not come down cleanly, so errors are ignored here. The proofs after the new set-up reveal what
	// is left.
	_ = p.remove(context.WithoutCancel(ctx))
	if err := p.open(ctx); err != nil {
		return &armError{fmt.Errorf("cannot be set up anew (%s): %w", why, err)}
	}
	r.skip()
	return nil
}

// suspectIfInvalid marks the site for a new set-up after a failed proof, or after the loss of a site that cannot be
// mended.
func (p *armSite) suspectIfInvalid(t *journal.Trial) {
	_, mended := testbed.As[testbed.Mender](p.bare)
	fault := func(v journal.Violation) bool {
		return v.Rule == workload.RuleProof || v.Rule == workload.RuleLost && !mended
	}
	if i := slices.IndexFunc(t.Invalid, fault); i >= 0 {
		p.suspect = t.Invalid[i].Detail
	}
}

// isDisturbance reports whether an error comes from a trial's surroundings. The trial is then invalid, and the run
// continues.
func isDisturbance(err error) bool {
	_, is := errors.AsType[*testbed.Disturbance](err)
	return is
}

// drop leaves out an arm from the given round on, until the session ends. drop returns the error why unchanged if the
// session cannot go on without the arm.
func (r *run) drop(ctx context.Context, arm, round int, why error) error {
	left := false
	for a, other := range r.plan.Arms {
		left = left || a != arm && !r.dropped[a] && other.Role == experiment.Treatment
	}
	_, reached := machine.Exhausted(why) // a limit of this process stops all arms, so leaving one out is no help
	if reached || ctx.Err() != nil || !left || r.plan.Arms[arm].Role != experiment.Treatment || r.piloting() {
		return why
	}
	if alone, ok := errors.AsType[*armError](why); ok {
		why = alone.err
	}
	name := r.plan.Arms[arm].Name
	from := "from its beginning"
	if round > 0 {
		from = fmt.Sprintf("from round %d", round)
	}
	text := fmt.Sprintf("arm %s was left out %s on: %v", name, from, why)
	if err := r.Journal.Record(journal.Note{Kind: journal.NoteLeftOut, Arm: name, Text: text}); err != nil {
		return err
	}
	r.Events(ArmDropped{Arm: name, Why: why})
	r.dropped[arm], r.reasons = true, append(r.reasons, why)
	for _, armSites := range r.sites.cells {
		p := armSites[arm]
		if r.sites.on == p {
			if err := r.sites.leave(ctx); err != nil {
				return errors.Join(why, err)
			}
		}
		_ = p.down(ctx)
	}
	return nil
}

// dropAlone leaves out an arm if the error is an *armError. Any other error is returned unchanged.
func (r *run) dropAlone(ctx context.Context, arm, round int, why error) error {
	if _, alone := errors.AsType[*armError](why); alone {
		return r.drop(ctx, arm, round, why)
	}
	return why
}

func (r *run) complete() error {
	if len(r.reasons) == 0 {
		return r.Journal.Finish()
	}
	e := &DroppedError{Err: errors.Join(r.reasons...)}
	for a, arm := range r.plan.Arms {
		if r.dropped[a] {
			e.Arms = append(e.Arms, arm.Name)
		}
	}
	return e
}
