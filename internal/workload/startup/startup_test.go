package startup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   []experiment.FieldError
	}{
		{func(*Config) {}, nil},
		{func(c *Config) { c.Command = []string{""} }, []experiment.FieldError{{Field: "run[0]", Message: "the program has no name"}}},
		{func(c *Config) { c.Timeout = 1; c.Duration = 0 }, []experiment.FieldError{
			{Field: "timeout", Message: "1ns is not between 10ms and 1h"}, {Field: "duration", Message: "0s is not between 100ms and 1h"}}},
		{func(c *Config) { c.Instances, c.Stays = factor.Of(1), true }, []experiment.FieldError{{Field: "stays", Message: "idle instances stay in any case: leave it out"}}},
	} {
		w := New().(*Config)
		c.change(w)
		if diff := cmp.Diff(c.want, w.validate()); diff != "" {
			t.Error(diff)
		}
	}
}

// The metrics depend on the config. A trial with starts has a cost; a trial with idle instances has no slices.
func TestMeasures(t *testing.T) {
	c := New().(*Config)
	m := c.Measures()
	if len(m.OnClusters) != len(phases) || m.OnMachine != nil || m.Cost == nil || m.Slice == nil || m.Metrics[0].Name != mean || !m.Metrics[0].Headline || m.Expected != 21*usual {
		t.Errorf("%+v", m)
	}
	c.Instances, c.Settle, c.Duration = factor.Of(10), quantity.Duration(time.Second), quantity.Duration(2*time.Second)
	m = c.Measures()
	if len(m.OnMachine) != 1 || m.OnClusters != nil || m.Cost != nil || m.Slice != nil || m.Metrics[0].Name != memory || !m.Metrics[0].Headline || m.Expected != 10*usual+3*time.Second {
		t.Errorf("%+v", m)
	}
	if n := c.Declare().Needs; n.Pods() || !n.PodsOnClusters() {
		t.Errorf("%+v", n)
	}
}
