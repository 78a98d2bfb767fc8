// Package manifests is a layer of Kubernetes objects, such as policies: they are
// there for its arm, and not for the others.
//
//   - manifests:
//     inline: |
//     apiVersion: security.istio.io/v1
//     kind: PeerAuthentication
//     metadata: {name: strict}
//     spec: {mtls: {mode: STRICT}}
//
// Objects without a namespace are put into the arm's own, by server-side apply,
// before the arm's pods are made, so that what acts on new pods (an injection, a
// profile) acts on them. What is outside of that namespace would concern the other
// arms too, and is refused, unless the file says that it does not (scope: arm) or
// that it is to be there during the trials of this arm only (exclusive).
//
// Proof, before every trial: each object is read back, every field that was
// applied has its value, its controller has seen it as it is, and the conditions
// hold. In the other arms the objects are not there. That shows that the cluster
// holds the objects, not that anything acts on them: that is for the layer proof.
package manifests

import (
	"context"
	"time"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
	"tare/testbed/kube"
)

const name = "manifests"

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "Kubernetes objects that are applied in the arm, such as a policy",
	Example: "inline: |\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: example}",
	New:     func() layer.Layer { return &Config{When: BeforePods, Scope: OwnNamespace} },
	Probe:   testbed.AlwaysWorks(name, "any object that the cluster has a kind for"),
}

// Declare says that the layer needs a cluster, and rights to what it applies.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		ReadFiles:    c.readFiles,
		Validate:     c.validate,
		Needs:        experiment.Needs{Only: experiment.TestbedKubernetes},
		Elsewhere:    "no objects are there: put a command in front of the programs by the layer wrap, or turn something on by the layer switch",
		Rights:       c.rights,
		ProvesBeside: true,
	}
}

// Up applies the objects, unless they come after the pods (settle). Exclusive ones are
// applied by the switch; Up only sees that they are not there yet.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	// Longer than the site's own limits, whose errors say more.
	timeouts := site.Parameters().Timeouts
	limit := timeouts.Delete.Std() + timeouts.Request.Std() + 5*time.Second
	a := &active{config: c.filled(), on: site}
	if err := a.up(ctx, site.Parameters().Namespace != ""); err != nil {
		return nil, err
	}
	up := &layer.Active{Settle: a.settle, Before: a.before, Down: a.down, DownLimit: limit}
	if c.Exclusive {
		up.Switch = &layer.Switch{On: a.apply, Off: a.down, Settling: c.Settle.Std()}
	}
	return up, nil
}

// ProveOff shows that the objects are not there at another arm's site, but for those
// that the arm's own layer applies: of those its proof shows the fields.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	own, _ := s.Own.(*Config)
	if own != nil {
		own = own.filled()
	}
	c = c.filled()
	check, err := c.absent(ctx, site, site.Parameters().Namespace != "", own)
	if check.Name == "" && err == nil {
		return nil, nil // both have the same objects
	}
	return []layer.Check{check}, err
}

// shared says why an object is not the arm's alone, or "".
func shared(namespaced bool, namespace, own string, given bool) string {
	switch {
	case !namespaced:
		return "it belongs to the whole cluster"
	case namespace != own:
		return "it is in namespace " + namespace + ", and not in the arm's own"
	case given:
		return "all arms share the namespace " + own
	}
	return ""
}
