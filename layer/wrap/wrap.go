// Package wrap is a layer that puts a command in front of the commands under
// test: a sandbox, a tracer, a runtime, anything that takes a command as its
// last arguments. With it a layer can be priced that Tare does not know.
//
//   - wrap:
//     run: [bwrap, --unshare-net, --dev-bind, /, /]
//     proof:
//     run: [cat, /proc/net/dev]
//     match: 'lo:\s+0\s[^\n]*\n$'
//
// Proof, before every trial: proof.run under the command in front prints
// something that matches, and alone it does not. Without a proof, all that can
// be shown is that the command in front starts what it is given and lets its
// answer through; that it does anything is not shown, and the check says so. In
// an arm without the layer there is then nothing to show, and the check says
// that too.
package wrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/experiment"
	"tare/experiment/reference"
	"tare/layer"
	"tare/layer/evidence"
	"tare/testbed"
)

const name = "wrap"

// Config is the parameters of the layer.
type Config struct {
	Run   reference.Arguments `yaml:"run" json:"run" required:"true" doc:"program and arguments to put in front of the command; they may hold $NAME and $(file:PATH)"`
	Proof *Proof              `yaml:"proof" json:"proof,omitempty" doc:"how to see that it is on"`
	// Around is left out of plans where it is the default.
	Around layer.Around `yaml:"around" json:"around,omitempty" doc:"which programs it is put in front of, where the load comes from others than the server: both, server or client; both if absent"`
}

// Proof is a command whose output differs with the layer.
type Proof struct {
	Run   reference.Arguments `yaml:"run" json:"run" required:"true" doc:"program and arguments; its standard output is looked at"`
	Match string              `yaml:"match" json:"match" required:"true" doc:"regular expression that matches with the layer, and does not without; ^ and $ match at each line"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "a command in front of the commands under test, such as a sandbox",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "any program that takes a command as its last arguments"),
	Helper:  answer,
}

// Declare names the program in front.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Validate: c.validate}
	d.Needs.Network = c.Around == layer.Server
	if len(c.Run) > 0 {
		d.Programs = []experiment.Program{{Name: c.Run[0], Where: experiment.InFront}}
	}
	return d
}

// validate checks the values.
func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.Run) == 0 || c.Run[0] == "" {
		errs.Add("run", "no program is given: write it as a list, [program, argument…]")
	}
	errs = append(errs, c.Run.Validate("run")...)
	if c.Proof == nil {
		return errs
	}
	errs = append(errs, c.Proof.Run.Validate("proof.run")...)
	if len(c.Proof.Run) == 0 || c.Proof.Run[0] == "" {
		errs.Add("proof.run", "no program is given: write it as a list, [program, argument…]")
	}
	pattern, err := regexp.Compile(c.Proof.Match)
	switch {
	case err != nil:
		errs.Add("proof.match", "%q is not a regular expression: %v", c.Proof.Match, err)
	case pattern.MatchString(""):
		errs.Add("proof.match", "%q matches even if nothing is printed, and so proves nothing", c.Proof.Match)
	}
	return errs
}

// Up looks for the program on this machine, if that is where it is started. That it is
// in pods is seen when they are there.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	if slices.Contains(s.Places, testbed.Host) {
		if _, err := exec.LookPath(c.Run[0]); err != nil {
			return nil, fmt.Errorf("the program in front: %w", err)
		}
	}
	front, err := c.Run.Resolve(ctx, nil)
	if err != nil {
		return nil, err
	}
	a := &active{config: c, session: s, front: front}
	return &layer.Active{Settle: a.settle, Wrap: a.wrap, Around: c.Around, Before: a.before}, nil
}

// ProveOff shows that the proof does not match without the layer.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if c.Proof == nil {
		return nil, nil // the caveat of the check that it is on says so
	}
	return s.Everywhere(func(where testbed.Place) ([]layer.Check, error) {
		return c.Proof.check(ctx, s.Site, where, false)
	})
}

// active is the layer at one site.
type active struct {
	config  *Config
	session *layer.Session
	front   []string // program and arguments in front
}

// wrap puts the command in front.
func (a *active) wrap(cmd testbed.Command) testbed.Command {
	cmd.Args = slices.Concat(a.front, cmd.Args)
	return cmd
}

// settle sees that the command in front is in the pods, so that a run without it ends
// before its first trial.
func (a *active) settle(ctx context.Context) ([]layer.Check, error) {
	if slices.Equal(a.session.Places, []testbed.Place{testbed.Host}) {
		return nil, nil // Up has seen it
	}
	checks, err := a.before(ctx, layer.Dress(a.session.Site, &layer.Active{Wrap: a.wrap, Around: a.config.Around}))
	return slices.DeleteFunc(checks, func(c layer.Check) bool { return c.OK }), err
}

// before shows that the layer is on.
func (a *active) before(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
	return layer.Each(a.config.Around.Places(a.session), func(where testbed.Place) ([]layer.Check, error) {
		if a.config.Proof != nil {
			return a.config.Proof.check(ctx, site, where, true)
		}
		return starts(ctx, site, where)
	})
}

// pattern is what the output is looked at with. As in grep, ^ and $ match at the
// beginning and end of each line: what programs print ends in a newline.
func (p *Proof) pattern() (*regexp.Regexp, error) { return regexp.Compile("(?m)" + p.Match) }

// check runs the proof as a command under test at a place, in the wrapper if there is one,
// and compares: it must match with it and must not match without.
func (p *Proof) check(ctx context.Context, site testbed.Site, where testbed.Place, on bool) ([]layer.Check, error) {
	pattern, err := p.pattern()
	if err != nil {
		return nil, fmt.Errorf("proof.match: %w", err)
	}
	args, err := p.Run.Resolve(ctx, nil)
	if err != nil {
		return nil, err
	}
	text, failed := evidence.Output(ctx, site, where, testbed.Command{Args: args, Subject: true}, evidence.Limit)
	if err := interrupted(ctx, failed); err != nil {
		return nil, err
	}
	check := layer.Check{Layer: name, Name: testbed.Quote(p.Run), Expected: "not to match " + p.Match, Observed: evidence.Quote(text)}
	if on {
		check.Expected = "to match " + p.Match
	}
	check.OK = pattern.MatchString(text) == on
	// A proof that fails without the layer still proves that it is off, but
	// not if it could not be started or did not end.
	var exit *testbed.ExitError
	if failed != nil {
		check.Observed += "; " + failed.Error()
		check.OK = check.OK && errors.As(failed, &exit) && exit.Code >= 0
	}
	return []layer.Check{check}, nil
}

// starts shows that the wrapper starts a command and passes on its answer.
func starts(ctx context.Context, site testbed.Site, where testbed.Place) ([]layer.Check, error) {
	question := fmt.Sprintf("%d", time.Now().UnixNano())
	cmd := testbed.HelperAt(site, where, name)
	cmd.Stdin, cmd.Subject = strings.NewReader(question), true
	text, failed := evidence.Output(ctx, site, where, cmd, evidence.Limit)
	if err := interrupted(ctx, failed); err != nil {
		return nil, err
	}
	check := layer.Check{Layer: name, Name: "command in front", Expected: "it starts a command and passes its answer on", OK: true}
	check.Observed = "it does"
	check.Caveat = "no proof was given for the command in front: it was started, but nothing shows that it does anything"
	if failed != nil || text != answerTo(question) {
		check.OK = false
		check.Observed = "it answered " + evidence.Quote(text)
		if failed != nil {
			check.Observed += "; " + failed.Error()
		}
	}
	return []layer.Check{check}, nil
}

func answerTo(question string) string { return "started: " + question }

// answer is the process that is started to show that the wrapper starts one.
func answer(context.Context) error {
	question, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<10))
	if err != nil {
		return err
	}
	_, err = io.WriteString(os.Stdout, answerTo(string(question)))
	return err
}

// interrupted gives the error of a command that shows nothing of the layer: it was
// interrupted, or its place was lost.
func interrupted(ctx context.Context, failed error) error {
	var lost *testbed.Disturbance
	if errors.As(failed, &lost) {
		return failed
	}
	return ctx.Err()
}
