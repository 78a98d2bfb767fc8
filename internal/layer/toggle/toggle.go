// Package toggle is the layer switch: commands that turn a mechanism on and off for all arms, such as encryption in a
// network plug-in, and a program that shows whether it is on.
//
//   - switch:
//     on: [[cilium, config, set, enable-wireguard, "true"]]
//     off: [[cilium, config, set, enable-wireguard, "false"]]
//     check: {run: [cilium, encryption, status], on: 'Wireguard', off: 'Disabled'}
//
// The commands run on Tare's machine, with Tare's KUBECONFIG. The variables TARE_CONTEXT and TARE_NAMESPACE hold the
// arm's context and namespace, which replace $(TARE_CONTEXT) and $(TARE_NAMESPACE) in arguments.
//
// The mechanism is on during the trials of its arm only (exclusive, the default). If it is on before the run, the layer
// ends the run (found: refuse). With found: restore, the layer turns it off, and on again at the end.
//
// When Tare is killed, the mechanism stays in its present state. Before each change, Tare notes in the run directory
// how to restore it (layer.Ledger): tare clean lists the note, and tare resume restores the state.
//
// Proof, before every trial: the output of the check's program matches the pattern on in the arm with the layer, and
// the pattern off in the other arms.
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

	"tare/internal/experiment"
	"tare/internal/experiment/environ"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/layer/placeholder"
	"tare/internal/lists"
	"tare/internal/testbed"
)

const name = "switch"

type config struct {
	On        []reference.Arguments `yaml:"on" json:"on" required:"true" doc:"commands that turn the mechanism on, each a list of program and arguments"`
	Off       []reference.Arguments `yaml:"off" json:"off" required:"true" doc:"commands that turn the mechanism off"`
	Check     check                 `yaml:"check" json:"check" required:"true" doc:"program that shows whether the mechanism is on"`
	Exclusive bool                  `yaml:"exclusive" json:"exclusive" doc:"the mechanism affects other arms, too: it is on during the trials of this arm only"`
	Limit     quantity.Duration     `yaml:"limit" json:"limit" min:"1s" max:"1h" doc:"timeout for turning the mechanism on or off, until the check shows the new state"`
	Settle    quantity.Duration     `yaml:"settle" json:"settle" min:"0s" max:"1h" doc:"wait between turning the mechanism on or off and the next trial"`
	Found     found                 `yaml:"found" json:"found" enum:"refuse,restore" doc:"action if the mechanism is on before the run: refuse to run, or restore it at the end"`
	Env       environ.Variables     `yaml:"env" json:"env,omitempty" doc:"environment variables to add for the commands, as for the layer env"`
}

type found string // what the layer does if its switch is on before the run: refuse, or restore

const (
	refuse  found = "refuse"
	restore found = "restore"
)

// switchState is the state of a switch. All sites with the same commands share it.
type switchState struct {
	key   string      // key of the entry in the ledger
	sites int         // number of sites at which the layer is up
	found layer.Check // state before the first site
	wasOn bool        // set if the switch was on before the first site, and so must be on after the last site
}

type check struct {
	Run reference.Arguments `yaml:"run" json:"run" required:"true" doc:"program and arguments; its standard output is checked"`
	On  string              `yaml:"on" json:"on" required:"true" doc:"regular expression that matches while the mechanism is on; ^ and $ match at each line"`
	Off string              `yaml:"off" json:"off,omitempty" doc:"regular expression that matches while the mechanism is off; if absent, the mechanism is off if the program succeeds and on does not match"`
}

func (c check) patterns() evidence.Patterns { return evidence.Patterns{On: c.On, Off: c.Off} }

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "commands that turn something on and off, such as encryption in the network plug-in",
	Example: "on: [[cilium, config, set, enable-wireguard, \"true\"]]\noff: [[cilium, config, set, enable-wireguard, \"false\"]]\ncheck: {run: [cilium, encryption, status], on: Wireguard, off: Disabled}",
	New: func() layer.Layer {
		return &config{Exclusive: true, Limit: quantity.Duration(5 * time.Minute), Found: refuse}
	},
	Probe: testbed.AlwaysWorks(name, "any programs of this machine"),
	Undo:  undo,
}

func (c *config) Declare() experiment.Declaration {
	programs := lists.Map(c.programs(), func(name string) experiment.Program {
		return experiment.Program{Name: name, Where: experiment.OnMachine}
	})
	return experiment.Declaration{Validate: c.validate, Programs: programs, ProvesBeside: true, Switches: c.Exclusive}
}

func (c *config) programs() []string {
	var programs []string
	for _, command := range slices.Concat(c.On, c.Off, []reference.Arguments{c.Check.Run}) {
		if len(command) > 0 && !slices.Contains(programs, command[0]) {
			programs = append(programs, command[0])
		}
	}
	return programs
}

func (c *config) validate() []experiment.FieldError {
	errs := experiment.FieldErrors(c.Env.Validate("env"))
	known := []string{placeholder.Context, placeholder.Namespace}
	for _, each := range []struct {
		field    string
		commands []reference.Arguments
	}{{"on", c.On}, {"off", c.Off}} {
		if len(each.commands) == 0 {
			errs.Add(each.field, "there is no command")
		}
		for i, args := range each.commands {
			placeholder.CheckCommand(&errs, fmt.Sprintf("%s[%d]", each.field, i), args, known...)
		}
	}
	placeholder.CheckCommand(&errs, "check.run", c.Check.Run, known...)
	if c.Settle > 0 && !c.Exclusive {
		errs.Add("settle", "with exclusive: false the switch stays on during the whole run, so there is nothing to wait for")
	}
	errs = append(errs, c.Check.patterns().Validate("check.")...)
	for _, own := range known {
		if _, given := c.Env[own]; given {
			errs.Add("env."+own, "%s is set by Tare", own)
		}
	}
	return errs
}

// Up turns on a switch that is not exclusive. The runner turns on an exclusive switch, before the trials of its arm.
func (c *config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	for _, program := range c.programs() {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("find the program of a command: %w", err)
		}
	}
	on, err := c.operate(ctx, s.Site)
	if err != nil {
		return nil, err
	}
	a := &active{commandRunner: on, switchState: c.stateOf(s.Run, on), ledger: s.Ledger()}
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	up := &layer.Active{
		Proofs: []layer.Check{a.found}, Before: a.before, Down: a.down,
		DownLimit: 2*c.Limit.Std() + evidence.Limit, // enough time to turn the switch off, and on again
	}
	switch {
	case c.Exclusive:
		up.Switch = &layer.Switch{On: a.turnOn, Off: a.turnOff, Settling: c.Settle.Std()}
	case a.sites > 1:
		a.on = true // the layer's switch is shared, and another site has already turned it on
	default:
		if err := a.turnOn(ctx); err != nil {
			return nil, errors.Join(err, a.down(context.WithoutCancel(ctx)))
		}
	}
	return up, nil
}

// stateOf returns the state of the switch, which all sites on a cluster share. If a command contains the namespace,
// only sites in this namespace share the state.
func (c *config) stateOf(run *layer.Run, o *commandRunner) *switchState {
	key := o.values[placeholder.Context]
	for _, args := range slices.Concat(c.On, c.Off) {
		if slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, placeholder.Namespace) }) {
			key = o.values[placeholder.Context] + " " + o.values[placeholder.Namespace]
		}
	}
	states := layer.Kept[map[string]*switchState](run, c)
	if *states == nil {
		*states = map[string]*switchState{}
	}
	if (*states)[key] == nil {
		what, _ := json.Marshal([]any{name, key, c.On, c.Off, c.Check.Run}) // no error: texts and lists of texts can always be written as JSON
		(*states)[key] = &switchState{key: string(what)}
	}
	return (*states)[key]
}

// ProveOff shows that the switch is off at another arm's site. If that arm has its own switch with the same check,
// ProveOff makes no check.
func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if own, _ := s.Own.(*config); own != nil && slices.Equal(own.Check.Run, c.Check.Run) && own.Check.On == c.Check.On {
		return nil, nil
	}
	on, err := c.operate(ctx, s.Site)
	if err != nil {
		return nil, err
	}
	check, err := on.check(ctx, evidence.Off)
	return []layer.Check{check}, err
}

func (c *config) operate(ctx context.Context, site testbed.Site) (*commandRunner, error) {
	env, err := c.Env.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	values, err := placeholder.At(ctx, site)
	if err != nil {
		return nil, err
	}
	assignments := append(environ.Assignments(env), environ.Assignments(values)...)
	return &commandRunner{config: c, site: site, values: values, env: assignments}, nil
}
