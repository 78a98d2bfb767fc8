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
// refused (found: refuse), or puts it back at the end (found: restore).
//
// A Tare that was killed leaves it as it is at that moment. So how to turn it back is
// noted in the run directory before it is turned (layer.Ledger): tare clean names it, and
// tare resume does it first.
//
// Proof: the check's program prints what matches on in the arm, and off in the
// others, before every trial. Without a check there is no layer.
package toggle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"tare/experiment"
	"tare/experiment/environ"
	"tare/experiment/quantity"
	"tare/experiment/reference"
	"tare/layer"
	"tare/layer/evidence"
	"tare/layer/placeholder"
	"tare/testbed"
)

const name = "switch"

// Config is the parameters of the layer.
type Config struct {
	On        []reference.Arguments `yaml:"on" json:"on" required:"true" doc:"commands that turn it on, each a list of program and arguments"`
	Off       []reference.Arguments `yaml:"off" json:"off" required:"true" doc:"commands that turn it off"`
	Check     Check                 `yaml:"check" json:"check" required:"true" doc:"how to see whether it is on"`
	Exclusive bool                  `yaml:"exclusive" json:"exclusive" doc:"it concerns other arms too: it is on during the trials of this arm only"`
	Limit     quantity.Duration     `yaml:"limit" json:"limit" min:"1s" max:"1h" doc:"how long turning it on or off may take, until the check shows it"`
	Settle    quantity.Duration     `yaml:"settle" json:"settle" min:"0s" max:"1h" doc:"how long to wait after it was turned on, and likewise off, before the next trial"`
	Found     Found                 `yaml:"found" json:"found" enum:"refuse,restore" doc:"where it is on before the run: refuse to run, or restore it at the end"`
	Env       environ.Variables     `yaml:"env" json:"env,omitempty" doc:"environment variables to add for the commands, as for the layer env"`
}

// Found says what becomes of a switch that is on before the run.
type Found string

// The choices.
const (
	Refuse  Found = "refuse"
	Restore Found = "restore"
)

// shared is what all sites share at which the commands are the same.
type shared struct {
	key   string      // of what there is to undo
	sites int         // at which the layer is up
	found layer.Check // how it was before the first of them
	wasOn bool        // and is to be so after the last
}

// Check is a program whose output tells whether the layer is on.
type Check struct {
	Run reference.Arguments `yaml:"run" json:"run" required:"true" doc:"program and arguments; its standard output is looked at"`
	On  string              `yaml:"on" json:"on" required:"true" doc:"regular expression that matches while it is on; ^ and $ match at each line"`
	Off string              `yaml:"off" json:"off,omitempty" doc:"regular expression that matches while it is off; if absent, it is off when on does not match and the program ended well"`
}

func (c Check) patterns() evidence.Patterns { return evidence.Patterns{On: c.On, Off: c.Off} }

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "commands that turn something on and off, such as encryption in the network plug-in",
	Example: "on: [[cilium, config, set, enable-wireguard, \"true\"]]\noff: [[cilium, config, set, enable-wireguard, \"false\"]]\ncheck: {run: [cilium, encryption, status], on: Wireguard, off: Disabled}",
	New: func() layer.Layer {
		return &Config{Exclusive: true, Limit: quantity.Duration(5 * time.Minute), Found: Refuse}
	},
	Probe: testbed.AlwaysWorks(name, "any programs of this machine"),
	Undo:  undo,
}

// Declare names the programs that the commands start on the machine of Tare.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Validate: c.validate, ProvesBeside: true, Switches: c.Exclusive}
	for _, program := range c.programs() {
		d.Programs = append(d.Programs, experiment.Program{Name: program, Where: experiment.OnMachine})
	}
	return d
}

// programs are those of the commands.
func (c *Config) programs() []string {
	var programs []string
	for _, command := range slices.Concat(c.On, c.Off, []reference.Arguments{c.Check.Run}) {
		if len(command) > 0 && !slices.Contains(programs, command[0]) {
			programs = append(programs, command[0])
		}
	}
	return programs
}

// validate checks the values.
func (c *Config) validate() []experiment.FieldError {
	errs := experiment.FieldErrors(c.Env.Validate("env"))
	known := []string{placeholder.Context, placeholder.Namespace}
	for _, each := range []struct {
		field    string
		commands []reference.Arguments
	}{{"on", c.On}, {"off", c.Off}} {
		if len(each.commands) == 0 {
			errs.Add(each.field, "no command is given")
		}
		for i, args := range each.commands {
			placeholder.CheckCommand(&errs, fmt.Sprintf("%s[%d]", each.field, i), args, known...)
		}
	}
	placeholder.CheckCommand(&errs, "check.run", c.Check.Run, known...)
	if c.Settle > 0 && !c.Exclusive {
		errs.Add("settle", "what stays on during the whole run (exclusive: false) has no switching to settle from")
	}
	errs = append(errs, c.Check.patterns().Validate("check.")...)
	for _, own := range known {
		if _, given := c.Env[own]; given {
			errs.Add("env."+own, "%s is given by Tare", own)
		}
	}
	return errs
}

// Up turns it on unless it is exclusive; it must be off before.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	for _, program := range c.programs() {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("a program of the switch: %w", err)
		}
	}
	on, err := c.operate(ctx, s.Site)
	if err != nil {
		return nil, err
	}
	a := &active{operator: on, shared: c.stateOf(s.Run, on), ledger: s.Ledger()}
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	up := &layer.Active{
		Proofs: []layer.Check{a.found}, Before: a.before, Down: a.down,
		DownLimit: 2*c.Limit.Std() + evidence.Limit, // turning it off, and on again
	}
	switch {
	case c.Exclusive:
		up.Switch = &layer.Switch{On: a.turnOn, Off: a.turnOff, Settling: c.Settle.Std()}
	case a.sites > 1:
		a.on = true // for another site
	default:
		if err := a.turnOn(ctx); err != nil {
			return nil, errors.Join(err, a.down(context.WithoutCancel(ctx)))
		}
	}
	return up, nil
}

// stateOf is the state of the switch that the operator's commands turn: one for the
// cluster, or for each namespace where the commands name it.
func (c *Config) stateOf(run *layer.Run, o *operator) *shared {
	key := o.values[placeholder.Context]
	for _, args := range slices.Concat(c.On, c.Off) {
		if slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, placeholder.Namespace) }) {
			key = o.values[placeholder.Context] + " " + o.values[placeholder.Namespace]
		}
	}
	states := layer.Kept[map[string]*shared](run, c)
	if *states == nil {
		*states = map[string]*shared{}
	}
	if (*states)[key] == nil {
		what, _ := json.Marshal([]any{name, key, c.On, c.Off, c.Check.Run}) // texts
		(*states)[key] = &shared{key: string(what)}
	}
	return (*states)[key]
}

// ProveOff shows that it is off at another arm's site. Where the arm has a switch of its
// own that is seen by the same check, that one's proof tells.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if own, _ := s.Own.(*Config); own != nil && slices.Equal(own.Check.Run, c.Check.Run) && own.Check.On == c.Check.On {
		return nil, nil
	}
	on, err := c.operate(ctx, s.Site)
	if err != nil {
		return nil, err
	}
	check, err := on.check(ctx, evidence.Off)
	return []layer.Check{check}, err
}

// operate prepares the commands for a site.
func (c *Config) operate(ctx context.Context, site testbed.Site) (*operator, error) {
	env, err := c.Env.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	values, err := placeholder.At(ctx, site)
	if err != nil {
		return nil, err
	}
	assignments := append(environ.Assignments(env), environ.Assignments(values)...)
	return &operator{config: c, site: site, values: values, env: assignments}, nil
}
