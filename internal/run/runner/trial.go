package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/workload"
)

// samplingLimit is the time limit for reading the conditions of a trial.
const samplingLimit = 30 * time.Second

type trialID struct {
	round, attempt, position int
	step                     experiment.Step
}

func (r *run) doneEvent(t *journal.Trial) TrialDone {
	e := TrialDone{Trial: t, Progress: r.clock.progress(r.Journal.Trials())}
	switch v, spoilt := r.spoilingRule(t); {
	case t.Valid():
	case spoilt && repeats(t, r.cpuLimited()):
		e.Why = v
	default:
		e.Why, e.Failed = t.Invalid[0], true
	}
	return e
}

// armTrial is a trial of one arm while it runs.
type armTrial struct {
	id    trialID
	p     *armSite
	t     *journal.Trial
	load  workload.Workload
	site  *watchedSite
	trial *workload.Trial

	ctx    context.Context // context of a sliced trial; it lasts from the first slice to the last
	cancel context.CancelFunc
	limit  time.Duration // time limit of the trial
	left   time.Duration // part of the limit left to a sliced trial; the time of other arms' slices does not count
	sliced workload.Sliced
	seen   observation // observations of the slices so far
}

// trial runs one trial with its proofs, applies the rules, records it, and cleans up. A broken rule is no error. An
// error ends the run.
func (r *run) trial(ctx context.Context, id trialID) (*journal.Trial, error) {
	cell := r.plan.Cells[id.step.Cell]
	r.Events(TrialStarted{Round: id.round, Rounds: r.clock.rounds, Cell: cell.ID, Arm: r.plan.Arms[id.step.Arm].Name, Attempt: id.attempt,
		Expected: cell.Expected, Progress: r.clock.progress(r.Journal.Trials())})
	u, err := r.beginTrial(ctx, id)
	if err != nil {
		return nil, err
	}
	defer u.cancel()
	u.t.Start = time.Now()
	if u.t.Valid() {
		err = r.measure(ctx, u)
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err // the trial is unfinished: it is lost, and not recorded
	}
	u.p.suspectIfInvalid(u.t)
	_, err = r.record(ctx, []*armTrial{u})
	return u.t, err
}

// beginTrial makes sure that an arm's site is in order, and makes the proofs before the trial.
func (r *run) beginTrial(ctx context.Context, id trialID) (*armTrial, error) {
	cell, arm := r.plan.Cells[id.step.Cell], r.plan.Arms[id.step.Arm]
	p := r.sites.cells[id.step.Cell][id.step.Arm]
	failed := func(err error) error { return fmt.Errorf("arm %s, round %d: %w", arm.Name, id.round, err) }
	load, sliced := r.Expansion.Cells[id.step.Cell].Workload.(workload.Workload), cell.Slices > 0
	if _, can := load.(workload.Sliceable); sliced && !can {
		return nil, failed(fmt.Errorf("trials of %s cannot be cut into slices", cell.ID))
	}
	whole := r.ensureWhole(ctx, p)
	if whole != nil && !isDisturbance(whole) {
		return nil, failed(whole)
	}
	if switches := p.switches(); sliced && len(switches) > 0 {
		return nil, failed(fmt.Errorf("trials cannot be cut into slices: the layer %s is turned on and off for all arms between trials", switches[0].kind))
	}
	raw, err := r.Journal.Raw(id.round, id.attempt, arm.Name, cell.ID)
	if err != nil {
		return nil, err
	}
	r.used = true
	m := load.Measures()
	if sliced {
		m = m.Cut(cell.Slices)
	}
	u := &armTrial{id: id, p: p, load: load, site: &watchedSite{Site: p.site, behaviour: workload.Behaviour{}}, limit: m.Bound(), left: m.Bound()}
	u.t = &journal.Trial{Round: id.round, Attempt: id.attempt, Position: id.position, SetUp: r.setUp, Slices: cell.Slices, Cell: cell.ID, Arm: arm.Name,
		Raw: raw.Dir(), Start: time.Now(), Checks: slices.Clone(p.once)}
	u.trial = &workload.Trial{Site: u.site, Raw: raw, Round: id.round, Seed: r.plan.TrialSeed(id.round, id.step), Lateness: r.lateness()}
	if w, ok := load.(workload.Resident); ok {
		u.trial.Standing = p.services[w.Shared()]
	}
	var checks []layer.Check
	err = whole
	if err == nil && !sliced {
		if u.t.Switched, err = r.sites.enter(ctx, p); err != nil {
			return nil, err
		}
	}
	if err == nil {
		checks, err = p.before(ctx)
	}
	if _, reached := machine.Exhausted(err); reached {
		return nil, failed(err)
	}
	u.ctx, u.cancel = context.WithCancel(ctx)
	u.recordProofs(checks, err)
	return u, nil
}

// measure runs the workload and sets the trial's values, conditions and broken rules.
func (r *run) measure(ctx context.Context, u *armTrial) error {
	limited, cancel := context.WithTimeout(ctx, u.limit)
	defer cancel()
	prepare := u.load.Prepare
	if u.load.Measures().Searches {
		prepare = func(ctx context.Context, _ *workload.Trial) (workload.Measured, error) { return r.search(ctx, u) }
	}
	measured, err := prepare(limited, u.trial)
	u.t.Prepared = time.Since(u.t.Start)
	var result workload.Result
	var layers cost
	part := "the preparation"
	if err == nil && u.t.Valid() {
		part = "the measured part"
		var seen observation
		seen, err = r.watch(ctx, limited, u.p, func(ctx context.Context) (err error) {
			result, err = measured(ctx)
			return err
		})
		layers = seen.record(u.t)
	}
	late := ""
	if limited.Err() != nil && ctx.Err() == nil {
		late = fmt.Sprintf("%s was not done %v after the trial began, which is its limit", part, quantity.Duration(u.limit))
	}
	if err := u.failure(err, late); err != nil {
		return err
	}
	return r.conclude(ctx, u, result, layers)
}

func (u *armTrial) failed(err error) error {
	return fmt.Errorf("%s in arm %s, round %d: %w", u.t.Cell, u.t.Arm, u.t.Round, err)
}

// conclude completes a trial whose program has ended. It adds the results, makes the proofs after the trial, and
// applies the rules.
func (r *run) conclude(ctx context.Context, u *armTrial, result workload.Result, layers cost) error {
	t, cell := u.t, r.plan.Cells[u.id.step.Cell]
	u.site.judge(t)
	u.site.recordBehaviour(t, result)
	if !t.Valid() {
		conditions(t, t.Conditions, r.plan.Limits, "") // checked even after a failure, which a broken limit may explain
		return nil
	}
	addValues(t, result.Values)
	t.Used = layers.addTo(result.Used, t.Wall)
	if result.Resources != nil {
		t.Resources = result.Resources
	}
	if m := u.load.Measures(); m.Cost != nil {
		addCosts(t, *m.Cost, &result, layers)
	}
	checks, err := u.p.after(ctx, cell.Kind, result)
	if _, reached := machine.Exhausted(err); reached {
		return u.failed(err)
	}
	u.recordProofs(checks, err)
	judge(t, result, cell.Metrics, r.plan.Limits)
	return nil
}

// record writes trials that ran together to the journal, and cleans up. Each trial gets an equal share of Tare's own
// time.
func (r *run) record(ctx context.Context, turns []*armTrial) (trials []*journal.Trial, err error) {
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
	for _, u := range turns {
		u.t.Harness.Around = around / time.Duration(len(turns))
		if err := r.Journal.Append(u.t); err != nil {
			return nil, err
		}
		trials = append(trials, u.t)
		r.Events(r.doneEvent(u.t))
	}
	for _, u := range turns {
		if u.trial.Clear != nil {
			if err := r.clear(ctx, u.id, u.trial.Clear); err != nil {
				return nil, err
			}
		}
	}
	return trials, nil
}

// search runs the search that a trial begins with. It has the same limits on the machine's condition as the measured
// part.
func (r *run) search(ctx context.Context, u *armTrial) (workload.Measured, error) {
	before, err := u.p.account()
	if err != nil {
		return nil, err
	}
	if err := r.Sampler.Start(ctx, u.p.bare); err != nil {
		return nil, err
	}
	measured, prepareErr := u.load.Prepare(ctx, u.trial)
	after, err := u.p.account()
	if err != nil {
		return nil, err
	}
	sample, err := r.Sampler.Stop(ctx, after.plus(before, -1).total())
	if err != nil {
		return nil, err
	}
	conditions(u.t, sample.Conditions, r.plan.Limits, " during the search")
	return measured, prepareErr
}

func addValues(t *journal.Trial, values map[string]float64) {
	if t.Values == nil {
		t.Values = map[string]float64{}
	}
	maps.Copy(t.Values, values)
}

// failure turns a workload's error into a broken rule, or returns an error that ends the run. late describes an
// exceeded time limit; "": none.
func (u *armTrial) failure(err error, late string) error {
	switch invalid, is := errors.AsType[*workload.Invalid](err); {
	case isDisturbance(err):
		violate(u.t, workload.RuleLost, err.Error())
	case late != "":
		violate(u.t, workload.RuleTimeout, late)
	case is:
		violate(u.t, invalid.Rule, invalid.Detail)
	case err != nil:
		return u.failed(err)
	}
	return nil
}

// recordProofs adds checks to the trial. A failed check becomes a broken rule, as does the error that prevented a
// check.
func (u *armTrial) recordProofs(checks []layer.Check, err error) {
	u.t.Checks = append(u.t.Checks, checks...)
	switch {
	case isDisturbance(err):
		violate(u.t, workload.RuleLost, err.Error())
	case err != nil:
		violate(u.t, workload.RuleProof, err.Error())
	default:
		for _, c := range u.t.Checks {
			if !c.OK {
				violate(u.t, workload.RuleProof, fmt.Sprintf("%s: %s: expected %s, observed %s", c.Layer, c.Name, c.Expected, c.Observed))
			}
		}
	}
}
