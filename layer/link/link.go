// Package link is the layer that gives an arm's wire another rate than the
// testbed's. It protects nothing: its effect is known beforehand, so it shows
// whether the instrument finds what is there (a wire at 999 instead of 1051
// Mbit/s must be found to cost 4.9 % of the bandwidth).
package link

import (
	"context"
	"fmt"
	"math"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/layer"
	"tare/testbed"
	"tare/testbed/local"
)

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    "link",
	Summary: "another rate of the wire: a known effect, to test the instrument with",
	New:     func() layer.Layer { return &Config{} },
	Probe:   probe,
}

// Config is the layer's parameters.
type Config struct {
	Rate factor.Levels[quantity.Rate] `yaml:"rate" json:"rate" required:"true" doc:"the rate that each direction is shaped to"`
}

// Declare says that the layer needs a wire.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs:        experiment.Needs{Network: true, Only: experiment.TestbedLocal},
		ProvesBeside: true,
	}
}

// Up shapes the wire of the site.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	on, err := shaped(s.Site)
	if err != nil {
		return nil, err
	}
	rate := c.Rate.One()
	if err := on.Shape(float64(rate)); err != nil {
		return nil, fmt.Errorf("set the wire to %s: %w", rate, err)
	}
	return &layer.Active{
		Before: func(context.Context, testbed.Site) ([]layer.Check, error) { return on.check(rate) },
		After:  func(context.Context, layer.Did) ([]layer.Check, error) { return on.check(rate) }, // in force until the end
		Down:   on.reset,
	}, nil
}

// ProveOff reads back that the wire has the testbed's rate. Where the arm has a rate
// of its own there is nothing to add: its proof shows the one that the wire has.
func (c *Config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	if s.Own != nil {
		return nil, nil
	}
	on, err := shaped(s.Site)
	if err != nil {
		return nil, err
	}
	return on.check(quantity.Rate(on.LinkRate()))
}

// wire is what the layer needs of a site.
type wire struct {
	testbed.Network
	testbed.Shaper
}

func shaped(site testbed.Site) (wire, error) {
	network, ok1 := testbed.As[testbed.Network](site)
	shaper, ok2 := testbed.As[testbed.Shaper](site)
	if !ok1 || !ok2 {
		return wire{}, fmt.Errorf("this testbed has no wire whose rate can be set")
	}
	return wire{network, shaper}, nil
}

// rounding is the most that the kernel's figure may differ, in bit/s: it keeps
// whole bytes per second.
const rounding = 8

// check compares the rate in force, as the kernel tells it, with what it is to be.
func (w wire) check(want quantity.Rate) ([]layer.Check, error) {
	got, err := w.Shaped()
	if err != nil {
		return nil, fmt.Errorf("read the rate of the wire: %w", err)
	}
	return []layer.Check{{
		Layer:    Kind.Name,
		Name:     "rate of the wire",
		Expected: want.String(),
		Observed: quantity.Rate(got).String(),
		OK:       math.Abs(got-float64(want)) < rounding,
	}}, nil
}

// reset gives the wire the testbed's rate again.
func (w wire) reset(context.Context) error {
	rate := quantity.Rate(w.LinkRate())
	if err := w.Shape(float64(rate)); err != nil {
		return fmt.Errorf("set the wire back to %s: %w", rate, err)
	}
	return nil
}

// probe passes on what the local testbed finds about shaping.
func probe(ctx context.Context) []testbed.Finding {
	for _, f := range local.Probe(ctx) {
		if f.Name == local.Shaping {
			return []testbed.Finding{f}
		}
	}
	return nil
}
