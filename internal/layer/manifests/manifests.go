// Package manifests is a layer of Kubernetes objects, such as policies. The objects exist for the arm with
// the layer, and not for the other arms.
//
//   - manifests:
//     inline: |
//     apiVersion: security.istio.io/v1
//     kind: PeerAuthentication
//     metadata: {name: strict}
//     spec: {mtls: {mode: STRICT}}
//
// An object that names no namespace is put into the arm's own namespace, by server-side apply. This happens
// before the arm's pods are created, so that the object acts on these pods (by an injection or a profile, for
// example). An object outside of the arm's namespace would affect the other arms, too. Such an object is
// refused, unless the experiment file declares that it does not affect them (scope: arm) or that it exists
// during the trials of this arm only (exclusive).
//
// Proof, before every trial: each object is read back. Every field that was applied has its value, the
// object's controller has seen its current generation, and the conditions hold. In the other arms the objects
// do not exist. The proof shows that the cluster has the objects, but not that they have an effect. The layer
// proof can show their effect.
package manifests

import (
	"context"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
)

const name = "manifests"

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "Kubernetes objects that are applied in the arm, such as a policy",
	Example: "inline: |\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: example}",
	New:     func() layer.Layer { return &Config{When: beforePods, Scope: ownNamespace} },
	Probe:   testbed.AlwaysWorks(name, "any object that the cluster has a kind for"),
}

// Declare declares that the layer needs a cluster, and the rights to the objects that it applies.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		ReadFiles:    c.readFiles,
		Validate:     c.validate,
		Needs:        experiment.Needs{Only: experiment.TestbedKubernetes},
		Elsewhere:    "there are no Kubernetes objects: put a command in front of the programs with the layer wrap, or turn something on with the layer switch",
		Rights:       c.rights,
		ProvesBeside: true,
	}
}

// Up applies the objects, unless they must be created after the pods (then settle applies them). If the
// objects are exclusive, the switch applies them, and Up only checks that they do not exist yet.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	// DownLimit is longer than the site's own timeouts, since the errors of those are more precise.
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

// ProveOff shows that the objects do not exist at another arm's site. If the other arm has a manifests layer
// of its own, the objects that this layer applies are left out: its own proof shows their fields.
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
		return nil, nil // both layers have the same objects
	}
	return []layer.Check{check}, err
}

// shared returns the reason why an object would affect other arms, too; "" if it would not.
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
