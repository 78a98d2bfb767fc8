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
// trials of its arm and off before those of others (exclusive, the default). A
// Tare that was killed cannot turn it off: the next run finds it on, turns it off
// first and says so.
//
// Proof: the check's program prints what matches on in the arm, and off in the
// others, before every trial. Without a check there is no layer.
package toggle

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
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
	Env       environ.Variables `yaml:"env" json:"env,omitempty" doc:"environment variables to add for the commands"`
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
	return &Config{Exclusive: true, Limit: quantity.Duration(5 * time.Minute)}
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
	errs = append(errs, c.Check.patterns().Validate("check.")...)
	for _, own := range []string{placeholder.Context, placeholder.Namespace} {
		if _, given := c.Env[own]; given {
			bad("env."+own, "%s is given by Tare", own)
		}
	}
	return errs
}

// Up turns it off where it is found on, and on unless it is exclusive.
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
	a := &active{operator: on}
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	if c.Exclusive {
		return a, nil
	}
	return a, a.On(ctx)
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
