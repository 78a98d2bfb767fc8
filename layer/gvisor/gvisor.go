// Package gvisor is gVisor around the programs under test: a kernel of its own, in a process, that
// answers their system calls.
//
//   - gvisor
//   - gvisor: {platform: [systrap, ptrace]}
//
// On this machine a program is started by `runsc do`: with the files of this machine, which it may read, and
// what it writes gone with it; and with the network of the place that it is started at, by the host's
// network stack (network: host). gVisor's own network stack takes the addresses of the
// network away from everybody else in it, so that a server's pod could not be used again; a pod of a
// cluster has it. On a cluster the layer is a RuntimeClass, as the layer pod sets it.
//
// runsc is found on PATH, or where `make gvisor` puts it.
//
// Proofs: the kernel that the prober sees is gVisor's, and another outside; on a cluster those of the
// layer pod.
package gvisor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/front"
	"tare/layer/pod"
	"tare/testbed"
	"tare/testbed/kube"
)

const (
	name    = "gvisor"
	program = "runsc"
	install = "make gvisor; or https://gvisor.dev/docs/user_guide/install"
)

// Platform is how gVisor gets at the system calls of programs.
type Platform string

// The platforms.
const (
	Systrap Platform = "systrap" // by seccomp
	Ptrace  Platform = "ptrace"
	KVM     Platform = "kvm" // in a virtual machine
)

// Values lists the platforms.
func (Platform) Values() []string { return []string{string(Systrap), string(Ptrace), string(KVM)} }

// Config is the parameters of the layer.
type Config struct {
	// Platform is left out of plans where it is the default.
	Platform factor.Levels[Platform] `yaml:"platform" json:"platform,omitempty" doc:"how system calls are intercepted, on this machine: systrap, ptrace or kvm; systrap if absent. On a cluster the RuntimeClass says so"`
	Class    factor.Levels[string]   `yaml:"class" json:"class" pattern:"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$" form:"the name of a RuntimeClass" doc:"RuntimeClass of gVisor, on a cluster"`
	// Around is left out of plans where it is the default.
	Around layer.Around `yaml:"around" json:"around,omitempty" doc:"which programs it is put around, where the load comes from others than the server: both, server or client; both if absent. On a cluster it is around both in any case"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "gVisor: runsc on this machine, a RuntimeClass on a cluster",
	New:     func() layer.Layer { return &Config{Class: factor.Of("gvisor")} },
	Probe:   probe,
}

// probe tries every platform.
func probe(ctx context.Context) []testbed.Finding {
	var all []testbed.Finding
	for _, p := range Platform("").Values() {
		f := front.Works(ctx, command(Platform(p)), install)
		f.Name = p
		all = append(all, f)
	}
	return all
}

// command is what stands before a program.
func command(p Platform) []string {
	return []string{find(), "--platform=" + string(p), "--network=host", "--ignore-cgroups", "--host-uds=all", "do"}
}

// find gives the path of runsc: on PATH, or where make gvisor puts it. Where it is in neither,
// its name will say so.
func find() string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	if dir, err := os.UserCacheDir(); err == nil {
		if path, err := exec.LookPath(filepath.Join(dir, "tare", name, program)); err == nil {
			return path
		}
	}
	return program
}

// Declare names runsc on this machine, and the rights for the RuntimeClass.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Rights: c.pod().Declare().Rights, Shapes: true, ProvesBeside: true}
	d.Needs.Network = c.Around == layer.Server
	for _, p := range c.Platform {
		d.Programs = append(d.Programs, experiment.Program{Name: find(), Front: command(p), Where: experiment.AtSite})
	}
	if len(c.Platform) == 0 {
		d.Programs = []experiment.Program{{Name: find(), Front: command(Systrap), Where: experiment.AtSite}}
	}
	return d
}

// pod is the layer on a cluster.
func (c *Config) pod() *pod.Config { return &pod.Config{RuntimeClass: c.Class} }

func (c *Config) platform() Platform {
	if len(c.Platform) == 0 {
		return Systrap
	}
	return c.Platform.One()
}

func (c *Config) front() front.Front {
	return front.Front{
		Layer: name, Around: c.Around, Args: front.Always(command(c.platform())...),
		Evidence: []front.Evidence{{Name: "kernel", Ask: []string{"release"}, Expected: "gVisor's",
			On: func(inside, _ string) bool { return strings.Contains(inside, name) }}},
	}
}

// onCluster says whether a site is on one.
func onCluster(site testbed.Site) bool {
	_, err := kube.Of(site)
	return err == nil
}

// Up puts gVisor around the programs.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	if !onCluster(s.Site) {
		return c.front().Up(s), nil
	}
	if len(c.Platform) > 0 {
		return nil, errors.New("on a cluster the platform is that of the RuntimeClass: leave platform out, and sweep class")
	}
	up, err := c.pod().Up(ctx, s)
	if err != nil {
		return nil, err
	}
	settle, before := up.Settle, up.Before
	up.Settle = func(ctx context.Context) ([]layer.Check, error) { return own(settle(ctx)) }
	up.Before = func(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
		checks, err := own(before(ctx, site))
		if len(checks) > 0 && c.Around != "" && c.Around != layer.Both {
			checks[0].Caveat = strings.TrimPrefix(checks[0].Caveat+"; "+everywhere, "; ")
		}
		return checks, err
	}
	return up, nil
}

const everywhere = "on a cluster the RuntimeClass is around all pods of the arm: what gVisor costs the other side is in these numbers"

// own makes checks of the layer pod checks of this one.
func own(checks []layer.Check, err error) ([]layer.Check, error) {
	checks = slices.Clone(checks)
	for i := range checks {
		checks[i].Layer = name
	}
	return checks, err
}

// ProveOff shows that programs see another kernel than gVisor's.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if s.Own != nil { // whose proof says which it is
		return nil, nil
	}
	if !onCluster(s.Site) {
		return c.front().Off(ctx, s)
	}
	return own(c.pod().ProveOff(ctx, s))
}
