// Package kubecontext is the layer that puts an arm on another cluster, named by a
// context of the kubeconfig: one made of confidential virtual machines, one with
// another network plug-in. Its trials still alternate with those of the other arms.
//
//   - context: {name: constellation}
//
// Two clusters differ in more than one thing. What is measured is the difference
// between the clusters; which of their differences causes it, the layer cannot say,
// and the report carries that as a caveat.
//
// Proof: clusters are known by the UID of their namespace kube-system. The site's
// API server must name the UID that the context's named when the site was made; in
// an arm without the layer it must name another.
package kubecontext

import (
	"tare/experiment"
	"tare/layer"
	"tare/testbed"
)

const name = "context"

// Config is the parameters of the layer.
type Config struct {
	Name string `yaml:"name" required:"true" doc:"context of the kubeconfig"`
}

// New gives the layer's parameters; there are no defaults.
func New() layer.Layer { return &Config{} }

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "another cluster, by its context in the kubeconfig",
	New:     New,
	Probe:   testbed.AlwaysWorks(name, "on the testbed kubernetes; whether the cluster answers is seen when the arm is made"),
}

// Declare says that the arm is on the cluster of the context, which must say who it is.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs:   experiment.Needs{Only: experiment.TestbedKubernetes},
		Context: c.Name,
		Rights: func(string) []experiment.Right {
			return []experiment.Right{{Resource: "namespaces", Verbs: []string{"get"}, Why: "clusters are told from each other by the UID of kube-system"}}
		},
		Shapes:       true,
		ProvesBeside: true,
	}
}
