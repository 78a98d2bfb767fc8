// Package env is a layer of environment variables around the subjects. It is the simplest way to measure the cost of a
// mechanism that a variable turns on.
//
//   - env: {set: {GODEBUG: madvdontneed=0, LD_PRELOAD: /usr/lib/libhardened_malloc.so}}
//
// Proof, before every trial: a process that is started like a subject reports its variables. In an arm with the layer
// each variable must have the layer's value. In an arm without the layer none may have it. Values are hidden if they
// come from the environment, or if the variable's name suggests a secret (package environ). Hidden values are compared
// by
// their SHA-256, and the run stores neither value nor hash. A value that does not come from the layer is not stored
// either.
package env

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"tare/internal/experiment"
	"tare/internal/experiment/environ"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

const name = "env"

type config struct {
	Set environ.Variables `yaml:"set" json:"set" required:"true" doc:"variables to add; $NAME takes a value from the environment of tare, $(file:PATH) from a file, $$ is a $"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "environment variables of the programs under test",
	Example: "set: {GODEBUG: madvdontneed=0}",
	New:     func() layer.Layer { return &config{} },
	Probe:   testbed.AlwaysWorks(name, "any variable"),
	Helper:  helperrpc.Answering("read the names of variables", report),
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, ProvesBeside: true}
}

func (c *config) validate() []experiment.FieldError {
	if len(c.Set) == 0 {
		return []experiment.FieldError{{Field: "set", Message: "there is no variable: the layer would do nothing"}}
	}
	return c.Set.Validate("set")
}

func (c *config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	values, err := c.Set.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range c.Set.Names() {
		if outside, set := os.LookupEnv(n); set && outside == values[n] {
			return nil, fmt.Errorf("the variable %s has this value in the environment of tare already, so every arm would have it: unset it, or use a variable of another name for the value", n)
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

// ProveOff shows that a subject's environment lacks the layer's values. Variables that the arm's own layers set are not
// checked.
func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if c = layer.Without(c, s.Own); len(c.Set) == 0 {
		return nil, nil
	}
	values, err := c.Set.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	return c.prove(ctx, s, s.Site, values, false)
}

func (c *config) prove(ctx context.Context, s *layer.Session, site testbed.Site, values map[string]string, on bool) ([]layer.Check, error) {
	return s.Everywhere(func(where testbed.Place) ([]layer.Check, error) {
		seen, err := c.look(ctx, site, where)
		if err != nil {
			return nil, err
		}
		return lists.Map(c.Set.Names(), func(n string) layer.Check { return c.check(n, values[n], seen[n], on) }), nil
	})
}

type question struct {
	Name   string `json:"name"`
	Hidden bool   `json:"hidden"` // true: the answer holds the value's hash, not the value
}

type answer struct {
	Set   bool   `json:"set"`
	Value string `json:"value"` // the value, or its SHA-256 in hex
}

// look starts a process at a place like a subject. The process reports its variables; look returns the answers by the
// variables' names.
func (c *config) look(ctx context.Context, site testbed.Site, where testbed.Place) (map[string]answer, error) {
	questions := lists.Map(c.Set.Names(), func(n string) question { return question{Name: n, Hidden: c.Set.Hidden(n)} })
	cmd, err := helperrpc.Command(site, where, name, questions)
	if err != nil {
		return nil, err
	}
	cmd.Subject = true
	out, err := evidence.Output(ctx, site, where, cmd, evidence.Limit)
	if err != nil {
		return nil, fmt.Errorf("read the environment of a program under test: %w", err)
	}
	seen := map[string]answer{}
	if err := json.Unmarshal([]byte(out), &seen); err != nil {
		return nil, fmt.Errorf("read the environment of a program under test: the answer of %d bytes is not JSON: %w", len(out), err)
	}
	return seen, nil
}

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

func hash(value string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(value))) }

func (c *config) check(n, value string, seen answer, on bool) layer.Check {
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
	case !same: // the value is not the layer's; it is not shown, since it may be a secret
		observed = "another value"
	}
	return layer.Check{Layer: name, Name: "variable " + n, Expected: expected, Observed: observed}.Expect(on, same)
}
