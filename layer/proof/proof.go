// Package proof is a layer that is being written:
// its kind is proof.
package proof

import (
	"context"
	"fmt"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
)

const name = "proof"

// Config is the parameters of the layer.
type Config struct {
}

// New gives the layer's parameters with their defaults.
func New() layer.Layer { return &Config{} }

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "programs whose output shows that what other layers ask for is on",
	New:     New,
	Probe:   probe,
}

func probe(context.Context) []testbed.Finding { return nil }

// Needs says that the layer needs nothing.
func (c *Config) Needs() experiment.Needs {
	return experiment.Needs{}
}

// Up puts it up.
func (c *Config) Up(context.Context, testbed.Site) (layer.Active, error) {
	return nil, fmt.Errorf("not built")
}

// ProveOff shows that it is off.
func (c *Config) ProveOff(context.Context, testbed.Site) ([]layer.Check, error) {
	return nil, fmt.Errorf("not built")
}
