// Package program is another program in place of the one that the workload names, as a layer:
// its arms then compare programs.
//
//   - program: {run: [zstd, -1, -k, -f, big]}
//   - program: {shell: 'zstd -1 < big > /dev/null'}
//
// The workloads command and startup start it as they would start their own: with the same
// variables, in the same place, behind whatever other layers the arm has.
//
// Proof, after every trial: that the workload has started it. Arms without the layer have no
// way to it, so that nothing is looked for in them.
package program

import (
	"context"
	"fmt"
	"sync/atomic"

	"tare/experiment"
	"tare/experiment/reference"
	"tare/layer"
	"tare/testbed"
)

const name = "program"

// Config is the layer's parameters.
type Config struct {
	Command reference.Arguments `yaml:"run" json:"run,omitempty" doc:"program and arguments, which may hold $NAME and $(file:PATH); either this or shell"`
	Shell   string              `yaml:"shell" json:"shell,omitempty" doc:"text for /bin/sh -c; either this or run"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "another program in place of the workload's: arms that compare programs",
	Example: "run: [zstd, -1, -k, -f, big]",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "any program, with the workloads command and startup"),
}

// Declare names the program.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Validate: c.validate, Replaces: true}
	if len(c.Command) > 0 {
		d.Programs = []experiment.Program{{Name: c.Command[0], Where: experiment.AtSite}}
	}
	return d
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	switch {
	case len(c.Command) == 0 && c.Shell == "":
		errs.Add("run", "no program is given: write run: [program, argument…], or shell: text for /bin/sh")
	case len(c.Command) > 0 && c.Shell != "":
		errs.Add("shell", "there is run too; the layer has one of them")
	case len(c.Command) > 0 && c.Command[0] == "":
		errs.Add("run[0]", "the program has no name")
	}
	return append(errs, c.Command.Validate("run")...)
}

// Instead is the program of an arm, as its site holds it (testbed.Held).
type Instead struct {
	args    reference.Arguments
	started atomic.Int64
}

// Up shows the program to the workload.
func (c *Config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	i := &Instead{args: Text(c.Command, c.Shell)}
	return &layer.Active{
		Holds: i,
		Before: func(context.Context, testbed.Site) ([]layer.Check, error) {
			i.started.Store(0)
			return nil, nil
		},
		After: func(context.Context, layer.Did) ([]layer.Check, error) {
			n := i.started.Load()
			return []layer.Check{{Layer: name, Name: "started by the workload: " + testbed.Quote(i.args), Expected: "at least once", Observed: fmt.Sprintf("%d times", n), OK: n > 0}}, nil
		},
	}, nil
}

// ProveOff has nothing to look for.
func (c *Config) ProveOff(context.Context, *layer.Session) ([]layer.Check, error) { return nil, nil }

// Text is what is started for a program, or for a text that a shell is to run.
func Text(run reference.Arguments, shell string) reference.Arguments {
	if shell != "" {
		return reference.Arguments{"/bin/sh", "-c", shell}
	}
	return run
}

// At is what a workload starts at a site: the program of the arm, or its own.
func At(site testbed.Site, own reference.Arguments) reference.Arguments {
	for _, i := range testbed.Held[*Instead](site) {
		i.started.Add(1)
		own = i.args
	}
	return own
}
