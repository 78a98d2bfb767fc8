// Package wrap is a layer that puts a command around the subjects: a sandbox, a tracer, a runtime, or any other program
// that takes a command as its last arguments. Tare can thus measure mechanisms that it has no layer for.
//
//   - wrap:
//     run: [bwrap, --unshare-net, --dev-bind, /, /]
//     proof:
//     run: [cat, /proc/net/dev]
//     match: 'lo:\s+0\s[^\n]*\n$'
//
// Proof, before every trial: the output of proof.run matches inside the wrapper, and does not match outside. Without
// the parameter proof, the only check is that the wrapper starts its command and passes on the command's output. A
// caveat then says that the wrapper's effect was not shown. Arms without the layer then have no check.
package wrap

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/layer/wrapper"
	"tare/internal/testbed"
)

const name = "wrap"

// Config holds the layer's parameters.
type Config struct {
	Run    reference.Arguments `yaml:"run" json:"run" required:"true" doc:"program and arguments to put in front of the command; they may contain $NAME and $(file:PATH)"`
	Proof  *proof              `yaml:"proof" json:"proof,omitempty" doc:"program that shows whether the layer is on"`
	Around layer.Side          `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both"`
}

type proof struct {
	Run   reference.Arguments `yaml:"run" json:"run" required:"true" doc:"program and arguments; its standard output is checked"`
	Match string              `yaml:"match" json:"match" required:"true" doc:"regular expression that matches with the layer, and not without it; ^ and $ match at each line"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "a command in front of the programs under test, such as a sandbox",
	Example: "run: [nice, -n, \"5\"]\nproof: {run: [nice], match: '^5$'}",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "any program that takes a command as its last arguments"),
	Helper:  wrapper.Probe,
}

// Declare declares that the layer needs the wrapper program.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Validate: c.validate, Needs: c.Around.Needs("")}
	if len(c.Run) > 0 {
		p := experiment.Program{Name: c.Run[0], Where: experiment.WrapperPlace}
		if len(c.Run.References()) == 0 { // only without references: their values are not known yet
			p.Front = c.Run
		}
		d.Programs = []experiment.Program{p}
	}
	return d
}

func (c *Config) validate() []experiment.FieldError {
	errs := experiment.FieldErrors(c.Run.ValidateCommand("run"))
	if c.Proof == nil {
		return errs
	}
	errs = append(errs, c.Proof.Run.ValidateCommand("proof.run")...)
	pattern, err := regexp.Compile(c.Proof.Match)
	switch {
	case err != nil:
		errs.Add("proof.match", "%q is not a regular expression: %v", c.Proof.Match, err)
	case pattern.MatchString(""):
		errs.Add("proof.match", "%q matches even if nothing is printed, and so proves nothing", c.Proof.Match)
	}
	return errs
}

// Up looks for the wrapper program, if it is started on this machine.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	if slices.Contains(s.Places, testbed.Host) {
		if _, err := exec.LookPath(c.Run[0]); err != nil {
			return nil, fmt.Errorf("find the wrapper program: %w", err)
		}
	}
	args, err := c.Run.Resolve(ctx, nil)
	if err != nil {
		return nil, err
	}
	f := wrapper.Wrapper{Layer: name, Around: c.Around, Args: wrapper.Always(args...),
		Unshown: "the command in front has no proof: it was started, but nothing shows that it has an effect"}
	if c.Proof != nil {
		f.Shown = func(ctx context.Context, site testbed.Site, where testbed.Place) ([]layer.Check, error) {
			return c.Proof.check(ctx, site, where, true)
		}
	}
	return f.Up(s), nil
}

// ProveOff runs the proof's command without the layer, and shows that its output does not match then.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if c.Proof == nil {
		return nil, nil // without a proof nothing is checked; the layer's own arm has a caveat
	}
	return s.Everywhere(func(where testbed.Place) ([]layer.Check, error) {
		return c.Proof.check(ctx, s.Site, where, false)
	})
}

// check runs the proof as a subject. With on = true, the proof's output must match; with on = false, it must not.
func (p *proof) check(ctx context.Context, site testbed.Site, where testbed.Place, on bool) ([]layer.Check, error) {
	pattern, err := regexp.Compile("(?m)" + p.Match) // as in grep, ^ and $ match at each line
	if err != nil {
		return nil, fmt.Errorf("proof.match: %w", err)
	}
	args, err := p.Run.Resolve(ctx, nil)
	if err != nil {
		return nil, err
	}
	text, failed := evidence.Output(ctx, site, where, testbed.Command{Args: args, Subject: true}, evidence.Limit)
	if err := wrapper.Interrupted(ctx, failed); err != nil {
		return nil, err
	}
	check := layer.Check{Layer: name, Name: testbed.Quote(p.Run), Expected: "to match " + p.Match, Observed: evidence.Quote(text)}
	check = check.Expect(on, pattern.MatchString(text))
	// A program that was started and has ended shows that the layer is off, even if it failed.
	var exit *testbed.ExitError
	if failed != nil {
		check.Observed += "; " + failed.Error()
		check.OK = check.OK && errors.As(failed, &exit) && exit.Code >= 0
	}
	return []layer.Check{check}, nil
}
