// Package cgroupbpf puts a filter of connections around the subjects: a BPF program that the kernel calls at each
// connect of an IPv4 or IPv6 socket. Some clusters enforce network policies in this way, and systemd its IPAddressDeny.
//
//   - cgroup-bpf: {rules: [0, 1, 2, 4, 8, 64]}
//   - cgroup-bpf: {rules: [1, 8, 64], mismatch: late}
//
// A rule is a prefix of addresses and a port. It denies connections to them with EPERM. The rules are for addresses
// that no program connects to (mismatch: early), or for all addresses and unused ports (mismatch: late). With rules: 0
// the BPF program makes no comparison.
//
// The BPF program is attached to the cgroup of the arm's subjects (package bpf). The layer needs root and Linux 5.7.
//
// Proofs: the prober's connection to the address of the last rule gets EPERM, and the BPF program counts it. In arms
// without the layer the kernel tries to route the connection, and the BPF program counts nothing. After the layer is
// taken away, the kernel has no link to the program.
package cgroupbpf

import (
	"context"
	"errors"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/bpf"
)

const name = "cgroup-bpf"

type config struct {
	Rules    factor.Levels[int]          `yaml:"rules" json:"rules" min:"0" max:"64" doc:"number of rules for each of IPv4 and IPv6, which deny connections that programs do not make; with 0 the BPF program is attached without rules"`
	Mismatch factor.Levels[bpf.Mismatch] `yaml:"mismatch" json:"mismatch" enum:"early,late" doc:"early: the rules are for addresses that no program uses; late: for all addresses, and ports that no program uses"`
	Around   layer.Side                  `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "a BPF program that checks each connection, with a given number of rules",
	New:     func() layer.Layer { return &config{Rules: factor.Of(8), Mismatch: factor.Of(bpf.Early)} },
	Probe:   bpf.Works(name, &config{Rules: factor.Of(bpf.Most)}),
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: c.Around.Needs(experiment.TestbedLocal), Elsewhere: bpf.Elsewhere, ProvesBeside: true}
}

func (c *config) rules() (four, six []bpf.ConnectRule, hooks []bpf.Hook) {
	four, six, try := bpf.Unused(c.Rules.One(), c.Mismatch.OrZero())
	return four, six, []bpf.Hook{{Name: "connect", Try: try, Match: len(four) > 0, Deny: len(four) > 0}}
}

func (c *config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
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
	g := &bpf.Programs{Layer: name, Loaded: loaded, Hooks: hooks, Places: c.Around.Places(s)}
	return g.Up(s, c), nil
}

func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	_, _, hooks := c.rules()
	return bpf.Off(ctx, name, s, c, c.Around, hooks)
}
