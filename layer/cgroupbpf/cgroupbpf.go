// Package cgroupbpf is a filter of connections around the programs under test: a BPF program that
// the kernel calls at each connect of a socket of IPv4 or IPv6, as the network policies of some
// clusters and the filters of systemd (IPAddressDeny) are. It walks a list of rules.
//
//   - cgroup-bpf: {rules: [0, 1, 2, 4, 8, 64]}
//   - cgroup-bpf: {rules: [1, 8, 64], mismatch: late}
//
// A rule is an address with a prefix, and a port, and denies connections there with EPERM. The rules
// are for addresses that no program connects to, or for all addresses and ports that none does (mismatch:
// late). With rules: 0 the program is attached, and has nothing to compare.
//
// It is attached to the cgroup of the arm's programs under test (package bpf): no process is in front of
// them, and no other program of the machine passes through it. It takes root, and Linux 5.7.
//
// # Proofs
//
// The prober connects to what the last rule denies, and gets EPERM; the program counts that. In arms
// without the layer the kernel looks for a way there, and this program counts nothing. When the layer is taken
// away, the kernel has no link to the program left.
package cgroupbpf

import (
	"context"
	"errors"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/bpf"
)

const name = "cgroup-bpf"

// Config is the parameters of the layer.
type Config struct {
	Rules    factor.Levels[int]          `yaml:"rules" json:"rules" min:"0" max:"64" doc:"number of rules for each of IPv4 and IPv6, all of which deny connections that programs do not make; with 0 the program is attached, and has none"`
	Mismatch factor.Levels[bpf.Mismatch] `yaml:"mismatch" json:"mismatch" doc:"early: the rules are for other addresses than any program's; late: for all addresses, and other ports"`
	// Around is left out of plans where it is the default.
	Around layer.Around `yaml:"around" json:"around,omitempty" doc:"which programs it is put around, where the load comes from others than the server: both, server or client; both if absent"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "a BPF program that looks at each connection, with so many rules",
	New:     func() layer.Layer { return &Config{Rules: factor.Of(8), Mismatch: factor.Of(bpf.Early)} },
	Probe:   bpf.Works(name, &Config{Rules: factor.Of(bpf.Most)}),
}

// Declare says that it is of this machine, and shows itself beside another of an arm.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: c.Around.Needs(experiment.TestbedLocal), Elsewhere: bpf.Elsewhere, ProvesBeside: true}
}

// rules are those of both families, and the hook that they make.
func (c *Config) rules() (four, six []bpf.Place, hooks []bpf.Hook) {
	four, six, try := bpf.Unused(c.Rules.One(), c.Mismatch.OrZero())
	return four, six, []bpf.Hook{{Name: "connect", Try: try, Match: len(four) > 0, Deny: len(four) > 0}}
}

// Up attaches the program.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	group, err := bpf.Group(s, c.Around)
	if err != nil {
		return nil, err
	}
	four, six, hooks := c.rules()
	loaded, err := bpf.LoadConnect(group, four, six)
	if err != nil {
		return nil, err
	}
	if err := loaded.On(); err != nil {
		return nil, errors.Join(err, loaded.Close())
	}
	g := &bpf.Guard{Layer: name, Loaded: loaded, Hooks: hooks, Places: c.Around.Places(s)}
	return g.Up(s, c), nil
}

// ProveOff shows that the last rule's connection is not denied, and not seen.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	_, _, hooks := c.rules()
	return bpf.Off(ctx, name, s, c, c.Around, hooks)
}
