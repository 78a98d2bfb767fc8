package runner

import (
	"context"
	"encoding/json"
	"fmt"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/workload"
)

// evidence holds the functions that prove that one layer is on in an arm, or off.
type evidence struct {
	kind   string
	of     string // name of another arm, whose layer must be off in this arm; "": the layer is this arm's own
	before proof  // makes the proofs before a trial; nil: there are none
	after  proof  // proofs to make after a trial; nil: there are none
}

type proof func(context.Context, layer.Did) ([]layer.Check, error)

// evidence lists how to prove that the arm's own layers are on, and that those of other arms are off.
func (p *armSite) evidence() []evidence {
	var all []evidence
	for _, u := range p.layers {
		e := evidence{kind: u.kind, after: u.After}
		if u.Before != nil {
			e.before = func(ctx context.Context, _ layer.Did) ([]layer.Check, error) { return u.Before(ctx, p.site) }
		}
		all = append(all, e)
	}
	for _, l := range p.absent {
		e := evidence{kind: l.kind, of: l.arm, before: func(ctx context.Context, _ layer.Did) ([]layer.Check, error) {
			return l.prove(ctx, p.run.At(p.site, p.starts...))
		}}
		if off, ok := l.l.(layer.OffAfter); ok && l.provable() {
			e.after = func(ctx context.Context, did layer.Did) ([]layer.Check, error) {
				s := p.run.At(p.site, p.starts...)
				s.Own = l.own
				return off.ProveOffAfter(ctx, s, did)
			}
		}
		all = append(all, e)
	}
	return all
}

// before makes the proofs before a trial: the arm's layers are on, and the layers of other arms are off.
func (p *armSite) before(ctx context.Context) ([]layer.Check, error) {
	return p.prove(ctx, layer.Did{}, func(e evidence) proof { return e.before })
}

// after proves, after a trial, that the trial's load passed through the layers of this arm and of no other arm. kind is
// the workload's kind.
func (p *armSite) after(ctx context.Context, kind string, result workload.Result) ([]layer.Check, error) {
	did := layer.Did{Workload: kind, Sent: result.Sent, Work: result.Work, Connections: result.Connections}
	return p.prove(ctx, did, func(e evidence) proof { return e.after })
}

// prove makes a proof of every layer. The function selected picks the proof from the layer's evidence; nil: none. prove
// stops at the first error.
func (p *armSite) prove(ctx context.Context, did layer.Did, selected func(evidence) proof) (checks []layer.Check, err error) {
	for _, e := range p.evidence() {
		if prove := selected(e); prove != nil && err == nil {
			var got []layer.Check
			got, err = prove(ctx, did)
			checks = append(checks, got...)
		}
	}
	return checks, err
}

// absentLayer is a layer of another arm that must not be on in this arm.
type absentLayer struct {
	kind   string
	arm    string // the arm that has the layer
	l      layer.Layer
	own    layer.Layer // this arm's layer of the same kind, with other parameters; nil: none
	beside bool        // set if l can prove that it is off even though the arm's own layer (own) is on
}

// absentLayers lists the distinct layers of other arms that must be off in this arm. If this arm's own proof shows a
// layer off, it is left out.
func absentLayers(x *experiment.Expansion, arm int) []absentLayer {
	text := func(arm, layer int) string {
		config, _ := json.Marshal(x.Plan.Arms[arm].Layers[layer])
		return string(config)
	}
	own := map[string]layer.Layer{}
	has := map[string]bool{}
	for i, item := range x.Layers[arm] {
		own[item.Kind], _ = item.Config.(layer.Layer)
		has[text(arm, i)] = true
	}
	var off []absentLayer
	for a, items := range x.Layers {
		for i, item := range items {
			config := text(a, i)
			l, ok := item.Config.(layer.Layer)
			if !ok || has[config] {
				continue
			}
			has[config] = true
			if d := l.Declare(); own[item.Kind] == nil || !d.OwnProves {
				off = append(off, absentLayer{kind: item.Kind, arm: x.Plan.Arms[a].Name, l: l, own: own[item.Kind], beside: d.ProvesBeside})
			}
		}
	}
	return off
}

// provable reports whether a proof in this arm can show that the layer is off.
func (a absentLayer) provable() bool { return a.own == nil || a.beside }

// prove proves that the layer is off at the session's site. If this is not provable, the only check states that nothing
// was looked for.
func (a absentLayer) prove(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if a.provable() {
		s.Own = a.own
		return a.l.ProveOff(ctx, s)
	}
	return []layer.Check{{Layer: a.kind, Name: "the layer of arm " + a.arm, Expected: "not on", Observed: "not looked for", OK: true,
		Caveat: fmt.Sprintf("this arm has a layer %s of its own: the absence of another arm's layer %[1]s is not proved", a.kind)}}, nil
}
