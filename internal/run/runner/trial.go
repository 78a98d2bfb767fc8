package runner

import (
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
	"tare/internal/testbed"
	"tare/internal/workload"
)

// samplingLimit is the time limit for reading the conditions of a trial.
const samplingLimit = 30 * time.Second

// trialID identifies a trial.
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

// trial runs one trial with the proofs around it, applies the rules, records the trial, and cleans up
// after it. An error means that the run cannot continue. A broken rule is no error.
func (r *run) trial(ctx context.Context, id trialID) (*journal.Trial, error) {
	t, clear, err := r.carryOut(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.Journal.Append(t); err != nil {
		return nil, err
	}
	r.Events(r.doneEvent(t))
	if clear == nil {
		return t, nil
	}
	return t, r.clear(ctx, id, clear)
}

// carryOut runs a trial until it can be recorded. clear removes the workload's leftovers from the site;
// nil if there are none.
func (r *run) carryOut(ctx context.Context, id trialID) (t *journal.Trial, clear func(context.Context) error, err error) {
	cell, arm := r.plan.Cells[id.step.Cell], r.plan.Arms[id.step.Arm]
	p := r.sites.cells[id.step.Cell][id.step.Arm]
	r.Events(TrialStarted{Round: id.round, Rounds: r.clock.rounds, Cell: cell.ID, Arm: arm.Name, Attempt: id.attempt, Expected: cell.Expected, Progress: r.clock.progress(r.Journal.Trials())})
	err = r.ensureWhole(ctx, p)
	if err != nil && !isDisturbance(err) {
		return nil, nil, fmt.Errorf("arm %s, round %d: %w", arm.Name, id.round, err)
	}
	raw, rawErr := r.Journal.Raw(id.round, id.attempt, arm.Name, cell.ID)
	if rawErr != nil {
		return nil, nil, rawErr
	}
	r.used = true
	t = &journal.Trial{Round: id.round, Attempt: id.attempt, Position: id.position, SetUp: r.setUp, Cell: cell.ID, Arm: arm.Name, Raw: raw.Dir(), Checks: slices.Clone(p.once)}

	var checks []layer.Check
	if err == nil {
		if t.Switched, err = r.sites.enter(ctx, p); err != nil {
			return nil, nil, err
		}
		checks, err = p.before(ctx)
	}
	if _, reached := machine.Exhausted(err); reached {
		return nil, nil, fmt.Errorf("arm %s, round %d: %w", t.Arm, t.Round, err)
	}
	t.Checks = append(t.Checks, checks...)
	if failed := recordProofs(t, err); failed {
		t.Start = time.Now()
	} else if clear, err = r.measure(ctx, id, p, raw, t); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err // the unfinished trial is lost, as documented
	}
	p.suspectIfInvalid(t)
	t.Prepared += r.cleared
	now := time.Now()
	t.Harness.Around = now.Sub(r.last) - t.Prepared - t.Wall
	r.last, r.cleared = now, 0
	return t, clear, nil
}

// measure runs the workload and sets the trial's values, conditions and broken rules.
func (r *run) measure(ctx context.Context, id trialID, p *armSite, raw workload.Raw, t *journal.Trial) (clear func(context.Context) error, err error) {
	load := r.Expansion.Cells[id.step.Cell].Workload.(workload.Workload)
	m := load.Measures()
	limited, cancel := context.WithTimeout(ctx, m.Bound())
	defer cancel()
	t.Start = time.Now()
	site := &watchedSite{Site: p.site}
	trial := &workload.Trial{Site: site, Raw: raw, Round: id.round, Seed: r.plan.TrialSeed(id.round, id.step), Standing: p.service(load), Lateness: r.lateness()}
	prepare := func(ctx context.Context) (workload.Measured, error) { return load.Prepare(ctx, trial) }
	if m.Searches {
		prepare = func(ctx context.Context) (workload.Measured, error) { return r.search(ctx, p, load, trial, t) }
	}
	measured, err := prepare(limited)
	t.Prepared = time.Since(t.Start)
	var result workload.Result
	var layers cost
	part := "the preparation"
	if err == nil && t.Valid() {
		part = "the measured part"
		result, layers, err = r.observe(ctx, limited, p, measured, t)
	}
	late := ""
	if limited.Err() != nil && ctx.Err() == nil {
		late = fmt.Sprintf("%s was not done %v after the trial began, which is its limit", part, quantity.Duration(m.Bound()))
	}
	if err := failure(t, err, late); err != nil {
		return nil, fmt.Errorf("%s in arm %s, round %d: %w", t.Cell, t.Arm, t.Round, err)
	}
	if err := r.conclude(ctx, id, p, site, result, layers, t); err != nil {
		return nil, err
	}
	return trial.Clear, nil
}

// conclude completes a trial after its program has ended: it adds the results, gathers the proofs after
// it, and applies the rules.
func (r *run) conclude(ctx context.Context, id trialID, p *armSite, site *watchedSite, result workload.Result, layers cost, t *journal.Trial) error {
	site.judge(t)
	site.recordBehaviour(t, result)
	if !t.Valid() {
		conditions(t, t.Conditions, r.plan.Limits, "") // a broken limit may be the reason of the failure
		return nil
	}
	if t.Values == nil {
		t.Values = map[string]float64{}
	}
	maps.Copy(t.Values, result.Values)
	t.Used = layers.addTo(result.Used, t.Wall)
	if result.Resources != nil {
		t.Resources = result.Resources
	}
	if m := r.Expansion.Cells[id.step.Cell].Workload.Measures(); m.Cost != nil {
		addCosts(t, *m.Cost, &result, layers)
	}
	checks, err := p.after(ctx, r.plan.Cells[id.step.Cell].Kind, result)
	if _, reached := machine.Exhausted(err); reached {
		return fmt.Errorf("%s in arm %s, round %d: %w", t.Cell, t.Arm, t.Round, err)
	}
	t.Checks = append(t.Checks, checks...)
	recordProofs(t, err)
	judge(t, result, r.plan.Cells[id.step.Cell].Metrics, r.plan.Limits)
	return nil
}

// search prepares a trial whose preparation is a search. The limits on the machine's conditions hold
// during the search as they do during the measured part.
func (r *run) search(ctx context.Context, p *armSite, load workload.Workload, trial *workload.Trial, t *journal.Trial) (workload.Measured, error) {
	before, err := p.account()
	if err != nil {
		return nil, err
	}
	if err := r.Sampler.Start(ctx, p.bare); err != nil {
		return nil, err
	}
	measured, prepareErr := load.Prepare(ctx, trial)
	after, err := p.account()
	if err != nil {
		return nil, err
	}
	sample, err := r.Sampler.Stop(ctx, after.since(before).total())
	if err != nil {
		return nil, err
	}
	conditions(t, sample.Conditions, r.plan.Limits, " during the search")
	return measured, prepareErr
}

// observe runs the measured part of a trial and records its CPU time, conditions and the layers' cost.
// limited is the part's time limit.
func (r *run) observe(ctx, limited context.Context, p *armSite, measured workload.Measured, t *journal.Trial) (result workload.Result, layers cost, err error) {
	s, err := r.watch(ctx, limited, p, func(ctx context.Context) (err error) {
		result, err = measured(ctx)
		return err
	})
	return result, s.record(t), err
}

func addObserved(t *journal.Trial, observed map[string]testbed.Observed) {
	for name, o := range observed {
		if t.Values == nil {
			t.Values = map[string]float64{}
		}
		if o.Wall > 0 {
			t.Values[experiment.ObservedCPU(name)] = o.CPU.Seconds() / o.Wall.Seconds()
		}
		t.Values[experiment.ObservedMemory(name)] = float64(o.Memory)
	}
}

// failure records a workload's error as a broken rule, or returns it if it ends the run. late describes
// an exceeded time limit; "": none was exceeded.
func failure(t *journal.Trial, err error, late string) error {
	var invalid *workload.Invalid
	switch {
	case isDisturbance(err):
		violate(t, workload.RuleLost, err.Error())
	case late != "":
		violate(t, workload.RuleTimeout, late)
	case errors.As(err, &invalid):
		violate(t, invalid.Rule, invalid.Detail)
	default:
		return err
	}
	return nil
}

// recordProofs records the failed checks, or the error in gathering them, as broken rules. It reports whether
// there were any.
func recordProofs(t *journal.Trial, err error) bool {
	if err != nil {
		rule := workload.RuleProof
		if isDisturbance(err) {
			rule = workload.RuleLost
		}
		violate(t, rule, err.Error())
		return true
	}
	failed := false
	for _, c := range t.Checks {
		if !c.OK {
			failed = true
			violate(t, workload.RuleProof, fmt.Sprintf("%s: %s: expected %s, observed %s", c.Layer, c.Name, c.Expected, c.Observed))
		}
	}
	return failed
}
