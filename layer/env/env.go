// Package env is a layer of environment variables around the commands under
// test: the simplest way to price what a variable switches on.
//
//   - env: {set: {GODEBUG: madvdontneed=0, LD_PRELOAD: /usr/lib/libhardened_malloc.so}}
//
// Proof, before every trial: a process started in the way of the commands under
// test reports the variables that it has. In an arm with the layer each must
// have its value, in an arm without it none may. Values that are hidden (taken
// from the environment, or of a secret's name; see package environ) are compared
// by their SHA-256, which goes through a pipe only; neither enters the run. Nor
// does a value that is not the layer's, which the variable has from elsewhere.
package env

import (
	"context"
	"fmt"
	"os"
	"slices"

	"tare/experiment"
	"tare/experiment/environ"
	"tare/layer"
	"tare/testbed"
)

const name = "env"

// Config is the parameters of the layer.
type Config struct {
	Set environ.Variables `yaml:"set" json:"set" required:"true" doc:"variables to add; $NAME takes a value from the environment of tare, $$ is a $"`
}

// New gives the layer's parameters; there are no defaults.
func New() layer.Layer { return &Config{} }

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "environment variables around the commands under test",
	New:     New,
	Probe:   testbed.AlwaysWorks(name, "any variable"),
	Helper:  report,
}

// Declare says that the layer needs nothing.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate}
}

// validate checks the values.
func (c *Config) validate() []experiment.FieldError {
	if len(c.Set) == 0 {
		return []experiment.FieldError{{Field: "set", Message: "no variable is given: the layer would do nothing"}}
	}
	return c.Set.Validate("set")
}

// Up resolves the variables.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	values, err := c.Set.Resolve()
	if err != nil {
		return nil, err
	}
	for _, n := range c.Set.Names() {
		if outside, set := os.LookupEnv(n); set && outside == values[n] {
			return nil, fmt.Errorf("the variable %s has this value in the environment of tare already, so every arm would have it: unset it, or take the value from a variable of another name", n)
		}
	}
	return &layer.Active{
		Wrap: func(cmd testbed.Command) testbed.Command {
			cmd.Env = append(slices.Clone(cmd.Env), environ.Assignments(values)...)
			return cmd
		},
		Before: func(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
			return c.prove(ctx, s, site, values, true)
		},
	}, nil
}

// ProveOff shows that a command under test does not have the values.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	values, err := c.Set.Resolve()
	if err != nil {
		return nil, err
	}
	return c.prove(ctx, s, s.Site, values, false)
}

// prove shows of each variable whether a command under test has its value.
func (c *Config) prove(ctx context.Context, s *layer.Session, site testbed.Site, values map[string]string, on bool) ([]layer.Check, error) {
	return s.Everywhere(func(where testbed.Place) ([]layer.Check, error) {
		seen, err := c.look(ctx, site, where)
		if err != nil {
			return nil, err
		}
		var checks []layer.Check
		for _, n := range c.Set.Names() {
			checks = append(checks, c.check(n, values[n], seen[n], on))
		}
		return checks, nil
	})
}
