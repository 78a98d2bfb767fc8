// Package gvisor is gVisor around the programs under test: a kernel of its own, in a process, that
// answers their system calls.
//
//   - gvisor
//   - gvisor: {platform: [systrap, ptrace]}
//
// On this machine a program is started in a sandbox of its own by `runsc run`: with the files of this
// machine, which it may read, and what it writes gone with it; and with the network of the place
// that it is started at, by the host's network stack (--network=host). gVisor's own stack takes
// the addresses of the network away from everybody else in it, so that a server's pod could not be used
// again; a pod of a cluster has it. (`runsc do` is not used: it makes interfaces and rules of the firewall on
// the machine, which it leaves behind when it is killed.) On a cluster the layer is a RuntimeClass, as
// the layer pod sets it.
//
// runsc is found on PATH, or where `make gvisor` puts it.
//
// Proofs: the kernel that the prober sees is gVisor's, and another outside; on a cluster those of the
// layer pod.
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

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/front"
	"tare/layer/pod"
	"tare/machine/owned"
	"tare/testbed"
	"tare/testbed/kube"
	"tare/testbed/launcher"
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
func probe(ctx context.Context) []testbed.Finding { return tryAll(ctx, Systrap, Ptrace, KVM) }

// Probe tries the platforms that are asked for.
func (c *Config) Probe(ctx context.Context) []testbed.Finding {
	if len(c.Platform) == 0 {
		return tryAll(ctx, Systrap)
	}
	return tryAll(ctx, c.Platform...)
}

func tryAll(ctx context.Context, platforms ...Platform) []testbed.Finding {
	all := make([]testbed.Finding, len(platforms))
	var wait sync.WaitGroup
	for i, p := range platforms {
		wait.Go(func() { all[i] = try(ctx, p) })
	}
	wait.Wait()
	return all
}

// patience is how long a platform may take to start a program. KVM in a virtual machine may
// stand still.
var patience = map[Platform]time.Duration{Systrap: 20 * time.Second, Ptrace: 20 * time.Second, KVM: 4 * time.Second}

// try has runsc start a program.
func try(ctx context.Context, p Platform) testbed.Finding {
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
	ctx, cancel := context.WithTimeout(ctx, patience[p])
	defer cancel()
	f = front.Launches(ctx, string(p), settings(p, path, dir))
	if f.Status == testbed.Works {
		f.Detail = path + " starts a program"
	}
	return f
}

// settings are those of the launcher, which puts a bundle for each program into memory on an empty directory, and becomes
// runsc.
func settings(p Platform, runsc, dir string) launcher.Settings {
	return launcher.Settings{Bundle: &launcher.Bundle{Directory: dir, Runtime: []string{runsc, "--platform=" + string(p), "--network=host",
		"--ignore-cgroups", "--overlay2=all:memory", "--root=" + filepath.Join(dir, "state"), "run", "--bundle=" + dir}}}
}

// find gives the path of runsc: on PATH, or where make gvisor puts it. Where it is in neither,
// its name will say so.
func find() string {
	path, err := testbed.Installed(program, name)
	if err != nil {
		return program
	}
	return path
}

// Declare names runsc on this machine, and the rights for the RuntimeClass.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: c.Around.Needs(""), Programs: []experiment.Program{{Name: find(), Where: experiment.AtSite}},
		Rights: c.pod().Declare().Rights, Shapes: true, OwnProves: true, Launched: true}
}

// pod is the layer on a cluster.
func (c *Config) pod() *pod.Config { return &pod.Config{RuntimeClass: c.Class} }

// front is what stands in front of programs, with bundles in a directory.
func (c *Config) front(dir string) front.Front {
	f := front.Launched(name, c.Around, settings(cmp.Or(c.Platform.OrZero(), Systrap), find(), dir), front.Evidence{Name: "kernel", Ask: []string{"release"},
		Expected: "gVisor's", On: func(inside, _ string) bool { return strings.Contains(inside, name) }})
	f.Starts = program
	return f
}

// here puts gVisor around programs on this machine.
func (c *Config) here(s *layer.Session) (*layer.Active, error) {
	dir, err := owned.Dir("", name)
	if err != nil {
		return nil, err
	}
	up := c.front(dir).Up(s)
	up.Down = func(context.Context) error { return owned.Remove(dir) }
	return up, nil
}

// onCluster says whether a site is on one.
func onCluster(site testbed.Site) bool {
	_, err := kube.Of(site)
	return err == nil
}

// Up puts gVisor around the programs.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	if !onCluster(s.Site) {
		return c.here(s)
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
	if !onCluster(s.Site) {
		return c.front("").Off(ctx, s)
	}
	return own(c.pod().ProveOff(ctx, s))
}
