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

// teardownLimit is the time limit for taking one layer down, unless the layer sets its own.
const teardownLimit = 20 * time.Second

// armSite is the site of one arm at one level of the testbed, with its layers and the layers of other
// arms that must be off.
type armSite struct {
	arm       string
	bed       testbed.Testbed
	want      testbed.Request
	items     []experiment.LayerItem
	run       *layer.Run
	starts    []testbed.Place // places in the site where the workloads start programs
	absent    []absentLayer
	workloads []workload.Resident // workloads with services, which all have a different Shared
	// launchers is the number of launchers that start every program under test, equal in all arms.
	launchers int

	bare     testbed.Site               // the site as made by the testbed; nil: not set up
	site     testbed.Site               // the site as the workload sees it, with the layers' wrappers
	layers   []activeLayer              // ordered from the innermost to the outermost
	once     []layer.Check              // proofs made once, when the layers were put up
	services map[string]workload.Server // services by Resident.Shared
	// suspect is the reason to set up this site anew before the next trial; "": there is none.
	suspect string
}

// layerError is an error of one layer.
type layerError struct {
	kind string
	err  error
}

func (e *layerError) Error() string { return "layer " + e.kind + ": " + e.err.Error() }
func (e *layerError) Unwrap() error { return e.err }

// activeLayer is a layer that has been put up.
type activeLayer struct {
	kind string
	*layer.Active
}

func (u activeLayer) downLimit() time.Duration {
	if u.DownLimit > 0 {
		return u.DownLimit
	}
	return teardownLimit
}

// open sets up the arm and puts its layers up, from the innermost to the outermost. If it fails, it
// leaves nothing behind.
func (p *armSite) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{p.putUp, p.ready, p.settle, p.serve} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// putUp opens the site and puts the layers up. Like every step of open, it leaves nothing behind if it fails.
func (p *armSite) putUp(ctx context.Context) error {
	site, err := p.bed.Open(ctx, p.want)
	if err != nil {
		return err
	}
	p.bare = site
	for _, item := range p.items {
		if err := p.put(ctx, item); err != nil {
			return p.abandon(ctx, err)
		}
	}
	return nil
}

func (p *armSite) put(ctx context.Context, item experiment.LayerItem) error {
	l, ok := item.Config.(layer.Layer)
	if !ok {
		return &layerError{item.Kind, errors.New("it cannot be run")}
	}
	active, err := l.Up(ctx, p.run.At(p.bare, p.starts...))
	if err != nil {
		return &layerError{item.Kind, err}
	}
	p.layers = append(p.layers, activeLayer{item.Kind, active})
	if active.Before == nil && active.After == nil {
		return &layerError{item.Kind, errors.New("it cannot be run: it has no proof before or after a trial")}
	}
	return p.keepProofs(item.Kind, active.Proofs)
}

// ready has the testbed make the site, including the layers' requests. Several sites may be made at the
// same time.
func (p *armSite) ready(ctx context.Context) error {
	if staged, ok := testbed.As[testbed.Staged](p.bare); ok {
		if err := staged.Ready(ctx); err != nil {
			return p.abandon(ctx, err)
		}
	}
	return nil
}

// settle carries out the layers' steps that need the finished site.
func (p *armSite) settle(ctx context.Context) error {
	var active []*layer.Active
	for _, u := range p.layers {
		active = append(active, u.Active)
		if u.Settle == nil {
			continue
		}
		checks, err := u.Settle(ctx)
		if err != nil {
			return p.abandon(ctx, &layerError{u.kind, err})
		}
		if err := p.keepProofs(u.kind, checks); err != nil {
			return p.abandon(ctx, err)
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
	for _, standing := range p.services { // the layers' proofs need the services
		p.site = testbed.Holding(p.site, standing)
	}
	return nil
}

// service returns the running service of a workload; nil if it has none.
func (p *armSite) service(w workload.Workload) workload.Server {
	if r, ok := w.(workload.Resident); ok {
		return p.services[r.Shared()]
	}
	return nil
}

// serviceFailure describes a service of this site that is broken; "": none is.
func (p *armSite) serviceFailure(ctx context.Context) string {
	for _, standing := range p.services {
		if err := standing.Check(ctx); err != nil && ctx.Err() == nil {
			return err.Error()
		}
	}
	return ""
}

// abandon takes down the parts of a site whose set-up failed.
func (p *armSite) abandon(ctx context.Context, why error) error {
	return errors.Join(why, p.remove(context.WithoutCancel(ctx)))
}

// keepProofs keeps checks that are made only once. It returns an error if a check shows that the layer
// is not on.
func (p *armSite) keepProofs(kind string, checks []layer.Check) error {
	for _, check := range checks {
		if !check.OK {
			return &layerError{kind, fmt.Errorf("it is not on: %s: expected %s, observed %s", check.Name, check.Expected, check.Observed)}
		}
		check.Once = true
		p.once = append(p.once, check)
	}
	return nil
}

// switches lists the layers that must be off while other arms run.
func (p *armSite) switches() []activeLayer {
	return slices.DeleteFunc(slices.Clone(p.layers), func(u activeLayer) bool { return u.Switch == nil })
}

// before gathers the evidence before a trial: the arm's layers are on, those of other arms are off.
func (p *armSite) before(ctx context.Context) ([]layer.Check, error) {
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

// evidence gathers proofs, before a trial, that one layer is on or off.
type evidence struct {
	kind   string
	of     string // the other arm that has the layer, which must be off here; "": this arm has the layer
	more   bool   // a trial adds further proofs
	gather func(context.Context) ([]layer.Check, error)
}

// evidence lists the evidence for the arm's own layers, and then for those of other arms.
func (p *armSite) evidence() []evidence {
	var all []evidence
	for _, u := range p.layers {
		all = append(all, evidence{kind: u.kind, more: u.After != nil, gather: func(ctx context.Context) ([]layer.Check, error) {
			if u.Before == nil {
				return nil, nil
			}
			return u.Before(ctx, p.site)
		}})
	}
	for _, l := range p.absent {
		all = append(all, evidence{kind: l.kind, of: l.arm, more: l.after() != nil, gather: func(ctx context.Context) ([]layer.Check, error) {
			return l.prove(ctx, p.run.At(p.site, p.starts...))
		}})
	}
	return all
}

// after gathers the evidence that a trial passed through the arm's layers, and not through those of
// other arms. kind is the kind of workload.
func (p *armSite) after(ctx context.Context, kind string, result workload.Result) ([]layer.Check, error) {
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

// down ends the services of a site and then takes its layers down, the last one first. A second call
// does nothing.
func (p *armSite) down(ctx context.Context) error {
	var errs []error
	for _, w := range slices.Backward(p.workloads) {
		if standing := p.services[w.Shared()]; standing != nil {
			limited, cancel := context.WithTimeout(ctx, teardownLimit)
			errs = append(errs, standing.Down(limited))
			cancel()
		}
	}
	p.services = nil
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

// absentLayer is a layer of another arm that must not be on in this one.
type absentLayer struct {
	kind   string
	arm    string // the arm that has the layer
	l      layer.Layer
	own    layer.Layer // this arm's layer of the same kind, with other parameters; nil: none
	beside bool        // l can prove its absence although own is on
}

// absentLayers lists the layers of other arms that this arm lacks. Layers of the same kind with the same
// parameters are listed once. A layer is omitted if the proof of this arm's own layer includes its
// absence (OwnProves).
func absentLayers(x *experiment.Expansion, arm int) []absentLayer {
	own := map[string]layer.Layer{}
	has := map[string]bool{}
	for i, item := range x.Layers[arm] {
		own[item.Kind], _ = item.Config.(layer.Layer)
		config, _ := json.Marshal(x.Plan.Arms[arm].Layers[i])
		has[string(config)] = true
	}
	var off []absentLayer
	for a, items := range x.Layers {
		for i, item := range items {
			config, _ := json.Marshal(x.Plan.Arms[a].Layers[i])
			l, ok := item.Config.(layer.Layer)
			if !ok || has[string(config)] {
				continue
			}
			has[string(config)] = true
			if d := l.Declare(); own[item.Kind] == nil || !d.OwnProves {
				off = append(off, absentLayer{kind: item.Kind, arm: x.Plan.Arms[a].Name, l: l, own: own[item.Kind], beside: d.ProvesBeside})
			}
		}
	}
	return off
}

// after returns the function that proves, after a trial, that the layer was not on; nil if there is none.
func (a absentLayer) after() func(context.Context, *layer.Session, layer.Did) ([]layer.Check, error) {
	if l, ok := a.l.(layer.OffAfter); ok && (a.own == nil || a.beside) {
		return l.ProveOffAfter
	}
	return nil
}

// prove gathers evidence that the layer is not on at the session's site. If the arm has its own layer of
// the same kind, only a layer that declares ProvesBeside is asked. For other layers, the check states
// that nothing was examined.
func (a absentLayer) prove(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if a.own == nil || a.beside {
		s.Own = a.own
		return a.l.ProveOff(ctx, s)
	}
	return []layer.Check{{Layer: a.kind, Name: "the layer of arm " + a.arm, Expected: "not on", Observed: "not looked for", OK: true,
		Caveat: fmt.Sprintf("this arm has a layer %s of its own: the absence of another arm's layer %[1]s is not proved", a.kind)}}, nil
}
