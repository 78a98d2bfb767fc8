package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// sites holds the sites of a run. Cells at the same level of the testbed share an arm's site.
type sites struct {
	cells [][]*armSite // by cell and arm
	list  []*armSite   // every site once
	on    *armSite     // the site whose switchable layers are on; nil: all are off
}

// plan lists the sites of a run, before any is set up. ledger records the changes that layers must undo;
// nil: no record is kept.
func plan(x *experiment.Expansion, bed testbed.Testbed, ledger layer.Ledger) (*sites, error) {
	s := &sites{cells: make([][]*armSite, len(x.Cells))}
	levels := make([]string, len(x.Cells)) // cells that share sites have equal levels
	starts := map[string][]testbed.Place{}
	for c := range x.Cells {
		level, err := json.Marshal([]any{x.Plan.Cells[c].Testbed, x.Needs(c, 0)})
		if err != nil {
			return nil, fmt.Errorf("testbed and needs of %s: %w", x.Plan.Cells[c].ID, err)
		}
		levels[c] = string(level)
		starts[levels[c]] = append(starts[levels[c]], testbed.Places(x.Cells[c].Workload.Declare().Needs)...)
	}
	launchers := 0 // the maximum over all arms of launchers that start a program
	for _, items := range x.Layers {
		items := slices.DeleteFunc(slices.Clone(items), func(item experiment.LayerItem) bool { return !item.Config.Declare().Launched })
		launchers = max(launchers, len(items))
	}
	run := layer.NewRun(ledger)
	byLevel := map[string][]*armSite{} // by level, then by arm
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

// residents lists the workloads with services at the sites of a level. Each service is listed once.
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

// close takes all sites down. It switches off the switchable layers before it takes down any, since Down
// may restore a layer that was on before the run.
func (s *sites) close(ctx context.Context) error {
	errs := []error{s.leave(ctx)}
	for _, p := range s.list {
		errs = append(errs, p.down(ctx))
	}
	return errors.Join(errs...)
}

// enter switches layers for a trial at a site: the previous site's layers off, this site's layers on. It
// then waits for the longest settling time. switched reports whether any layer was switched.
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

// leave switches off the layers that are on.
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

// renewable reports whether all sites can be taken down one by one.
func (s *sites) renewable() bool {
	return !slices.ContainsFunc(s.list, func(p *armSite) bool {
		_, ok := testbed.As[testbed.Closer](p.bare)
		return p.bare != nil && !ok
	})
}
