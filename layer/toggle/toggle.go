// Package toggle is the layer switch: commands that turn something on and off for
// everyone, such as encryption in a network plug-in, and a program that tells
// which it is.
//
//   - switch:
//     on: [[cilium, config, set, enable-wireguard, "true"]]
//     off: [[cilium, config, set, enable-wireguard, "false"]]
//     check: {run: [cilium, encryption, status], on: 'Wireguard', off: 'Disabled'}
//
// The commands run on the machine of Tare. On a cluster, KUBECONFIG is as Tare
// has it, TARE_CONTEXT and TARE_NAMESPACE hold the context and the namespace of
// the arm, and $(TARE_CONTEXT) and $(TARE_NAMESPACE) stand for them in arguments.
//
// What the commands change is there for all arms, so it is turned on before the
// trials of its arm and off before those of others (exclusive, the default).
//
// What is on before the run is someone's, and is not turned off: the layer is
// refused (found: refuse), or puts it back at the end (found: restore). A Tare that
// was killed leaves on what it turned on; only that run, resumed, knows it as its own.
//
// Proof: the check's program prints what matches on in the arm, and off in the
// others, before every trial. Without a check there is no layer.
package toggle

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"tare/experiment"
	"tare/experiment/environ"
	"tare/experiment/quantity"
	"tare/layer"
	"tare/layer/evidence"
	"tare/layer/placeholder"
	"tare/testbed"
	"tare/testbed/kube"
)

const name = "switch"

// Config is the parameters of the layer.
type Config struct {
	On        [][]string        `yaml:"on" json:"on" required:"true" doc:"commands that turn it on, each a list of program and arguments"`
	Off       [][]string        `yaml:"off" json:"off" required:"true" doc:"commands that turn it off"`
	Check     Check             `yaml:"check" json:"check" required:"true" doc:"how to see whether it is on"`
	Exclusive bool              `yaml:"exclusive" json:"exclusive" doc:"it concerns other arms too: it is on during the trials of this arm only"`
	Limit     quantity.Duration `yaml:"limit" json:"limit" min:"1s" max:"1h" doc:"how long turning it on or off may take, until the check shows it"`
	Settle    quantity.Duration `yaml:"settle" json:"settle" min:"0s" max:"1h" doc:"how long to wait after it was turned on, and likewise off, before the next trial"`
	Found     Found             `yaml:"found" json:"found" doc:"where it is on before the run: refuse to run, or restore it at the end"`
	Env       environ.Variables `yaml:"env" json:"env,omitempty" doc:"environment variables to add for the commands"`

	resumed bool               // the run goes on that an earlier session began
	states  map[string]*shared // by what its commands are about
}

// Found says what becomes of a switch that is on before the run.
type Found string

// The choices.
const (
	Refuse  Found = "refuse"
	Restore Found = "restore"
)

// Values lists the choices.
func (Found) Values() []string { return []string{string(Refuse), string(Restore)} }

// shared is what all sites share at which the commands are the same.
type shared struct {
	sites int         // at which the layer is up
	found layer.Check // how it was before the first of them
	wasOn bool        // and is to be so after the last
}

// Check is a program whose output tells whether the layer is on.
type Check struct {
	Run []string `yaml:"run" json:"run" required:"true" doc:"program and arguments; its standard output is looked at"`
	On  string   `yaml:"on" json:"on" required:"true" doc:"regular expression that matches while it is on; ^ and $ match at each line"`
	Off string   `yaml:"off" json:"off,omitempty" doc:"regular expression that matches while it is off; if absent, it is off when on does not match and the program ended well"`
}

func (c Check) patterns() evidence.Patterns { return evidence.Patterns{On: c.On, Off: c.Off} }

// New gives the layer's parameters with their defaults.
func New() layer.Layer {
	return &Config{Exclusive: true, Limit: quantity.Duration(5 * time.Minute), Found: Refuse}
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "commands that turn something on and off, such as encryption in the network plug-in",
	New:     New,
	Probe: func(context.Context) []testbed.Finding {
		return []testbed.Finding{{Name: name, Status: testbed.Works, Detail: "any programs of this machine"}}
	},
}

// Needs says that the layer needs nothing of the testbed.
func (c *Config) Needs() experiment.Needs { return experiment.Needs{} }

// Programs are those that the commands start on the machine of Tare.
func (c *Config) Programs() []string {
	var programs []string
	for _, command := range slices.Concat(c.On, c.Off, [][]string{c.Check.Run}) {
		if len(command) > 0 && !slices.Contains(programs, command[0]) {
			programs = append(programs, command[0])
		}
	}
	return programs
}

// Validate checks the values.
func (c *Config) Validate() []experiment.FieldError {
	errs := c.Env.Validate("env")
	bad := func(field, format string, args ...any) {
		errs = append(errs, experiment.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	command := func(field string, args []string) {
		if len(args) == 0 || args[0] == "" {
			bad(field, "no program is given: write it as a list, [program, argument…]")
		}
		for _, arg := range args {
			if err := placeholder.Check(arg, placeholder.Context, placeholder.Namespace); err != nil {
				bad(field, "%v", err)
			}
		}
	}
	for _, each := range []struct {
		field    string
		commands [][]string
	}{{"on", c.On}, {"off", c.Off}} {
		if len(each.commands) == 0 {
			bad(each.field, "no command is given")
		}
		for i, args := range each.commands {
			command(fmt.Sprintf("%s[%d]", each.field, i), args)
		}
	}
	command("check.run", c.Check.Run)
	if c.Settle > 0 && !c.Exclusive {
		bad("settle", "what stays on during the whole run (exclusive: false) has no switching to settle from")
	}
	errs = append(errs, c.Check.patterns().Validate("check.")...)
	for _, own := range []string{placeholder.Context, placeholder.Namespace} {
		if _, given := c.Env[own]; given {
			bad("env."+own, "%s is given by Tare", own)
		}
	}
	return errs
}

// Resume says that what is found on may be what an earlier session left so.
func (c *Config) Resume() { c.resumed = true }

// Up turns it on unless it is exclusive; it must be off before.
func (c *Config) Up(ctx context.Context, site testbed.Site) (layer.Active, error) {
	for _, program := range c.Programs() {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("a program of the switch: %w", err)
		}
	}
	on, err := c.operate(ctx, site)
	if err != nil {
		return nil, err
	}
	a := &active{operator: on, shared: c.stateOf(on)}
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	if c.Exclusive {
		return a, nil
	}
	if a.sites > 1 { // it has been turned on for another site
		a.on = true
		return a, nil
	}
	if err := a.On(ctx); err != nil {
		return nil, errors.Join(err, a.Down(context.WithoutCancel(ctx)))
	}
	return a, nil
}

// stateOf is the state of the switch that the operator's commands turn: one for the
// cluster, or for each namespace where the commands name it.
func (c *Config) stateOf(o *operator) *shared {
	key := o.values[placeholder.Context]
	for _, args := range slices.Concat(c.On, c.Off) {
		if slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, placeholder.Namespace) }) {
			key = o.values[placeholder.Context] + " " + o.values[placeholder.Namespace]
		}
	}
	if c.states == nil {
		c.states = map[string]*shared{}
	}
	if c.states[key] == nil {
		c.states[key] = &shared{}
	}
	return c.states[key]
}

// ProveOff shows that it is off at another arm's site.
func (c *Config) ProveOff(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
	on, err := c.operate(ctx, site)
	if err != nil {
		return nil, err
	}
	check, err := on.check(ctx, evidence.Off)
	return []layer.Check{check}, err
}

// DisproveBeside shows that it is off where the arm has a switch of its own, unless
// both are seen by the same check: then that one's proof tells.
func (c *Config) DisproveBeside(ctx context.Context, site testbed.Site, own layer.Layer) ([]layer.Check, error) {
	if mine, ok := own.(*Config); ok && slices.Equal(mine.Check.Run, c.Check.Run) && mine.Check.On == c.Check.On {
		return nil, nil
	}
	return c.ProveOff(ctx, site)
}

// operate prepares the commands for a site.
func (c *Config) operate(ctx context.Context, site testbed.Site) (*operator, error) {
	env, err := c.Env.Resolve()
	if err != nil {
		return nil, err
	}
	o := &operator{config: c, site: site, values: placeholder.Values{}, env: environ.Assignments(env)}
	if s, err := kube.Of(site); err == nil {
		cluster, err := s.Cluster(ctx)
		if err != nil {
			return nil, err
		}
		o.values[placeholder.Context], o.values[placeholder.Namespace] = cluster.Context, s.Namespace()
	}
	o.env = append(o.env, environ.Assignments(o.values)...)
	return o, nil
}
