package runner

import (
	"context"
	"encoding/json"
	"fmt"

	"tare/experiment"
	"tare/layer"
)

// absent is a layer of another arm that must not be on in this one.
type absent struct {
	kind   string
	arm    string // that has it
	l      layer.Layer
	own    layer.Layer // this arm's layer of the same kind, with other parameters; nil: it has none
	beside bool        // l can tell although the arm has that one
}

// absentLayers lists the layers that other arms have and this one has not. Of layers of
// the same kind with the same parameters it lists one.
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
			if l, ok := item.Config.(layer.Layer); ok && !has[string(config)] {
				has[string(config)] = true
				off = append(off, absent{kind: item.Kind, arm: x.Plan.Arms[a].Name, l: l, own: own[item.Kind], beside: l.Declare().ProvesBeside})
			}
		}
	}
	return off
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
		Caveat: fmt.Sprintf("this arm has a layer %s of its own: that nothing of the one of arm %s is on here is not shown", a.kind, a.arm)}}, nil
}
