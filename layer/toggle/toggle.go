// Package toggle is a layer that is being written:
// its kind is switch.
package toggle

import (
	"context"
	"fmt"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
)

const name = "switch"

// Config is the parameters of the layer.
type Config struct {
}

// New gives the layer's parameters with their defaults.
func New() layer.Layer { return &Config{} }

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "commands that turn something on and off, such as encryption in the network plug-in",
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
