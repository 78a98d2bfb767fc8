// Package namespace is the layer of labels and annotations on the arm's namespace in a cluster. Such labels turn on
// sidecar injection or a mesh's ambient mode, or let policies select the namespace.
//
//   - namespace: {labels: {istio.io/dataplane-mode: ambient}}
//
// Proof, before every trial: the API server reports that the arm's namespace has each of the labels and annotations. In
// an arm without the layer it must have none of them. The layers pod (sidecars), manifests (a condition) and proof can
// show that something acts on them.
package namespace

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/keyvalue"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
)

const name = "namespace"

type config struct {
	Labels      map[string]string `yaml:"labels" doc:"labels of the namespace"`
	Annotations map[string]string `yaml:"annotations" doc:"annotations of the namespace"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "labels and annotations of the arm's namespace",
	Example: "labels: {istio.io/dataplane-mode: ambient}",
	New:     func() layer.Layer { return &config{} },
	Probe:   testbed.AlwaysWorks(name, "on the testbed kubernetes, with namespaces that Tare creates"),
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Validate:     c.validate,
		Needs:        experiment.Needs{Only: experiment.TestbedKubernetes},
		Elsewhere:    "no mechanism acts on labels there; for a mesh's proxies use the layer mtls",
		Shapes:       true,
		ProvesBeside: true,
	}
}

func (c *config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.Labels)+len(c.Annotations) == 0 {
		errs.Add("", "there is no label and no annotation: the layer would do nothing")
	}
	keyvalue.Validate(&errs, "labels", c.Labels, true, taken)
	keyvalue.Validate(&errs, "annotations", c.Annotations, false, taken)
	return errs
}

func taken(key string) string {
	switch {
	case keyvalue.Reserved(key):
		return "Tare identifies namespaces by " + key
	case key == "kubernetes.io/metadata.name":
		return "Kubernetes identifies namespaces by " + key
	}
	return ""
}

// Up registers the labels and annotations for the namespace. The testbed creates the namespace later.
func (c *config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	if given := site.Parameters().Namespace; given != "" {
		return nil, fmt.Errorf("all arms share the experiment's namespace %s, so one arm cannot label it: leave testbed.kubernetes.namespace out, and Tare creates a namespace for each arm", given)
	}
	idle := false // set if the namespace has all the layer's labels and annotations without the layer
	err = site.ShapeNamespace(func(ns *corev1.Namespace) {
		idle = c.lacking(ns) == 0
		ns.Labels, ns.Annotations = keyvalue.With(ns.Labels, c.Labels), keyvalue.With(ns.Annotations, c.Annotations)
	})
	if err != nil {
		return nil, err
	}
	settle := func(context.Context) ([]layer.Check, error) {
		if idle {
			return nil, fmt.Errorf("the layer does not change the namespace %s, so its arm is a copy of the arm without it", site.Namespace())
		}
		return nil, nil
	}
	before := func(ctx context.Context, _ testbed.Site) ([]layer.Check, error) { return c.look(ctx, site, true) }
	return &layer.Active{Settle: settle, Before: before}, nil
}

func (c *config) lacking(ns *corev1.Namespace) int {
	return len(c.Labels) - keyvalue.Among(c.Labels, ns.Labels) + len(c.Annotations) - keyvalue.Among(c.Annotations, ns.Annotations)
}

func (c *config) checks(ns *corev1.Namespace, on bool) []layer.Check {
	var out []layer.Check
	for _, m := range []struct {
		name      string
		want, has map[string]string
	}{{"labels", c.Labels, ns.Labels}, {"annotations", c.Annotations, ns.Annotations}} {
		if len(m.want) == 0 {
			continue
		}
		k := layer.Check{Layer: name, Name: m.name + " of the namespace", Expected: keyvalue.Written(m.want, m.want), Observed: keyvalue.Written(m.want, m.has)}
		k.OK = keyvalue.Among(m.want, m.has) == len(m.want)
		if !on {
			k.Expected = "none of " + k.Expected
			k.OK = keyvalue.Among(m.want, m.has) == 0
		}
		out = append(out, k)
	}
	return out
}

func (c *config) look(ctx context.Context, s *kube.Site, on bool) ([]layer.Check, error) {
	ns, err := s.ReadNamespace(ctx)
	if err != nil {
		return nil, err
	}
	return c.checks(ns, on), nil
}

// ProveOff shows that the arm's namespace has none of the layer's labels and annotations, except those that the arm's
// own layer namespace sets.
func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if c = layer.Without(c, s.Own); len(c.Labels)+len(c.Annotations) == 0 {
		return nil, nil
	}
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	return c.look(ctx, site, false)
}
