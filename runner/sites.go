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

// sites holds the places of a run. Cells at the same level of the testbed share
// the place of an arm.
type sites struct {
	cells  [][]*place // by cell and arm
	places []placed   // each once
	// on is the place whose switched layers are on; nil: none are.
	on *place
}

// placed is a place with the index of its arm.
type placed struct {
	arm   int
	place *place
}

// plan lists the places of a run, none of which is set up yet. The ledger is for what its
// layers have to undo; nil: nobody keeps it.
func plan(x *experiment.Expansion, bed testbed.Testbed, ledger layer.Ledger) (*sites, error) {
	s := &sites{cells: make([][]*place, len(x.Cells))}
	levels := make([]string, len(x.Cells)) // those that share places have the same
	starts := map[string][]testbed.Place{}
	for c := range x.Cells {
		level, err := json.Marshal([]any{x.Plan.Cells[c].Testbed, x.Needs(c, 0)})
		if err != nil {
			return nil, fmt.Errorf("testbed and needs of %s: %w", x.Plan.Cells[c].ID, err)
		}
		levels[c] = string(level)
		starts[levels[c]] = append(starts[levels[c]], testbed.Places(x.Cells[c].Workload.Declare().Needs)...)
	}
	launchers := 0 // that the programs of some arm are started by
	for _, items := range x.Layers {
		n := 0
		for _, item := range items {
			if item.Config.Declare().Launched {
				n++
			}
		}
		launchers = max(launchers, n)
	}
	run := layer.NewRun(ledger)
	places := map[string][]*place{} // by level, then by arm
	for c, level := range levels {
		if places[level] == nil {
			for a, arm := range x.Plan.Arms {
				p := &place{
					arm: arm.Name, bed: bed, run: run, launchers: launchers, starts: starts[level], items: x.Layers[a], absent: absentLayers(x, a), stays: residents(x, levels, level),
					want: testbed.Request{Name: arm.Name, Needs: x.Needs(c, a), Level: x.Cells[c].Testbed.Level()},
				}
				places[level], s.places = append(places[level], p), append(s.places, placed{a, p})
			}
		}
		s.cells[c] = places[level]
	}
	return s, nil
}

// residents lists the workloads that keep something up at the sites of a level, each
// thing once.
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

// close takes everything down. Layers with a switch are switched off before any layer
// is taken down, because Down may switch back on what was on before the run.
func (s *sites) close(ctx context.Context) error {
	var errs []error
	errs = append(errs, s.leave(ctx))
	for _, at := range s.places {
		errs = append(errs, at.place.down(ctx))
	}
	return errors.Join(errs...)
}

// enter prepares the layers with a switch for a trial at a place: those of the place
// before are switched off, then those of this place on, and then it waits for the one
// that takes longest to settle. It says whether any was switched.
func (s *sites) enter(ctx context.Context, p *place) (switched bool, err error) {
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

// leave switches the layers off that are on.
func (s *sites) leave(ctx context.Context) error {
	var errs []error
	if s.on != nil {
		for _, u := range slices.Backward(s.on.switches()) {
			limited, cancel := context.WithTimeout(ctx, u.downLimit())
			errs = append(errs, u.Switch.Off(limited))
			cancel()
		}
	}
	s.on = nil
	return errors.Join(errs...)
}
