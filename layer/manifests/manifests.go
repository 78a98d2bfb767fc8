// Package manifests is a layer of Kubernetes objects: they are applied in its
// arm, and are not there in the others.
package manifests

import (
	"context"
	"fmt"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
)

const name = "manifests"

// Config is the parameters of the layer.
type Config struct {
	Inline string `yaml:"inline" json:"inline,omitempty" doc:"objects in YAML, documents separated by ---"`
}

// New gives the layer's parameters with their defaults.
func New() layer.Layer { return &Config{} }

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "Kubernetes objects that are applied in the arm, such as a policy",
	New:     New,
	Probe:   probe,
}

func probe(context.Context) []testbed.Finding { return nil }

// Needs says that the layer needs a cluster.
func (c *Config) Needs() experiment.Needs {
	return experiment.Needs{Only: experiment.TestbedKubernetes}
}

// Up applies the objects.
func (c *Config) Up(context.Context, testbed.Site) (layer.Active, error) {
	return nil, fmt.Errorf("not built")
}

// ProveOff shows that the objects are not there.
func (c *Config) ProveOff(context.Context, testbed.Site) ([]layer.Check, error) {
	return nil, fmt.Errorf("not built")
}
