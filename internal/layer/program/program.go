// Package program is a layer that replaces the workload's program, so that arms can compare programs.
//
//   - program: {run: [zstd, -1, -k, -f, big]}
//   - program: {shell: 'zstd -1 < big > /dev/null'}
//
// The workloads command and startup start the layer's program like their own: with the same variables, at the same
// place, and in the wrappers of the arm's other layers.
//
// Proof, after every trial: the workload has started the program.
package program

import (
	"context"
	"fmt"
	"sync/atomic"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/testbed"
)

const name = "program"

// Config holds the layer's parameters.
type Config struct {
	Command reference.Arguments `yaml:"run" json:"run,omitempty" doc:"program and arguments, which may contain $NAME and $(file:PATH); either this or shell"`
	Shell   string              `yaml:"shell" json:"shell,omitempty" doc:"text for /bin/sh -c; either this or run"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "another program instead of the workload's: arms that compare programs",
	Example: "run: [zstd, -1, -k, -f, big]",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "any program, with the workloads command and startup"),
}

// Declare declares that the layer needs its program, and that this program replaces the workload's.
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
		errs.Add("run", "there is no program: write run: [program, argument…], or shell: text for /bin/sh")
	case len(c.Command) > 0 && c.Shell != "":
		errs.Add("shell", "run and shell exclude each other")
	case len(c.Command) > 0 && c.Command[0] == "":
		errs.Add("run[0]", "the program has no name")
	}
	return append(errs, c.Command.Validate("run")...)
}

// instead is the program that an arm starts in place of the workload's program (testbed.Held).
type instead struct {
	args    reference.Arguments
	started atomic.Int64
}

// Up hands the program to the workload (Holds).
func (c *Config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	i := &instead{args: Text(c.Command, c.Shell)}
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

// ProveOff makes no check: in arms without the layer the workload cannot start the program.
func (c *Config) ProveOff(context.Context, *layer.Session) ([]layer.Check, error) { return nil, nil }

// Text returns the command that starts a program: the arguments run or, if shell is given, a shell that runs this text.
func Text(run reference.Arguments, shell string) reference.Arguments {
	if shell != "" {
		return reference.Arguments{"/bin/sh", "-c", shell}
	}
	return run
}

// At returns the command that a workload must start: the command of the arm's program layer or, if the arm has none,
// the workload's own command.
func At(site testbed.Site, own reference.Arguments) reference.Arguments {
	for _, i := range testbed.Held[*instead](site) {
		i.started.Add(1)
		own = i.args
	}
	return own
}
