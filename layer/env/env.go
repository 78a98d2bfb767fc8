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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"tare/experiment"
	"tare/experiment/environ"
	"tare/layer"
	"tare/layer/evidence"
	"tare/testbed"
	"tare/testbed/orders"
)

const name = "env"

// Config is the parameters of the layer.
type Config struct {
	Set environ.Variables `yaml:"set" json:"set" required:"true" doc:"variables to add; $NAME takes a value from the environment of tare, $(file:PATH) from a file, $$ is a $"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "environment variables around the commands under test",
	Example: "set: {GODEBUG: madvdontneed=0}",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "any variable"),
	Helper:  orders.Answering("read the names of variables", report),
}

// Declare says that the layer needs nothing, and is told from another one of its kind.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, ProvesBeside: true}
}

// validate checks the values.
func (c *Config) validate() []experiment.FieldError {
	if len(c.Set) == 0 {
		return []experiment.FieldError{{Field: "set", Message: "no variable is given: the layer would do nothing"}}
	}
	return c.Set.Validate("set")
}

// Up resolves the variables.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	values, err := c.Set.Resolve(ctx)
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

// ProveOff shows that a command under test does not have the values. The variables that a layer of this kind of
// the arm's own sets are for its proof to show.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if c = layer.Without(c, s.Own); len(c.Set) == 0 {
		return nil, nil
	}
	values, err := c.Set.Resolve(ctx)
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

// question asks the process that looks for one variable.
type question struct {
	Name   string `json:"name"`
	Hidden bool   `json:"hidden"` // answer with the hash of the value
}

// answer is what it found.
type answer struct {
	Set   bool   `json:"set"`
	Value string `json:"value"` // or its SHA-256 in hex
}

// look starts the process that reports variables, as a command under test at a place of
// a site, in the layer's wrapper if there is one.
func (c *Config) look(ctx context.Context, site testbed.Site, where testbed.Place) (map[string]answer, error) {
	var questions []question
	for _, n := range c.Set.Names() {
		questions = append(questions, question{Name: n, Hidden: c.Set.Hidden(n)})
	}
	cmd, err := orders.Command(site, where, name, questions)
	if err != nil {
		return nil, err
	}
	cmd.Subject = true
	out, err := evidence.Output(ctx, site, where, cmd, evidence.Limit)
	if err != nil {
		return nil, fmt.Errorf("look at the environment of a command under test: %w", err)
	}
	seen := map[string]answer{}
	if err := json.Unmarshal([]byte(out), &seen); err != nil {
		return nil, fmt.Errorf("look at the environment of a command under test: it answered %d bytes that are not JSON: %w", len(out), err)
	}
	return seen, nil
}

// report is the process that looks: it answers the questions.
func report(_ context.Context, questions []question) (map[string]answer, error) {
	answers := map[string]answer{}
	for _, q := range questions {
		value, set := os.LookupEnv(q.Name)
		if q.Hidden && set {
			value = hash(value)
		}
		answers[q.Name] = answer{Set: set, Value: value}
	}
	return answers, nil
}

func hash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// check compares what was seen with the value that the layer gives, which must
// be there when the layer is on and must not when it is off.
func (c *Config) check(n, value string, seen answer, on bool) layer.Check {
	want, expected, observed := value, fmt.Sprintf("%q", value), fmt.Sprintf("%q", seen.Value)
	if c.Set.Hidden(n) {
		want, expected, observed = hash(value), "the value given", "that value"
		if c.Set.Refers(n) {
			expected = "the value of " + c.Set[n]
		}
	}
	same := seen.Set && seen.Value == want
	switch {
	case !seen.Set:
		observed = "not set"
	case !same: // it comes from elsewhere and is nobody's business
		observed = "another value"
	}
	return layer.Check{Layer: name, Name: "variable " + n, Expected: expected, Observed: observed}.When(on, same)
}
