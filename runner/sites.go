package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
	"tare/workload"
)

// teardownLimit bounds how long taking one layer down may take, unless it says so itself.
const teardownLimit = 20 * time.Second

// place is one arm at one level of the testbed: the site, the layers that are on
// there, and those of other arms that must be off.
type place struct {
	bare   testbed.Site // as the testbed made it
	site   testbed.Site // as the workload sees it, through the layers' wrappers
	active []layer.Active
	absent []absent
}

// sites holds the places of a run. Cells at the same level of the testbed share
// the place of an arm.
type sites struct {
	cells  [][]*place // by cell and arm
	opened []*place
	// on is the place whose exclusive layers are on; nil: none are.
	on *place
}

// openSites sets up every arm at every level of the testbed, with its layers.
func openSites(ctx context.Context, x *experiment.Expansion, bed testbed.Testbed, resumed bool, event func(Event)) (*sites, error) {
	s := &sites{cells: make([][]*place, len(x.Cells))}
	if resumed {
		resume(x)
	}
	byLevel := map[string][]*place{}
	for c, cell := range x.Cells {
		level, err := json.Marshal(x.Plan.Cells[c].Testbed)
		if err != nil {
			return nil, fmt.Errorf("testbed of %s: %w", x.Plan.Cells[c].ID, err)
		}
		asked, err := json.Marshal(x.Needs(c, 0))
		if err != nil {
			return nil, fmt.Errorf("needs of %s: %w", x.Plan.Cells[c].ID, err)
		}
		key := fmt.Sprintf("%s %s", level, asked)
		if byLevel[key] == nil {
			for a := range x.Plan.Arms {
				p, err := open(ctx, x, a, bed, testbed.Request{Name: x.Plan.Arms[a].Name, Needs: x.Needs(c, a), Level: cell.Testbed.Level()})
				if err != nil {
					err = fmt.Errorf("arm %s: %w", x.Plan.Arms[a].Name, err)
					return nil, errors.Join(err, s.close(context.WithoutCancel(ctx)))
				}
				s.opened = append(s.opened, p)
				byLevel[key] = append(byLevel[key], p)
				event(SiteReady{Arm: x.Plan.Arms[a].Name})
			}
		}
		s.cells[c] = byLevel[key]
	}
	return s, nil
}

// open sets up one arm at one level and puts its layers up, from the first
// (innermost) to the last.
func open(ctx context.Context, x *experiment.Expansion, arm int, bed testbed.Testbed, want testbed.Request) (*place, error) {
	site, err := bed.Open(ctx, want)
	if err != nil {
		return nil, err
	}
	p := &place{bare: site}
	for _, item := range x.Layers[arm] {
		l, ok := item.Config.(layer.Layer)
		if !ok {
			return nil, fmt.Errorf("layer %s cannot be run", item.Kind)
		}
		up, err := l.Up(ctx, site)
		if err != nil {
			err = fmt.Errorf("layer %s: %w", item.Kind, err)
			return nil, errors.Join(err, p.down(context.WithoutCancel(ctx)))
		}
		p.active = append(p.active, up)
		if err := shown(item.Kind, up); err != nil {
			return nil, errors.Join(err, p.down(context.WithoutCancel(ctx)))
		}
	}
	if staged, ok := testbed.As[testbed.Staged](site); ok {
		if err := staged.Ready(ctx); err != nil {
			return nil, errors.Join(err, p.down(context.WithoutCancel(ctx)))
		}
	}
	for i, item := range x.Layers[arm] {
		if err := settle(ctx, item.Kind, p.active[i], site); err != nil {
			return nil, errors.Join(err, p.down(context.WithoutCancel(ctx)))
		}
	}
	p.site = layer.Dress(site, p.active)
	p.absent = absentLayers(x, arm)
	return p, nil
}

// settle gathers the proofs of a layer that need the site as it was made.
func settle(ctx context.Context, kind string, up layer.Active, site testbed.Site) error {
	settler, ok := up.(layer.Settler)
	if !ok {
		return nil
	}
	if err := settler.Settle(ctx, site); err != nil {
		return fmt.Errorf("layer %s: %w", kind, err)
	}
	return shown(kind, up)
}

// shown says which of the proofs that were made once shows that a layer is not on.
func shown(kind string, up layer.Active) error {
	for _, check := range up.Proofs() {
		if !check.OK {
			return fmt.Errorf("layer %s is not on: %s: expected %s, observed %s", kind, check.Name, check.Expected, check.Observed)
		}
	}
	return nil
}

// resume tells the layers that an earlier session may have left something.
func resume(x *experiment.Expansion) {
	for _, items := range x.Layers {
		for _, item := range items {
			if l, ok := item.Config.(layer.Resuming); ok {
				l.Resume()
			}
		}
	}
}

func downLimit(l layer.Active) time.Duration {
	if slow, ok := l.(layer.Slow); ok {
		return slow.DownLimit()
	}
	return teardownLimit
}

// down takes the layers of a place down, the last one first.
func (p *place) down(ctx context.Context) error {
	var errs []error
	for i := len(p.active) - 1; i >= 0; i-- {
		limited, cancel := context.WithTimeout(ctx, downLimit(p.active[i]))
		errs = append(errs, p.active[i].Down(limited))
		cancel()
	}
	return errors.Join(errs...)
}

// close takes everything down. What is switched for everyone goes first: a layer
// that puts back what it found must be the last to turn it.
func (s *sites) close(ctx context.Context) error {
	var errs []error
	if s.on != nil {
		for _, l := range slices.Backward(s.on.exclusive()) {
			limited, cancel := context.WithTimeout(ctx, downLimit(l))
			errs = append(errs, l.Off(limited))
			cancel()
		}
	}
	for _, p := range s.opened {
		errs = append(errs, p.down(ctx))
	}
	return errors.Join(errs...)
}

// enter turns the exclusive layers of the place on that the next trial runs in,
// after those of the place before have been turned off, and waits as long as the
// longest of them takes to settle. It says whether anything was turned.
func (s *sites) enter(ctx context.Context, p *place) (switched bool, err error) {
	if s.on == p {
		return false, nil
	}
	var turned []layer.Exclusive
	if s.on != nil {
		for _, l := range slices.Backward(s.on.exclusive()) {
			if err := l.Off(ctx); err != nil {
				return true, fmt.Errorf("turn a layer off: %w", err)
			}
			turned = append(turned, l)
		}
	}
	s.on = p
	for _, l := range p.exclusive() {
		if err := l.On(ctx); err != nil {
			return true, fmt.Errorf("turn a layer on: %w", err)
		}
		turned = append(turned, l)
	}
	return len(turned) > 0, rest(ctx, settling(turned))
}

// settling is the longest time that any of the layers takes to settle.
func settling(turned []layer.Exclusive) time.Duration {
	var longest time.Duration
	for _, l := range turned {
		if l, ok := l.(layer.Settling); ok {
			longest = max(longest, l.Settling())
		}
	}
	return longest
}

func rest(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return nil
	}
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exclusive lists the active layers that cannot be on beside other arms.
func (p *place) exclusive() []layer.Exclusive {
	var found []layer.Exclusive
	for _, a := range p.active {
		if e, ok := a.(layer.Exclusive); ok && e.Exclusive() {
			found = append(found, e)
		}
	}
	return found
}

// layersCPU is the CPU time that the layers' own processes have used so far.
func (p *place) layersCPU() (time.Duration, error) {
	var sum time.Duration
	for _, a := range p.active {
		used, own, err := a.CPU()
		if err != nil {
			return 0, err
		}
		if own {
			sum += used
		}
	}
	return sum, nil
}

// before gathers the evidence that holds before a trial: the arm's layers are
// on, the others' are off.
func (p *place) before(ctx context.Context) ([]layer.Check, error) {
	var checks []layer.Check
	for _, a := range p.active {
		got, err := a.Before(ctx, p.site)
		checks = append(checks, got...)
		if err != nil {
			return checks, err
		}
	}
	for _, l := range p.absent {
		got, err := l.prove(ctx, p.site)
		checks = append(checks, got...)
		if err != nil {
			return checks, err
		}
	}
	return checks, nil
}

// after gathers the evidence that the trial went through the layers.
func (p *place) after(ctx context.Context, result workload.Result) ([]layer.Check, error) {
	var checks []layer.Check
	for _, a := range p.active {
		got, err := a.After(ctx, layer.Did{Sent: result.Sent})
		checks = append(checks, got...)
		if err != nil {
			return checks, err
		}
	}
	return checks, nil
}

// once gives the evidence gathered when the layers were put up.
func (p *place) once() []layer.Check {
	var checks []layer.Check
	for _, a := range p.active {
		for _, c := range a.Proofs() {
			c.Once = true
			checks = append(checks, c)
		}
	}
	return checks
}
