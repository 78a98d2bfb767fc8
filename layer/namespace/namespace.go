// Package namespace is the layer that a cluster puts around a workload by the
// labels and annotations of its namespace: sidecar injection, a mesh's ambient
// mode, policies that select namespaces.
//
//   - namespace: {labels: {istio.io/dataplane-mode: ambient}}
//
// Proof, before every trial: the API server has the namespace with each of them,
// and the namespaces of arms without the layer with none. That shows what was
// asked for, and not that anything acts on it: add the layer pod (sidecars), manifests
// (a condition) or proof to the arm.
package namespace

import (
	"tare/experiment"
	"tare/layer"
	"tare/testbed"
)

const name = "namespace"

// Config is the parameters of the layer.
type Config struct {
	Labels      map[string]string `yaml:"labels" doc:"labels of the namespace"`
	Annotations map[string]string `yaml:"annotations" doc:"annotations of the namespace"`
}

// New gives the layer's parameters; there are no defaults.
func New() layer.Layer { return &Config{} }

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "labels and annotations of the arm's namespace",
	New:     New,
	Probe:   testbed.AlwaysWorks(name, "on the testbed kubernetes, with namespaces that Tare makes"),
}

// Declare says that the layer needs a cluster.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Validate:     c.validate,
		Needs:        experiment.Needs{Only: experiment.TestbedKubernetes},
		Shapes:       true,
		ProvesBeside: true,
	}
}
