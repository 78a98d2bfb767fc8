package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// sites holds the sites of a run. Cells at the same level of the testbed share an arm's site.
type sites struct {
	cells [][]*armSite // the sites, by cell and then by arm
	list  []*armSite   // each site once
	on    *armSite     // the site whose switchable layers are on; nil: all are off
}

// plan lists the sites of a run, before any is set up. The ledger records the changes that layers must undo; nil: none
// is recorded.
func plan(x *experiment.Expansion, bed testbed.Testbed, ledger layer.Ledger) (*sites, error) {
	s := &sites{cells: make([][]*armSite, len(x.Cells))}
	levels := make([]string, len(x.Cells)) // text by cell that tells its testbed and needs; cells with the same text share sites
	starts := map[string][]testbed.Place{}
	for c := range x.Cells {
		level, err := json.Marshal([]any{x.Plan.Cells[c].Testbed, x.Needs(c, 0)})
		if err != nil {
			return nil, fmt.Errorf("testbed and needs of %s: %w", x.Plan.Cells[c].ID, err)
		}
		levels[c] = string(level)
		starts[levels[c]] = append(starts[levels[c]], testbed.Places(x.Cells[c].Workload.Declare().Needs)...)
	}
	launchers := 0 // largest number of launchers for one program, over all arms
	for _, items := range x.Layers {
		items := slices.DeleteFunc(slices.Clone(items), func(item experiment.LayerItem) bool { return !item.Config.Declare().Launched })
		launchers = max(launchers, len(items))
	}
	run := layer.NewRun(ledger)
	byLevel := map[string][]*armSite{} // key: the testbed's levels as text; value: one site for each arm
	for c, level := range levels {
		if byLevel[level] == nil {
			for a, arm := range x.Plan.Arms {
				p := &armSite{
					index: a, arm: arm.Name, bed: bed, run: run, launchers: launchers, starts: starts[level], items: x.Layers[a], absent: absentLayers(x, a), workloads: residents(x, levels, level),
					want: testbed.Request{Name: arm.Name, Needs: x.Needs(c, a), Level: x.Cells[c].Testbed.Level()},
				}
				byLevel[level], s.list = append(byLevel[level], p), append(s.list, p)
			}
		}
		s.cells[c] = byLevel[level]
	}
	return s, nil
}

// residents lists the workloads that have a service at the sites of a level. If several workloads share a service, it
// lists only one of them.
func residents(x *experiment.Expansion, levels []string, level string) []workload.Resident {
	var list []workload.Resident
	for c, cell := range x.Cells {
		w, ok := cell.Workload.(workload.Resident)
		same := func(o workload.Resident) bool { return o.Shared() == w.Shared() }
		if ok && levels[c] == level && w.Shared() != "" && !slices.ContainsFunc(list, same) {
			list = append(list, w)
		}
	}
	return list
}

// close takes all sites down. It first switches off all switchable layers, because their method Down may restore a
// layer that was on before the run.
func (s *sites) close(ctx context.Context) error {
	left := s.leave(ctx)
	return errors.Join(left, errors.Join(lists.Map(s.list, func(p *armSite) error { return p.down(ctx) })...))
}

// enter turns the previous site's layers off and the given site's layers on, and waits until the switched layers
// settle. switched is true if any layer was switched.
func (s *sites) enter(ctx context.Context, p *armSite) (switched bool, err error) {
	if s.on == p {
		return false, nil
	}
	settling := time.Duration(0)
	if s.on != nil {
		for _, u := range slices.Backward(s.on.switches()) {
			if err := u.Switch.Off(ctx); err != nil {
				return true, fmt.Errorf("turn a layer off: %w", err)
			}
			switched, settling = true, max(settling, u.Switch.Settling)
		}
	}
	s.on = p
	for _, u := range p.switches() {
		if err := u.Switch.On(ctx); err != nil {
			return true, &armError{fmt.Errorf("turn a layer on: %w", err)}
		}
		switched, settling = true, max(settling, u.Switch.Settling)
	}
	return switched, testbed.Pause(ctx, settling)
}

// leave switches off all switchable layers.
func (s *sites) leave(ctx context.Context) error {
	var errs []error
	if s.on != nil {
		for _, u := range slices.Backward(s.on.switches()) {
			errs = append(errs, u.limited(ctx, u.Switch.Off))
		}
	}
	s.on = nil
	return errors.Join(errs...)
}

// renewable reports whether every site can be taken down without the other sites.
func (s *sites) renewable() bool {
	return !slices.ContainsFunc(s.list, func(p *armSite) bool {
		_, ok := testbed.As[testbed.Closer](p.bare)
		return p.bare != nil && !ok
	})
}

// teardownLimit is the time limit for taking down one layer. A layer may set a limit of its own.
const teardownLimit = 20 * time.Second

// armSite is the site of one arm. It has the layers that are on in this arm, and a list of the other arms' layers,
// which must be off.
type armSite struct {
	index     int // index of the arm in the plan
	arm       string
	bed       testbed.Testbed
	want      testbed.Request
	items     []experiment.LayerItem
	run       *layer.Run
	starts    []testbed.Place // places in the site where the workloads start programs
	absent    []absentLayer
	workloads []workload.Resident // for each service, one of the workloads that use it
	launchers int                 // number of launchers that start a program under test, equal in all arms

	bare     testbed.Site               // the site as made by the testbed; nil: not set up
	site     testbed.Site               // the site as the workload sees it, with the layers' wrappers
	layers   []activeLayer              // ordered from the innermost to the outermost
	once     []layer.Check              // checks made once, when the layers were put up
	services map[string]workload.Server // services by Resident.Shared
	suspect  string                     // reason to set up this site anew before the next trial; "": there is none
}

type layerError struct {
	kind string
	err  error
}

func (e *layerError) Error() string { return "layer " + e.kind + ": " + e.err.Error() }
func (e *layerError) Unwrap() error { return e.err }

type activeLayer struct {
	kind string
	*layer.Active
}

// limited calls a function that takes the layer down or switches it off, within the layer's time limit.
func (u activeLayer) limited(ctx context.Context, down func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(u.DownLimit, teardownLimit))
	defer cancel()
	return down(limited)
}

// open sets up the site and then its layers, from the innermost to the outermost. A step that fails leaves nothing
// behind.
func (p *armSite) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{p.putUp, p.ready, p.settle, p.serve} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *armSite) putUp(ctx context.Context) error {
	site, err := p.bed.Open(ctx, p.want)
	if err != nil {
		return err
	}
	p.bare = site
	for _, item := range p.items {
		if err := p.put(ctx, item); err != nil {
			return p.abandon(ctx, &layerError{item.Kind, err})
		}
	}
	return nil
}

func (p *armSite) put(ctx context.Context, item experiment.LayerItem) error {
	l, ok := item.Config.(layer.Layer)
	if !ok {
		return errors.New("it cannot be run")
	}
	active, err := l.Up(ctx, p.run.At(p.bare, p.starts...))
	if err != nil {
		return err
	}
	p.layers = append(p.layers, activeLayer{item.Kind, active})
	if active.Before == nil && active.After == nil {
		return errors.New("it cannot be run: it has no proof before or after a trial")
	}
	return p.keepProofs(active.Proofs)
}

// ready makes the testbed build the site, whose description the layers have completed. It may run for several sites at
// the same time.
func (p *armSite) ready(ctx context.Context) error {
	if staged, ok := testbed.As[testbed.Staged](p.bare); ok {
		if err := staged.Ready(ctx); err != nil {
			return p.abandon(ctx, err)
		}
	}
	return nil
}

// settle carries out the steps of the layers that come after the site is made.
func (p *armSite) settle(ctx context.Context) error {
	var active []*layer.Active
	for _, u := range p.layers {
		active = append(active, u.Active)
		if u.Settle == nil {
			continue
		}
		checks, err := u.Settle(ctx)
		if err == nil {
			err = p.keepProofs(checks)
		}
		if err != nil {
			return p.abandon(ctx, &layerError{u.kind, err})
		}
	}
	p.site = layer.WithEqualLaunchers(p.bare, p.launchers, active...)
	return nil
}

// serve starts the services of the workloads. It may run for several sites at the same time.
func (p *armSite) serve(ctx context.Context) error {
	p.services = map[string]workload.Server{}
	for i, w := range p.workloads {
		standing, err := w.SetUp(ctx, workload.SetUp{Site: p.site, Number: i})
		if err != nil {
			return p.abandon(ctx, err)
		}
		p.services[w.Shared()] = standing
	}
	for _, standing := range p.services { // the site must hold the services, which the layers' proofs use
		p.site = testbed.Holding(p.site, standing)
	}
	return nil
}

// abandon takes down the parts of a site whose set-up failed.
func (p *armSite) abandon(ctx context.Context, why error) error {
	return errors.Join(why, p.remove(context.WithoutCancel(ctx)))
}

// keepProofs keeps checks that are made only once. If a check failed, it returns an error.
func (p *armSite) keepProofs(checks []layer.Check) error {
	for _, check := range checks {
		if !check.OK {
			return fmt.Errorf("it is not on: %s: expected %s, observed %s", check.Name, check.Expected, check.Observed)
		}
		check.Once = true
		p.once = append(p.once, check)
	}
	return nil
}

// switches lists the arm's layers that Tare turns off while other arms run, and on for the arm's own trials.
func (p *armSite) switches() []activeLayer {
	return slices.DeleteFunc(slices.Clone(p.layers), func(u activeLayer) bool { return u.Switch == nil })
}

// down ends the services of a site and then takes its layers down, the last one first. A second call does nothing.
func (p *armSite) down(ctx context.Context) error {
	var errs []error
	for _, w := range slices.Backward(p.workloads) {
		if standing := p.services[w.Shared()]; standing != nil {
			limited, cancel := context.WithTimeout(ctx, teardownLimit)
			errs = append(errs, standing.Down(limited))
			cancel()
		}
	}
	for _, u := range slices.Backward(p.layers) {
		if u.Down != nil {
			errs = append(errs, u.limited(ctx, u.Down))
		}
	}
	p.services, p.layers, p.once = nil, nil, nil
	return errors.Join(errs...)
}

func (p *armSite) remove(ctx context.Context) error {
	err := p.down(ctx)
	if site, ok := testbed.As[testbed.Closer](p.bare); ok {
		err = errors.Join(err, site.Close())
	}
	p.bare, p.site, p.suspect = nil, nil, ""
	return err
}
