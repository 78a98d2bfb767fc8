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
	arm    string
	bed    testbed.Testbed
	want   testbed.Request
	items  []experiment.LayerItem
	run    *layer.Run
	starts []testbed.Place // where the workloads start programs
	absent []absent
	stays  []workload.Resident // each of whose Shared is another
	// launchers is how many launchers stand in front of every program under test, whatever the arm.
	launchers int

	bare   testbed.Site                 // as the testbed made it; nil: it is not set up
	site   testbed.Site                 // as the workload sees it, through the layers' wrappers
	layers []up                         // from the innermost to the outermost
	once   []layer.Check                // made when the layers were put up, and not again
	stand  map[string]workload.Standing // by Resident.Shared
	// suspect says why the place is to be set up anew before the next trial; "": it is not.
	suspect string
}

// layerError is an error that concerns one layer of an arm that is set up.
type layerError struct {
	kind string
	err  error
}

func (e *layerError) Error() string { return "layer " + e.kind + ": " + e.err.Error() }
func (e *layerError) Unwrap() error { return e.err }

// up is a layer that has been put up at a place.
type up struct {
	kind string
	*layer.Active
}

// downLimit is how long taking it down may take.
func (u up) downLimit() time.Duration {
	if u.DownLimit > 0 {
		return u.DownLimit
	}
	return teardownLimit
}

// open sets up the arm and puts its layers up, from the first (innermost) to the last.
// It leaves nothing behind when it fails.
func (p *place) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{p.raise, p.ready, p.settle, p.serve} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// raise asks for the site and puts the layers up. Like each of the steps of open, it leaves
// nothing behind when it fails.
func (p *place) raise(ctx context.Context) error {
	site, err := p.bed.Open(ctx, p.want)
	if err != nil {
		return err
	}
	p.bare = site
	for _, item := range p.items {
		if err := p.put(ctx, item); err != nil {
			return p.undone(ctx, err)
		}
	}
	return nil
}

// put puts one layer up.
func (p *place) put(ctx context.Context, item experiment.LayerItem) error {
	l, ok := item.Config.(layer.Layer)
	if !ok {
		return &layerError{item.Kind, errors.New("it cannot be run")}
	}
	active, err := l.Up(ctx, p.run.At(p.bare, p.starts...))
	if err != nil {
		return &layerError{item.Kind, err}
	}
	p.layers = append(p.layers, up{item.Kind, active})
	if active.Before == nil && active.After == nil {
		return &layerError{item.Kind, errors.New("it cannot be run: nothing shows, before a trial or after it, that it is on")}
	}
	return p.shown(item.Kind, active.Proofs)
}

// ready has the testbed make the site, with what the layers have asked for. Several
// places may do so at the same time.
func (p *place) ready(ctx context.Context) error {
	if staged, ok := testbed.As[testbed.Staged](p.bare); ok {
		if err := staged.Ready(ctx); err != nil {
			return p.undone(ctx, err)
		}
	}
	return nil
}

// settle has the layers do what needs the site as it was made.
func (p *place) settle(ctx context.Context) error {
	var active []*layer.Active
	for _, u := range p.layers {
		active = append(active, u.Active)
		if u.Settle == nil {
			continue
		}
		checks, err := u.Settle(ctx)
		if err != nil {
			return p.undone(ctx, &layerError{u.kind, err})
		}
		if err := p.shown(u.kind, checks); err != nil {
			return p.undone(ctx, err)
		}
	}
	p.site = layer.DressAlike(p.bare, p.launchers, active...)
	return nil
}

// serve starts what the workloads keep up between trials. Several places may do so at the
// same time.
func (p *place) serve(ctx context.Context) error {
	p.stand = map[string]workload.Standing{}
	for i, w := range p.stays {
		standing, err := w.SetUp(ctx, workload.SetUp{Site: p.site, Number: i})
		if err != nil {
			return p.undone(ctx, err)
		}
		p.stand[w.Shared()] = standing
	}
	for _, standing := range p.stand { // for the layers' proofs
		p.site = testbed.Holding(p.site, standing)
	}
	return nil
}

// standing is what a workload keeps up here; nil if it keeps up nothing.
func (p *place) standing(w workload.Workload) workload.Standing {
	if r, ok := w.(workload.Resident); ok {
		return p.stand[r.Shared()]
	}
	return nil
}

// unwell says what that stays up at a place is not whole any more; "": nothing.
func (p *place) unwell(ctx context.Context) string {
	for _, standing := range p.stand {
		if err := standing.Check(ctx); err != nil && ctx.Err() == nil {
			return err.Error()
		}
	}
	return ""
}

// undone takes down what there is of a place that cannot be set up.
func (p *place) undone(ctx context.Context, why error) error {
	return errors.Join(why, p.remove(context.WithoutCancel(ctx)))
}

// shown keeps checks that are not made again. It fails if one of them shows that the
// layer is not on.
func (p *place) shown(kind string, checks []layer.Check) error {
	for _, check := range checks {
		if !check.OK {
			return &layerError{kind, fmt.Errorf("it is not on: %s: expected %s, observed %s", check.Name, check.Expected, check.Observed)}
		}
		check.Once = true
		p.once = append(p.once, check)
	}
	return nil
}

// switches lists the layers that cannot be on beside other arms.
func (p *place) switches() []up {
	return slices.DeleteFunc(slices.Clone(p.layers), func(u up) bool { return u.Switch == nil })
}

// before gathers the evidence that holds before a trial: the arm's layers are
// on, the others' are off.
func (p *place) before(ctx context.Context) ([]layer.Check, error) {
	var checks []layer.Check
	for _, e := range p.evidence() {
		got, err := e.gather(ctx)
		checks = append(checks, got...)
		if err != nil {
			return checks, err
		}
	}
	return checks, nil
}

// evidence shows before a trial whether one layer is on at a place.
type evidence struct {
	kind   string
	of     string // arm that has the layer, which must be off; "": this arm has it
	later  bool   // there is more after a trial
	gather func(context.Context) ([]layer.Check, error)
}

// evidence lists that of the arm's layers, and then of the others'.
func (p *place) evidence() []evidence {
	var all []evidence
	for _, u := range p.layers {
		all = append(all, evidence{kind: u.kind, later: u.After != nil, gather: func(ctx context.Context) ([]layer.Check, error) {
			if u.Before == nil {
				return nil, nil
			}
			return u.Before(ctx, p.site)
		}})
	}
	for _, l := range p.absent {
		all = append(all, evidence{kind: l.kind, of: l.arm, later: l.after() != nil, gather: func(ctx context.Context) ([]layer.Check, error) {
			return l.prove(ctx, p.run.At(p.site, p.starts...))
		}})
	}
	return all
}

// after gathers the evidence that a trial of a kind of workload went through the arm's layers, and not through others'.
func (p *place) after(ctx context.Context, kind string, result workload.Result) ([]layer.Check, error) {
	var checks []layer.Check
	did := layer.Did{Workload: kind, Sent: result.Sent, Work: result.Work, Connections: result.Connections}
	for _, u := range p.layers {
		if u.After == nil {
			continue
		}
		got, err := u.After(ctx, did)
		checks = append(checks, got...)
		if err != nil {
			return checks, err
		}
	}
	for _, l := range p.absent {
		prove := l.after()
		if prove == nil {
			continue
		}
		s := p.run.At(p.site, p.starts...)
		s.Own = l.own
		got, err := prove(ctx, s, did)
		checks = append(checks, got...)
		if err != nil {
			return checks, err
		}
	}
	return checks, nil
}

// down takes down what the workloads keep up at a place, and then its layers, the last one
// first. To do so again does nothing.
func (p *place) down(ctx context.Context) error {
	var errs []error
	for _, w := range slices.Backward(p.stays) {
		if standing := p.stand[w.Shared()]; standing != nil {
			limited, cancel := context.WithTimeout(ctx, teardownLimit)
			errs = append(errs, standing.Down(limited))
			cancel()
		}
	}
	p.stand = nil
	for _, u := range slices.Backward(p.layers) {
		if u.Down == nil {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, u.downLimit())
		errs = append(errs, u.Down(limited))
		cancel()
	}
	p.layers, p.once = nil, nil
	return errors.Join(errs...)
}

// absent is a layer of another arm that must not be on in this one.
type absent struct {
	kind   string
	arm    string // that has it
	l      layer.Layer
	own    layer.Layer // this arm's layer of the same kind, with other parameters; nil: it has none
	beside bool        // l can tell although the arm has that one
}

// absentLayers lists the layers that other arms have and this one has not. Of layers of
// the same kind with the same parameters it lists one; none where the proof of this arm's own shows it (OwnProves).
func absentLayers(x *experiment.Expansion, arm int) []absent {
	own := map[string]layer.Layer{}
	has := map[string]bool{}
	for i, item := range x.Layers[arm] {
		own[item.Kind], _ = item.Config.(layer.Layer)
		config, _ := json.Marshal(x.Plan.Arms[arm].Layers[i])
		has[string(config)] = true
	}
	var off []absent
	for a, items := range x.Layers {
		for i, item := range items {
			config, _ := json.Marshal(x.Plan.Arms[a].Layers[i])
			l, ok := item.Config.(layer.Layer)
			if !ok || has[string(config)] {
				continue
			}
			has[string(config)] = true
			if d := l.Declare(); own[item.Kind] == nil || !d.OwnProves {
				off = append(off, absent{kind: item.Kind, arm: x.Plan.Arms[a].Name, l: l, own: own[item.Kind], beside: d.ProvesBeside})
			}
		}
	}
	return off
}

// after is what proves after a trial that the layer was not on; nil if nothing does.
func (a absent) after() func(context.Context, *layer.Session, layer.Did) ([]layer.Check, error) {
	if l, ok := a.l.(layer.OffAfter); ok && (a.own == nil || a.beside) {
		return l.ProveOffAfter
	}
	return nil
}

// prove gathers evidence that the layer is not on at the site of a session. In an arm
// that has a layer of the same kind, only a layer that declares ProvesBeside is asked.
// For any other, a check says that nothing was looked at.
func (a absent) prove(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if a.own == nil || a.beside {
		s.Own = a.own
		return a.l.ProveOff(ctx, s)
	}
	return []layer.Check{{Layer: a.kind, Name: "the layer of arm " + a.arm, Expected: "not on", Observed: "not looked for", OK: true,
		Caveat: fmt.Sprintf("this arm has a layer %s of its own: that nothing of another arm's layer %[1]s is on here is not shown", a.kind)}}, nil
}
