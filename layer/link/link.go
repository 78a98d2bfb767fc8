// Package link is the layer that gives an arm another wire than the testbed's: another rate
// or MTU, a delay, losses. It protects nothing. With an effect that is known beforehand it
// shows whether the instrument finds what is there (a wire at 999 instead of 1051 Mbit/s must
// be found to cost 4.9 % of the bandwidth); and it stands for what one platform's network has
// and another's has not, such as an MTU of 1450 in place of 8896 bytes.
//
// Every property is read back from the kernel, before each trial and after it.
package link

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

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
	Summary: "another wire: its rate, MTU, delay and losses; a known effect, to test the instrument with",
	Example: "mtu: 9000",
	New:     func() layer.Layer { return &Config{} },
	Probe:   probe,
}

// Config is the layer's parameters. What is not given stays the testbed's.
type Config struct {
	Rate  factor.Levels[quantity.Rate]     `yaml:"rate" json:"rate,omitempty" doc:"the rate that each direction is shaped to"`
	MTU   factor.Levels[int]               `yaml:"mtu" json:"mtu,omitempty" min:"576" max:"65535" doc:"largest IP packet between the pods in bytes"`
	Delay factor.Levels[quantity.Duration] `yaml:"delay" json:"delay,omitempty" doc:"time by which each direction delays every packet"`
	Loss  factor.Levels[quantity.Percent]  `yaml:"loss" json:"loss,omitempty" doc:"share of the packets of each direction that are lost at random"`
}

// longestDelay is one that no network on Earth has.
const longestDelay = 10 * time.Second

// Declare says that the layer needs a wire.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Validate:     c.validate,
		Needs:        experiment.Needs{Network: true, Only: experiment.TestbedLocal},
		Elsewhere:    "its wire is the cluster's own: compare nodes of other kinds by the layer pod with nodeSelector, or clusters by the layer context",
		ProvesBeside: true,
	}
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.Rate)+len(c.MTU)+len(c.Delay)+len(c.Loss) == 0 {
		errs.Add("", "at least one of rate, mtu, delay and loss must be given")
	}
	for i, d := range c.Delay {
		if d < 0 || d.Std() > longestDelay || d.Std()%time.Microsecond != 0 {
			errs.Add(fmt.Sprintf("delay[%d]", i), "%v is not a number of whole microseconds up to %v", d, quantity.Duration(longestDelay))
		}
	}
	for i, l := range c.Loss {
		if l >= 1 {
			errs.Add(fmt.Sprintf("loss[%d]", i), "%v is not less than 100%%", l)
		}
	}
	return errs
}

// over is the wire that the layer makes of another.
func (c *Config) over(s testbed.Shape) testbed.Shape {
	if len(c.Rate) > 0 {
		s.Rate = float64(c.Rate.One())
	}
	if len(c.MTU) > 0 {
		s.MTU = c.MTU.One()
	}
	if len(c.Delay) > 0 {
		s.Delay = c.Delay.One().Std()
	}
	if len(c.Loss) > 0 {
		s.Loss = float64(c.Loss.One())
	}
	return s
}

// Up shapes the wire of the site.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	on, err := shaper(s.Site)
	if err != nil {
		return nil, err
	}
	want := c.over(on.Unshaped())
	if err := on.Shape(want); err != nil {
		return nil, errors.Join(fmt.Errorf("shape the wire: %w", err), reset(on))
	}
	return &layer.Active{
		Before: func(context.Context, testbed.Site) ([]layer.Check, error) { return check(on, c, want) },
		After:  func(context.Context, layer.Did) ([]layer.Check, error) { return check(on, c, want) }, // in force until the end
		Down:   func(context.Context) error { return reset(on) },
	}, nil
}

// ProveOff reads back that the wire is the testbed's, in what the layer changes. What the arm's
// own layer of this kind sets, that one's proof shows.
func (c *Config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	on, err := shaper(s.Site)
	if err != nil {
		return nil, err
	}
	return check(on, layer.Without(c, s.Own), on.Unshaped())
}

func shaper(site testbed.Site) (testbed.Shaper, error) {
	return testbed.Need[testbed.Shaper](site, "this testbed has no wire that can be shaped")
}

// The most that the kernel's figures may differ.
const (
	wholeBytes = 8    // bit/s: it keeps whole bytes per second
	lossDigits = 1e-6 // it keeps a share as 32 bits, which come from as many of a float
)

// wholeFrames is what must be known of losses.
const wholeFrames = "a packet here is what a node hands to its interface: of TCP that may be 64 KiB at once, which is lost as a whole"

// check compares what the layer changes, as the kernel has it, with what it is to be.
func check(on testbed.Shaper, c *Config, want testbed.Shape) ([]layer.Check, error) {
	got, err := on.Shaped()
	if err != nil {
		return nil, fmt.Errorf("read back how the wire is: %w", err)
	}
	var checks []layer.Check
	add := func(name, expected, observed string, ok bool, caveat string) {
		checks = append(checks, layer.Check{Layer: Kind.Name, Name: name + " of the wire", Expected: expected, Observed: observed, OK: ok, Caveat: caveat})
	}
	if len(c.Rate) > 0 {
		add("rate", quantity.Rate(want.Rate).String(), quantity.Rate(got.Rate).String(), math.Abs(got.Rate-want.Rate) < wholeBytes, "")
	}
	if len(c.MTU) > 0 {
		add("MTU", fmt.Sprint(want.MTU), fmt.Sprint(got.MTU), got.MTU == want.MTU, "")
	}
	if len(c.Delay) > 0 {
		add("delay", quantity.Duration(want.Delay).String(), quantity.Duration(got.Delay).String(), got.Delay == want.Delay, "")
	}
	if len(c.Loss) > 0 {
		caveat := ""
		if want.Loss > 0 {
			caveat = wholeFrames
		}
		add("loss", quantity.Percent(want.Loss).String(), quantity.Percent(math.Round(got.Loss/lossDigits)*lossDigits).String(), math.Abs(got.Loss-want.Loss) < lossDigits, caveat)
	}
	return checks, nil
}

// reset makes the wire the testbed's again.
func reset(on testbed.Shaper) error {
	if err := on.Shape(on.Unshaped()); err != nil {
		return fmt.Errorf("make the wire the testbed's again: %w", err)
	}
	return nil
}

// probe passes on what the local testbed finds about shaping.
func probe(ctx context.Context) []testbed.Finding {
	var findings []testbed.Finding
	for _, f := range local.Probe(ctx) {
		if f.Name == local.Shaping {
			findings = append(findings, f)
		}
	}
	return append(findings, local.ProbeDelays())
}
