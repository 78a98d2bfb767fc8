// Package privileges has two layers that take privileges from subjects: one takes capabilities, the other the means to
// get new privileges.
//
//   - capabilities: {drop: [NET_RAW, SYS_CHROOT]}
//   - no-new-privs
//
// Tare's launcher takes the privileges away, and then executes the subject (package launcher). On a cluster both layers
// are refused, since Tare's pods have no capabilities and can get no new privileges anyway. The layer pod sets
// the privileges of pods.
//
// Proofs for capabilities: a subject's /proc/self/status shows none of the dropped capabilities, and an action that
// needs one of them (changing the root, opening a raw socket, mounting) is denied. Outside the layer, the subject has
// these capabilities and the action is allowed. Proof for no-new-privs: the flag NoNewPrivs in /proc/self/status.
package privileges

import (
	"context"
	"fmt"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/testbed/launcher"
)

const all = "ALL"

// actions maps a capability to the prober's word for an action that needs it.
var actions = map[string]string{"SYS_CHROOT": "chroot", "NET_RAW": "raw-socket", "SYS_ADMIN": "mount"}

type capabilities struct {
	Drop   []string   `yaml:"drop" json:"drop" doc:"capabilities that are taken from programs, such as NET_RAW, or ALL"`
	Around layer.Side `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both"`
}

type noNewPrivs struct {
	Around layer.Side `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both"`
}

const (
	ofCapabilities = "capabilities"
	ofNoNewPrivs   = "no-new-privs"
)

// Kinds describes the layers.
var Kinds = []layer.Kind{
	{
		Name:    ofCapabilities,
		Summary: "programs with fewer capabilities, or with none",
		New:     func() layer.Layer { return &capabilities{Drop: []string{all}} },
		Probe:   wrapper.Launchable(ofCapabilities, launcher.Settings{}),
	},
	{
		Name:    ofNoNewPrivs,
		Summary: "programs that cannot get new privileges, for example by set-user-ID",
		New:     func() layer.Layer { return &noNewPrivs{} },
		Probe:   wrapper.Launchable(ofNoNewPrivs, launcher.Settings{NoNewPrivs: true}),
	},
}

const elsewhere = "pods have neither capabilities nor the means to get any: add some to the baseline's pods by the layer pod (capabilities, privileged)"

func (c *capabilities) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, Needs: c.Around.Needs(experiment.TestbedLocal), Elsewhere: elsewhere, Launched: true}
}

func (c *capabilities) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.Drop) == 0 {
		errs.Add("drop", "there is no capability: the layer would do nothing")
	}
	for i, one := range c.Drop {
		if launcher.CapabilityBits(one) == 0 {
			errs.Add(fmt.Sprintf("drop[%d]", i), "%q is not a capability; use names such as NET_RAW", one)
		}
	}
	return errs
}

func (c *capabilities) front() wrapper.Wrapper {
	bits := launcher.CapabilityBits(c.Drop...)
	f := wrapper.Launched(ofCapabilities, c.Around, launcher.Settings{Drop: bits}, wrapper.Without("capabilities", "status:CapEff", bits))
	var asks []string
	for i, one := range launcher.Capabilities {
		if action, ok := actions[one]; ok && bits&(1<<i) != 0 {
			asks = append(asks, action)
		}
	}
	if len(asks) > 0 {
		f.Evidence = append(f.Evidence, wrapper.Denied("denied action", []string{"EPERM"}, asks...))
	}
	return f
}

func (c *capabilities) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	return c.front().Up(s), nil
}

func (c *capabilities) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return c.front().Off(ctx, s)
}

func (c *noNewPrivs) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: c.Around.Needs(experiment.TestbedLocal), Elsewhere: elsewhere, Launched: true}
}

func (c *noNewPrivs) front() wrapper.Wrapper {
	return wrapper.Launched(ofNoNewPrivs, c.Around, launcher.Settings{NoNewPrivs: true}, wrapper.Is("no_new_privs", "status:NoNewPrivs", "1"))
}

func (c *noNewPrivs) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	return c.front().Up(s), nil
}

func (c *noNewPrivs) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return c.front().Off(ctx, s)
}
