// Package gvisor puts gVisor around the subjects. Each sandbox of gVisor has a process that acts as the kernel of the
// programs inside: it answers their system calls.
//
//   - gvisor
//   - gvisor: {platform: [systrap, ptrace]}
//
// On this machine `runsc run` starts each subject in its own sandbox. The subject can read the files of this machine;
// what it writes is discarded. The sandbox uses the host's network stack (--network=host): with its own stack, gVisor
// would take the place's addresses away from all other programs there. Tare does not use `runsc do`, which leaves
// interfaces and firewall rules behind when it is killed. On a cluster the layer `pod` with a RuntimeClass runs pods in
// gVisor, with gVisor's own stack.
//
// Tare looks for runsc on PATH, and then in the directory in which `make gvisor` installs it.
//
// Proof: the prober sees gVisor's kernel inside, and another kernel outside. On a cluster, the proof of the layer `pod`
// shows this.
package gvisor

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/pod"
	"tare/internal/layer/wrapper"
	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/launcher"
)

const (
	name    = "gvisor"
	program = "runsc"
	install = "make gvisor; or https://gvisor.dev/docs/user_guide/install"
)

type platform string

const (
	systrap platform = "systrap" // intercepts system calls by a seccomp filter
	ptrace  platform = "ptrace"
	kvm     platform = "kvm" // runs the sandbox as a guest of KVM
)

type config struct {
	Platform factor.Levels[platform] `yaml:"platform" json:"platform,omitempty" enum:"systrap,ptrace,kvm" doc:"way to intercept system calls on this machine: systrap, ptrace or kvm; absent: systrap. On a cluster the RuntimeClass decides"`
	Class    factor.Levels[string]   `yaml:"class" json:"class" pattern:"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$" form:"the name of a RuntimeClass" doc:"RuntimeClass of gVisor, on a cluster"`
	Around   layer.Side              `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both. On a cluster it is around both in any case"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "gVisor: runsc on this machine, a RuntimeClass on a cluster",
	New:     func() layer.Layer { return &config{Class: factor.Of("gvisor")} },
	Probe:   func(ctx context.Context) []testbed.Finding { return tryAll(ctx, systrap, ptrace, kvm) },
}

// Probe tries each platform in the layer's parameters.
func (c *config) Probe(ctx context.Context) []testbed.Finding {
	if len(c.Platform) == 0 {
		return tryAll(ctx, systrap)
	}
	return tryAll(ctx, c.Platform...)
}

func tryAll(ctx context.Context, platforms ...platform) []testbed.Finding {
	all := make([]testbed.Finding, len(platforms))
	var wait sync.WaitGroup
	for i, p := range platforms {
		wait.Go(func() { all[i] = try(ctx, p) })
	}
	wait.Wait()
	return all
}

// startTimeout is the timeout for starting a program. KVM may hang if this machine is a virtual machine.
var startTimeout = map[platform]time.Duration{systrap: 20 * time.Second, ptrace: 20 * time.Second, kvm: 4 * time.Second}

func try(ctx context.Context, p platform) testbed.Finding {
	f := testbed.Finding{Name: string(p), Status: testbed.Missing, Hint: install}
	path, err := exec.LookPath(find())
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	dir, err := owned.Dir("", name)
	if err != nil {
		return testbed.Finding{Name: string(p), Status: testbed.Refused, Detail: err.Error()}
	}
	defer func() { _ = owned.Remove(dir) }()
	ctx, cancel := context.WithTimeout(ctx, startTimeout[p])
	defer cancel()
	f = wrapper.Launches(ctx, string(p), settings(p, path, dir))
	if f.Status == testbed.Works {
		f.Detail = path + " starts a program"
	}
	return f
}

// settings makes the launcher mount a tmpfs, write an OCI bundle into it, and execute runsc with the bundle.
func settings(p platform, runsc, dir string) launcher.Settings {
	return launcher.Settings{Bundle: &launcher.Bundle{Directory: dir, Runtime: []string{runsc, "--platform=" + string(p), "--network=host",
		"--ignore-cgroups", "--overlay2=all:memory", "--root=" + filepath.Join(dir, "state"), "run", "--bundle=" + dir}}}
}

// find returns the path of runsc. If runsc is not installed, find returns the bare name, and the start of runsc fails
// with a clear error.
func find() string {
	path, err := testbed.Installed(program, name)
	if err != nil {
		return program
	}
	return path
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: c.Around.Needs(""), Programs: []experiment.Program{{Name: find(), Where: experiment.AtSite}},
		Rights: c.pod().Declare().Rights, Shapes: true, OwnProves: true, Launched: true}
}

func (c *config) pod() *pod.Config { return &pod.Config{RuntimeClass: c.Class} }

func (c *config) front(dir string) wrapper.Wrapper {
	f := wrapper.Launched(name, c.Around, settings(cmp.Or(c.Platform.OrZero(), systrap), find(), dir), wrapper.Evidence{Name: "kernel", Ask: []string{"release"},
		Expected: "gVisor's", On: func(inside, _ string) bool { return strings.Contains(inside, name) }})
	f.Starts = program
	return f
}

func onCluster(site testbed.Site) bool {
	_, err := kube.Of(site)
	return err == nil
}

func (c *config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	if !onCluster(s.Site) {
		dir, err := owned.Dir("", name)
		if err != nil {
			return nil, err
		}
		up := c.front(dir).Up(s)
		up.Down = func(context.Context) error { return owned.Remove(dir) }
		return up, nil
	}
	if len(c.Platform) > 0 {
		return nil, errors.New("on a cluster the RuntimeClass sets the platform: leave platform out, and sweep class")
	}
	up, err := c.pod().Up(ctx, s)
	if err != nil {
		return nil, err
	}
	settle, before := up.Settle, up.Before
	up.Settle = func(ctx context.Context) ([]layer.Check, error) { return relabel(settle(ctx)) }
	up.Before = func(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
		checks, err := relabel(before(ctx, site))
		if len(checks) > 0 && c.Around != "" && c.Around != layer.Both {
			checks[0].Caveat = strings.TrimPrefix(checks[0].Caveat+"; "+everywhere, "; ")
		}
		return checks, err
	}
	return up, nil
}

const everywhere = "on a cluster the RuntimeClass applies to all pods of the arm: the overhead includes gVisor's cost on the other side"

func relabel(checks []layer.Check, err error) ([]layer.Check, error) {
	checks = slices.Clone(checks)
	for i := range checks {
		checks[i].Layer = name
	}
	return checks, err
}

func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if !onCluster(s.Site) {
		return c.front("").Off(ctx, s)
	}
	return relabel(c.pod().ProveOff(ctx, s))
}
