package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/testbed"
	"tare/wording"
)

// blocks says which rounds share a set-up: so many set-ups in so many rounds, in blocks
// that are as equal as can be, and at that rate beyond. With 0 set-ups all rounds share one.
type blocks struct{ setUps, rounds int }

// of numbers the block of a round.
func (b blocks) of(round int) int {
	if b.setUps == 0 {
		return 0
	}
	return (round - 1) * b.setUps / b.rounds
}

// begins says whether a round is the first of its block.
func (b blocks) begins(round int) bool { return round > 1 && b.of(round) != b.of(round-1) }

// every is a set-up for so many rounds; 0: one for all.
func every(rounds int) blocks {
	if rounds == 0 {
		return blocks{}
	}
	return blocks{setUps: 1, rounds: rounds}
}

// blocksOf gives the blocks of a plan that sets them itself. With a precision goal the number
// of rounds is not known before the pilot is over: the blocks of the pilot, of equal length,
// go on after it.
func blocksOf(p *experiment.Plan) blocks {
	switch n := int(p.SetUps); {
	case p.SetUps == experiment.SetUpsOnce:
		return every(0)
	case p.SetUps == experiment.SetUpsEveryRound || n >= p.Rounds:
		return every(1)
	case p.Precision > 0:
		return every(max(p.Rounds/n, 1))
	default:
		return blocks{setUps: n, rounds: p.Rounds}
	}
}

// The set-ups of a run may take a quarter of the time of its rounds. But there are never fewer
// than six where there are so many rounds: fewer give no exact interval.
const (
	setUpShare   = 0.25
	fewestSetUps = 6
)

// affordable is how many rounds are to share a set-up, when setting up and a round take so
// long, in a run of so many rounds that needs so many set-ups for a claim.
func affordable(setUp, round time.Duration, rounds, fewest int) int {
	most := max(rounds/max(fewest, fewestSetUps), 1)
	if round <= 0 {
		return most
	}
	return int(min(max(math.Ceil(float64(setUp)/(setUpShare*float64(round))), 1), float64(most)))
}

// begin sets all arms up for the first time in this session, and finds out how
// often that is to be done.
func (r *run) begin(ctx context.Context) error {
	all, err := plan(r.Expansion, r.Testbed, r.Journal)
	if err != nil {
		return err
	}
	r.sites = all
	older := false // the run was begun by a Tare that set up once in a session
	for _, t := range r.Journal.Trials() {
		r.setUp = max(r.setUp, t.SetUp)
		older = older || t.SetUp == 0
	}
	if err := r.setUpAll(ctx, 0); err != nil {
		return err
	}
	k, fixed := r.Journal.SetUps()
	switch {
	case older:
	case r.plan.SetUps != experiment.SetUpsAuto:
		r.blocks = blocksOf(r.plan)
		if r.blocks.setUps > 0 && !r.sites.renewable() {
			return fmt.Errorf("design.setups: %v: the sites of this testbed cannot be taken down one by one, and so not be set up anew: leave it out, or set it to once", r.plan.SetUps)
		}
	case fixed:
		r.blocks = every(k)
	case !r.sites.renewable():
		return r.fixSetUps(0, "all arms stay as they are set up: the sites of this testbed cannot be taken down one by one")
	default:
		r.undecided = true
	}
	return nil
}

// decide fixes how often all arms are set up anew, before the second round. It knows then how
// long setting up and a round take.
func (r *run) decide() error {
	if !r.undecided {
		return nil
	}
	var round time.Duration
	last := map[step]time.Duration{} // of several attempts, one
	for _, t := range r.Journal.Trials() {
		if t.Round == 1 {
			last[step{t.Round, t.Cell, t.Arm}] = t.Prepared + t.Wall + t.Harness.Around
		}
	}
	for _, d := range last {
		round += d
	}
	took := r.clock.setUp
	k := affordable(took, round, r.plan.Rounds, r.Fewest)
	why := fmt.Sprintf("all arms are set up anew before %s: setting up takes %s, a round %s", everyRounds(k), rough(took), rough(round))
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
	r.blocks = every(k)
	r.Events(SetUpsFixed{Every: k, Why: why})
	return nil
}

// rough writes a time that people compare with another one: 12ms, 3.1s, 2m10s.
func rough(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, 100 * time.Millisecond, time.Millisecond} {
		if d > 20*unit {
			return quantity.Duration(d.Round(unit)).String()
		}
	}
	return quantity.Duration(d.Round(time.Microsecond)).String()
}

// everyRounds says "every round", "every 2 rounds".
func everyRounds(k int) string {
	if k == 1 {
		return "every round"
	}
	return fmt.Sprintf("every %d rounds", k)
}

// renew sets all arms up anew before a round that begins a block. It does nothing where no
// trial has run since the last time.
func (r *run) renew(ctx context.Context, round int) error {
	if !r.blocks.begins(round) || !r.used {
		return nil
	}
	if err := r.sites.leave(ctx); err != nil {
		return fmt.Errorf("turn a layer off: %w", err) // it would stay on for all arms
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

// takeDown takes all places down, to be set up anew: layer by layer, then all sites at once. What is
// begun is brought to its end, so that nothing is left behind. A layer that cannot be taken
// down in order, because it broke since the last trial, goes with the site; that nothing of
// it is left, the proofs show.
func (r *run) takeDown(ctx context.Context, round int) error {
	whole := context.WithoutCancel(ctx)
	var up []placed
	for _, at := range r.sites.places {
		if at.place.bare == nil || r.dropped[at.arm] {
			continue
		}
		up = append(up, at)
		if err := at.place.down(whole); err != nil {
			if err := r.Journal.Note(fmt.Sprintf("arm %s was not taken down in order, to be set up anew: %v", at.place.arm, err)); err != nil {
				return err
			}
		}
	}
	errs := make([]error, len(up))
	var wait sync.WaitGroup
	for i, at := range up {
		wait.Go(func() { errs[i] = at.place.remove(whole) })
	}
	wait.Wait()
	for i, at := range up {
		if errs[i] == nil || r.dropped[at.arm] {
			continue
		}
		if err := r.drop(ctx, at.arm, round, fmt.Errorf("arm %s: cannot be taken down to be set up anew: %w", at.place.arm, errs[i])); err != nil {
			return err
		}
	}
	return nil
}

// toCome counts the set-ups from a round on.
func (r *run) toCome(round, total int) int {
	n := 0
	for ; round <= total; round++ {
		if r.blocks.begins(round) {
			n++
		}
	}
	return n
}

// setUpAtOnce is how many arms take a step of setting up at the same time, where it takes long
// and one does not disturb the other.
const setUpAtOnce = 4

// setUpAll sets up every arm at every level of the testbed, with its layers, in an order that
// is drawn anew each time. Round is the one that comes next, 0 at the beginning of a session.
// An arm that has worked before may be left out. Layers go up one after the other; pods are
// made, and servers started, for several arms at a time.
func (r *run) setUpAll(ctx context.Context, round int) error {
	start := time.Now()
	r.setUp, r.used = r.setUp+1, false
	places := make([]placed, len(r.sites.places))
	for i, at := range r.plan.SetUpOrder(r.setUp, len(places)) {
		places[i] = r.sites.places[at]
	}
	if err := r.each(ctx, round, places, (*place).raise); err != nil {
		return err
	}
	if err := r.each(ctx, round, places, r.together(ctx, places, (*place).ready)); err != nil {
		return err
	}
	if err := r.each(ctx, round, places, (*place).settle); err != nil {
		return err
	}
	serving := r.together(ctx, places, (*place).serve)
	err := r.each(ctx, round, places, func(p *place, ctx context.Context) error {
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

// together takes one step at several places at a time, and gives the step that says how it
// went at each.
func (r *run) together(ctx context.Context, places []placed, step func(*place, context.Context) error) func(*place, context.Context) error {
	var mu sync.Mutex
	var wait sync.WaitGroup
	made := make(map[*place]error, len(places))
	turn := make(chan struct{}, setUpAtOnce)
	for _, at := range places {
		if r.dropped[at.arm] {
			continue
		}
		wait.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			err := step(at.place, ctx)
			mu.Lock()
			defer mu.Unlock()
			made[at.place] = err
		})
	}
	wait.Wait()
	return func(p *place, _ context.Context) error { return made[p] }
}

// each takes one step of setting up at all places.
func (r *run) each(ctx context.Context, round int, places []placed, step func(*place, context.Context) error) error {
	for _, at := range places {
		if r.dropped[at.arm] {
			continue
		}
		if err := step(at.place, ctx); err != nil {
			err = fmt.Errorf("arm %s: %w", at.place.arm, err)
			if r.Journal.Session() == 1 && round == 0 {
				return err // what never worked is a mistake to be mended, and no accident
			}
			if err := r.drop(ctx, at.arm, round, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove takes down a place, layers first.
func (p *place) remove(ctx context.Context) error {
	err := p.down(ctx)
	if site, ok := testbed.As[testbed.Closer](p.bare); ok {
		err = errors.Join(err, site.Close())
	}
	p.bare, p.site, p.suspect = nil, nil, ""
	return err
}

// renewable says whether all places that are set up can be taken down one by one.
func (s *sites) renewable() bool {
	return !slices.ContainsFunc(s.places, func(at placed) bool {
		_, ok := testbed.As[testbed.Closer](at.place.bare)
		return at.place.bare != nil && !ok
	})
}
