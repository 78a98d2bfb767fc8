// Package link is the layer that gives an arm another network wire than the testbed's: another rate or MTU, a delay,
// losses. It protects nothing. Its effect is known beforehand and so tests Tare itself: for a wire at 999 instead of
// 1051 Mbit/s, Tare must report a cost of 4.9 % of the bandwidth. It can imitate another platform's network, such as an
// MTU of 1450 instead of 8896 bytes.
//
// Proof: every changed property is read back from the kernel, before each trial and after it.
package link

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    "link",
	Summary: "another wire: its rate, MTU, delay and losses; a known effect, to test Tare itself",
	Example: "mtu: 9000",
	New:     func() layer.Layer { return &config{} },
	Probe:   probe,
}

// config holds the layer's parameters. A property that no parameter sets keeps the testbed's value.
type config struct {
	Rate  factor.Levels[quantity.Rate]     `yaml:"rate" json:"rate,omitempty" doc:"rate of each direction"`
	MTU   factor.Levels[int]               `yaml:"mtu" json:"mtu,omitempty" min:"576" max:"65535" doc:"largest IP packet between the pods in bytes"`
	Delay factor.Levels[quantity.Duration] `yaml:"delay" json:"delay,omitempty" doc:"time by which each direction delays every packet"`
	Loss  factor.Levels[quantity.Percent]  `yaml:"loss" json:"loss,omitempty" doc:"share of the packets of each direction that are lost at random"`
}

const longestDelay = 10 * time.Second // limit of the parameter delay; no network on Earth has a longer delay

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Validate:     c.validate,
		Needs:        experiment.Needs{Network: true, Only: experiment.TestbedLocal},
		Elsewhere:    "the wire belongs to the cluster: compare kinds of nodes by the layer pod with nodeSelector, or clusters by the layer context",
		ProvesBeside: true,
	}
}

func (c *config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.Rate)+len(c.MTU)+len(c.Delay)+len(c.Loss) == 0 {
		errs.Add("", "set at least one of rate, mtu, delay and loss")
	}
	for i, d := range c.Delay {
		if d < 0 || d.Std() > longestDelay || d.Std()%time.Microsecond != 0 {
			errs.Add(fmt.Sprintf("delay[%d]", i), "%v is not a whole number of microseconds up to %v", d, quantity.Duration(longestDelay))
		}
	}
	for i, l := range c.Loss {
		if l >= 1 {
			errs.Add(fmt.Sprintf("loss[%d]", i), "%v is not less than 100%%", l)
		}
	}
	return errs
}

func (c *config) over(s testbed.Shape) testbed.Shape {
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

func (c *config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
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
		// after the trial, the settings must still be in force
		After: func(context.Context, layer.Did) ([]layer.Check, error) { return check(on, c, want) },
		Down:  func(context.Context) error { return reset(on) },
	}, nil
}

// ProveOff checks that the kernel reports the testbed's values for the layer's properties, except those that the arm's
// own layer link sets.
func (c *config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	on, err := shaper(s.Site)
	if err != nil {
		return nil, err
	}
	return check(on, layer.Without(c, s.Own), on.Unshaped())
}

func shaper(site testbed.Site) (testbed.Shaper, error) {
	return testbed.Need[testbed.Shaper](site, "this testbed has no wire that can be shaped")
}

// The constants are the largest allowed differences between a value that Tare set and the value that the kernel
// reports.
const (
	wholeBytes = 8    // rate in bit/s: the kernel stores the rate in whole bytes per second
	lossDigits = 1e-6 // loss as a share of packets: rounding to the kernel's 32 bits changes it by less
)

const wholeFrames = "a packet here is a unit that a node hands to its interface: for TCP it may have 64 KiB, which are lost as a whole"

func check(on testbed.Shaper, c *config, want testbed.Shape) ([]layer.Check, error) {
	got, err := on.Shaped()
	if err != nil {
		return nil, fmt.Errorf("read the wire's properties: %w", err)
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

func reset(on testbed.Shaper) error {
	if err := on.Shape(on.Unshaped()); err != nil {
		return fmt.Errorf("restore the testbed's wire: %w", err)
	}
	return nil
}

func probe(ctx context.Context) []testbed.Finding {
	other := func(f testbed.Finding) bool { return f.Name != local.Shaping }
	return append(slices.DeleteFunc(local.Probe(ctx), other), local.ProbeDelays())
}
