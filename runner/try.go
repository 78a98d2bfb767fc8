package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
	"tare/workload"
)

// Tried is what came of setting up one arm at one level of the testbed.
type Tried struct {
	Arm   string
	Cell  string        // the first that would run there
	Ready time.Duration // how long setting it up took
	Err   error         // why it could not be set up; nil: it could
	Layer string        // that Err is about; "": the site
	// Layers are the proofs that come before a trial, made once; none of an arm that could
	// not be set up.
	Layers []TriedLayer
	// Workloads are those that can be tried without a trial (workload.Trier).
	Workloads []TriedWorkload
}

// TriedWorkload is what came of trying a workload at the site of an arm.
type TriedWorkload struct {
	Name string
	Err  error
}

// Trying says that a workload is tried in an arm.
type Trying struct{ Arm, Workload string }

func (Trying) event() {}

// TriedLayer is what shows whether one layer is on at the site of an arm.
type TriedLayer struct {
	Kind   string
	Of     string // arm that has the layer, which must be off here; "": this arm has it
	Checks []layer.Check
	Err    error // the proof could not be made
	Later  bool  // trials show more
}

// Try sets up every arm as Run does, makes every proof that comes before a trial once, tries
// the workloads that can be tried, and takes everything down. What fails in one arm keeps
// no other from being tried. The testbed stays the caller's to close. Events takes SiteReady
// and Trying.
//
// An error means that it could not be brought to its end: the context is done, or a layer
// could not be switched off or taken down. What was found until then is given, too.
func Try(ctx context.Context, x *experiment.Expansion, bed testbed.Testbed, events func(Event)) (tried []Tried, err error) {
	all, err := plan(x, bed, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.close(context.WithoutCancel(ctx))) }()
	seen := map[*place]bool{}
	var ready []*place // beside what was tried of them; nil: not set up
	for c, places := range all.cells {
		for _, p := range places {
			if seen[p] {
				continue // for an earlier cell
			}
			seen[p] = true
			start := time.Now()
			err := p.open(ctx)
			if ctx.Err() != nil {
				return tried, ctx.Err()
			}
			one := Tried{Arm: p.arm, Cell: x.Plan.Cells[c].ID, Ready: time.Since(start), Err: err}
			var of *layerError
			if errors.As(err, &of) {
				one.Layer = of.kind
			}
			tried = append(tried, one)
			if err != nil {
				ready = append(ready, nil)
				continue
			}
			ready = append(ready, p)
			events(SiteReady{Arm: p.arm})
		}
	}
	for i, p := range ready {
		if p == nil {
			continue
		}
		_, err := all.enter(ctx, p)
		var alone *armError
		if errors.As(err, &alone) && ctx.Err() == nil {
			tried[i].Err = alone.err
			continue
		}
		if err != nil {
			return tried, err
		}
		tried[i].Layers = p.try(ctx)
		tried[i].Workloads = all.try(ctx, x, p, events)
		if ctx.Err() != nil {
			return tried, ctx.Err()
		}
	}
	return tried, nil
}

// try makes each proof that comes before a trial, whatever came of the others.
func (p *place) try(ctx context.Context) []TriedLayer {
	var layers []TriedLayer
	for _, e := range p.evidence() {
		one := TriedLayer{Kind: e.kind, Of: e.of, Later: e.later}
		for _, check := range p.once {
			if e.of == "" && check.Layer == e.kind {
				one.Checks = append(one.Checks, check)
			}
		}
		checks, err := e.gather(ctx)
		one.Checks, one.Err = append(one.Checks, checks...), err
		layers = append(layers, one)
	}
	return layers
}

// try tries the workloads that would run at a place.
func (s *sites) try(ctx context.Context, x *experiment.Expansion, p *place, events func(Event)) []TriedWorkload {
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
