package runner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/lists"
	"tare/internal/report/wording"
)

// groups divides rounds into nearly equal groups that share a set-up. The first rounds (field rounds) form setUps
// groups; setUps = 0: one group.
type groups struct{ setUps, rounds int }

// begins reports whether a round is the first of a group that needs a new set-up.
func (g groups) begins(round int) bool {
	return g.setUps > 0 && round > 1 && (round-1)*g.setUps/g.rounds != (round-2)*g.setUps/g.rounds
}

// every returns groups of the given number of rounds; 0: all rounds are one group.
func every(rounds int) groups { return groups{setUps: min(rounds, 1), rounds: rounds} }

// groupsOf returns how a plan groups rounds that share a set-up. With a goal of precision, groups are equally long:
// later rounds are not known yet.
func groupsOf(p *experiment.Plan) groups {
	switch n := int(p.SetUps); {
	case p.SetUps == experiment.SetUpsOnce:
		return every(0)
	case p.SetUps == experiment.SetUpsEveryRound || p.InTurn() || n >= p.Rounds:
		return every(1)
	case p.Precision > 0:
		return every(max(p.Rounds/n, 1))
	default:
		return groups{setUps: n, rounds: p.Rounds}
	}
}

// All set-ups together may take a quarter of the rounds' time. But a run of six rounds or more has six set-ups: fewer
// give no exact interval.
const (
	setUpShare   = 0.25
	fewestSetUps = 6
)

// affordable returns how many rounds share a set-up, so that set-ups take a limited share of time. fewest is the number
// of set-ups for a claim.
func affordable(setUp, round time.Duration, rounds, fewest int) int {
	most := max(rounds/max(fewest, fewestSetUps), 1)
	if round <= 0 {
		return most
	}
	return int(min(max(math.Ceil(float64(setUp)/(setUpShare*float64(round))), 1), float64(most)))
}

// begin sets up all arms for the first time in this session. It sets the number of rounds per set-up, if this number is
// known.
func (r *run) begin(ctx context.Context) error {
	all, err := plan(r.Expansion, r.Testbed, r.Journal)
	if err != nil {
		return err
	}
	r.sites = all
	older := false // set if the run was begun by an older version of Tare, which set up once per session
	for _, t := range r.Journal.Trials() {
		r.setUp = max(r.setUp, t.SetUp)
		older = older || t.SetUp == 0
	}
	if r.plan.InTurn() {
		r.groups = groupsOf(r.plan)
		return r.rehearse(ctx)
	}
	if err := r.setUpAll(ctx, 0); err != nil {
		return err
	}
	k, fixed := r.Journal.SetUps()
	switch {
	case older:
	case r.plan.SetUps != experiment.SetUpsAuto:
		r.groups = groupsOf(r.plan)
		if r.groups.setUps > 0 && !r.sites.renewable() {
			return r.notRenewable()
		}
	case fixed:
		r.groups = every(k)
	case !r.sites.renewable():
		return r.fixSetUps(0, "all arms stay as they are set up: the sites of this testbed cannot be taken down one by one")
	default:
		r.undecided = true
	}
	return nil
}

func (r *run) notRenewable() error {
	return fmt.Errorf("design.setups: %v: the sites of this testbed cannot be taken down one by one, which a new set-up needs: omit it, or set it to once", r.plan.SetUps)
}

// decide fixes the number of rounds per set-up before the second round. It compares the durations of a set-up and a
// round.
func (r *run) decide() error {
	if !r.undecided {
		return nil
	}
	var round time.Duration
	last := map[trialKey]time.Duration{} // duration of each trial's last attempt
	for _, t := range r.Journal.Trials() {
		if t.Round == 1 {
			last[trialKey{t.Round, t.Cell, t.Arm}] = t.Prepared + t.Wall + t.Harness.Around
		}
	}
	for _, d := range last {
		round += d
	}
	took := r.clock.setUp
	k := affordable(took, round, r.plan.Rounds, r.Fewest)
	rounds := "every round"
	if k > 1 {
		rounds = fmt.Sprintf("every %d rounds", k)
	}
	why := fmt.Sprintf("all arms are set up anew before %s: setting up takes %s, a round %s", rounds, roughDuration(took), roughDuration(round))
	if float64(took) > setUpShare*float64(round)*float64(k) {
		why += fmt.Sprintf("; of %s, a claim needs %d set-ups", wording.Count(r.plan.Rounds, "round", "rounds"), min(max(r.Fewest, fewestSetUps), r.plan.Rounds))
	}
	r.undecided = false
	return r.fixSetUps(k, why)
}

func (r *run) fixSetUps(k int, why string) error {
	if err := r.Journal.FixSetUps(k, why); err != nil {
		return err
	}
	r.groups = every(k)
	r.Events(SetUpsFixed{Every: k, Why: why})
	return nil
}

// roughDuration formats a duration briefly, such as 12ms, 3.1s, 2m10s.
func roughDuration(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, 100 * time.Millisecond, time.Millisecond} {
		if d > 20*unit {
			return quantity.Duration(d.Round(unit)).String()
		}
	}
	return quantity.Duration(d.Round(time.Microsecond)).String()
}

// renew sets up all arms anew if the round begins a group of rounds that share a set-up. It does nothing if no trial
// has run since the last set-up.
func (r *run) renew(ctx context.Context, round int) error {
	if !r.groups.begins(round) || !r.used {
		return nil
	}
	if r.plan.InTurn() { // every trial sets its arm up: the trials of a round count as one set-up
		r.setUp, r.used = r.setUp+1, false
		return nil
	}
	if err := r.sites.leave(ctx); err != nil {
		return fmt.Errorf("turn a layer off: %w", err) // the run ends: a layer that acts on all arms might stay on
	}
	start := time.Now()
	r.Events(SettingUp{Number: r.setUp + 1})
	if err := r.takeDown(ctx, round); err != nil {
		return err
	}
	if err := r.setUpAll(ctx, round); err != nil {
		return err
	}
	r.clock.settingUp(time.Since(start))
	r.skip()
	return nil
}

// takeDown takes down all layers and sites, even if the context is cancelled. A site is removed even if a layer fails:
// the proofs reveal leftovers.
func (r *run) takeDown(ctx context.Context, round int) error {
	whole := context.WithoutCancel(ctx)
	var up []*armSite
	for _, p := range r.sites.list {
		if p.bare == nil || r.dropped[p.index] {
			continue
		}
		up = append(up, p)
		if err := r.layersDown(whole, p); err != nil {
			return err
		}
	}
	errs := make([]error, len(up))
	var wait sync.WaitGroup
	for i, p := range up {
		wait.Go(func() { errs[i] = p.remove(whole) })
	}
	wait.Wait()
	for i, p := range up {
		if errs[i] == nil || r.dropped[p.index] {
			continue
		}
		if err := r.drop(ctx, p.index, round, fmt.Errorf("arm %s: cannot be taken down to be set up anew: %w", p.arm, errs[i])); err != nil {
			return err
		}
	}
	return nil
}

// layersDown takes an arm's services and layers down. A failure is only noted.
func (r *run) layersDown(ctx context.Context, p *armSite) error {
	if err := p.down(ctx); err != nil {
		return r.Journal.Note(fmt.Sprintf("arm %s was not taken down in order, to be set up anew: %v", p.arm, err))
	}
	return nil
}

// setUpsLeft counts the set-ups to come, if they are not part of the trials' time.
func (r *run) setUpsLeft(round, total int) int {
	n := 0
	if r.plan.InTurn() {
		return n
	}
	for ; round <= total; round++ {
		if r.groups.begins(round) {
			n++
		}
	}
	return n
}

type siteStep func(*armSite, context.Context) error

// setUpAtOnce is the maximum number of sites that inParallel sets up at a time.
const setUpAtOnce = 4

// setUpAll sets up the sites of all arms in a new random order; round 0: the session begins. If an arm that worked
// before fails, it may be left out.
func (r *run) setUpAll(ctx context.Context, round int) error {
	start := time.Now()
	r.setUp, r.used = r.setUp+1, false
	list := lists.Map(r.plan.SetUpOrder(r.setUp, len(r.sites.list)), func(at int) *armSite { return r.sites.list[at] })
	if err := r.forEach(ctx, round, list, (*armSite).putUp); err != nil {
		return err
	}
	if err := r.forEach(ctx, round, list, r.inParallel(ctx, list, (*armSite).ready)); err != nil {
		return err
	}
	if err := r.forEach(ctx, round, list, (*armSite).settle); err != nil {
		return err
	}
	serving := r.inParallel(ctx, list, (*armSite).serve)
	err := r.forEach(ctx, round, list, func(p *armSite, ctx context.Context) error {
		if err := serving(p, ctx); err != nil {
			return err
		}
		r.Events(SiteReady{Arm: p.arm})
		return nil
	})
	if err == nil && round == 0 {
		r.clock.settingUp(time.Since(start))
	}
	return err
}

// inParallel carries out one step for several sites at a time. The returned function returns the error of a site.
func (r *run) inParallel(ctx context.Context, list []*armSite, step siteStep) siteStep {
	var group errgroup.Group
	group.SetLimit(setUpAtOnce)
	errs := make([]error, len(list))
	for i, p := range list {
		if !r.dropped[p.index] {
			group.Go(func() error {
				errs[i] = step(p, ctx)
				return nil
			})
		}
	}
	_ = group.Wait()
	return func(p *armSite, _ context.Context) error { return errs[slices.Index(list, p)] }
}

func (r *run) forEach(ctx context.Context, round int, list []*armSite, step siteStep) error {
	for _, p := range list {
		if r.dropped[p.index] {
			continue
		}
		if err := step(p, ctx); err != nil {
			err = fmt.Errorf("arm %s: %w", p.arm, err)
			if r.Journal.Session() == 1 && round == 0 {
				return err // an arm that never worked is a mistake of the user, and so is not dropped
			}
			if err := r.drop(ctx, p.index, round, err); err != nil {
				return err
			}
		}
	}
	return nil
}
