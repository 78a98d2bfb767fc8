package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// Tried is the result of setting up one arm at one level of the testbed.
type Tried struct {
	Arm       string
	Cell      string          // ID of the first cell that uses this set-up
	Ready     time.Duration   // duration of the set-up
	Err       error           // reason why the set-up failed; nil: it succeeded
	Layer     string          // kind of the layer that caused Err; "": the site caused it
	Layers    []TriedLayer    // proofs that are made before a trial; empty if the set-up failed
	Workloads []TriedWorkload // results of workloads that can be tried without a trial (workload.Trier)
}

// TriedWorkload is the result of trying a workload in an arm.
type TriedWorkload struct {
	Name string
	Err  error
}

// Trying is sent when a workload is tried in an arm.
type Trying struct{ Arm, Workload string }

// TriedLayer holds the proofs that one layer is on, or off, in an arm.
type TriedLayer struct {
	Kind   string
	Of     string // the other arm that has the layer, which must be off here; "": this arm has the layer
	Checks []layer.Check
	Err    error // reason why a proof could not be made
	Later  bool  // set if a trial adds further proofs
}

// Try sets up every arm, makes proofs, tries the workloads that can be tried, and takes all arms down. If arms are up in
// turn, each is tried and taken down before the next. If an arm fails, other arms are still tried. An error comes with
// the results so far. The caller closes the testbed.
func Try(ctx context.Context, x *experiment.Expansion, bed testbed.Testbed, events func(Event)) (tried []Tried, err error) {
	all, err := plan(x, bed, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.close(context.WithoutCancel(ctx))) }()
	seen := map[*armSite]bool{}
	var ready []*armSite // the site of each entry of tried; nil: the site's set-up failed, or the site was tried and taken down
	prove := func(i int, p *armSite) error {
		_, err := all.enter(ctx, p)
		if alone, ok := errors.AsType[*armError](err); ok && ctx.Err() == nil {
			tried[i].Err = alone.err
			return nil
		}
		if err != nil {
			return err
		}
		tried[i].Layers = p.try(ctx)
		tried[i].Workloads = all.try(ctx, x, p, events)
		return ctx.Err()
	}
	for c, armSites := range all.cells {
		for _, p := range armSites {
			if seen[p] {
				continue // this site was tried already, for an earlier cell
			}
			seen[p] = true
			start := time.Now()
			err := p.open(ctx)
			if ctx.Err() != nil {
				return tried, ctx.Err()
			}
			one := Tried{Arm: p.arm, Cell: x.Plan.Cells[c].ID, Ready: time.Since(start), Err: err}
			if of, ok := errors.AsType[*layerError](err); ok {
				one.Layer = of.kind
			}
			if err != nil {
				p = nil
			} else {
				events(SiteReady{Arm: p.arm})
			}
			tried = append(tried, one)
			if p != nil && x.Plan.InTurn() {
				if err := prove(len(tried)-1, p); err != nil {
					return tried, err
				}
				if err := errors.Join(all.leave(ctx), p.remove(ctx)); err != nil {
					return tried, fmt.Errorf("arm %s cannot be taken down: %w", p.arm, err)
				}
				p = nil
			}
			ready = append(ready, p)
		}
	}
	for i, p := range ready {
		if p == nil {
			continue
		}
		if err := prove(i, p); err != nil {
			return tried, err
		}
	}
	return tried, nil
}

// try makes the proofs that come before a trial, and returns their results by layer. A failed proof does not stop the
// other proofs.
func (p *armSite) try(ctx context.Context) []TriedLayer {
	var layers []TriedLayer
	for _, e := range p.evidence() {
		one := TriedLayer{Kind: e.kind, Of: e.of, Later: e.after != nil}
		for _, check := range p.once {
			if e.of == "" && check.Layer == e.kind {
				one.Checks = append(one.Checks, check)
			}
		}
		if e.before != nil {
			checks, err := e.before(ctx, layer.Did{})
			one.Checks, one.Err = append(one.Checks, checks...), err
		}
		layers = append(layers, one)
	}
	return layers
}

func (s *sites) try(ctx context.Context, x *experiment.Expansion, p *armSite, events func(Event)) []TriedWorkload {
	var tried []TriedWorkload
	for c, cell := range x.Cells {
		name := x.Plan.Cells[c].Workload
		load, ok := cell.Workload.(workload.Trier)
		known := func(t TriedWorkload) bool { return t.Name == name }
		if !ok || !slices.Contains(s.cells[c], p) || slices.ContainsFunc(tried, known) || ctx.Err() != nil {
			continue
		}
		events(Trying{Arm: p.arm, Workload: name})
		limited, cancel := context.WithTimeout(ctx, cell.Workload.Measures().Bound())
		tried = append(tried, TriedWorkload{Name: name, Err: load.Try(limited, p.site)})
		cancel()
	}
	return tried
}
