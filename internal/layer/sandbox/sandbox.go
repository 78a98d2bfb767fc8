// Package sandbox holds layers for sandbox programs. Such a program starts a command, its last arguments, in a sandbox.
// Each program is a layer of its own:
//
//   - bubblewrap
//   - firejail: {options: [--private]}
//   - systemd: {properties: [ProtectSystem=strict, PrivateTmp=yes]}
//   - podman: {image: docker.io/library/debian:12}
//
// For the layer userns without options, Tare's launcher makes the user namespace itself, without the program unshare.
//
// A preset is a row of the table below: the program, its arguments, and the evidence inside the sandbox (package
// wrapper makes the proofs). Tare looks for the program on PATH; on a cluster, in the pods' image. No proof shows the
// effect of options that a user adds.
package sandbox

import (
	"context"
	"slices"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
)

type preset struct {
	name, summary, program string
	install                string   // command that installs the program
	options                []string // options of the preset
	after                  []string // arguments of the program between its options and the command
	evidence               []wrapper.Evidence
	// launcher has the settings of Tare's launcher, which replaces the program if there are no options; nil: never.
	launcher *launcher.Settings
}

var readOnly = wrapper.Denied("file made in the root", []string{"EROFS"}, "write:/", "write:/usr", "write:/var/tmp")

var mount = wrapper.Denied("denied action", []string{"EPERM"}, "mount")

var presets = []preset{
	{
		name: "userns", summary: "a user namespace of its own, in which programs are root (unshare)", program: "unshare", install: "apt-get install util-linux",
		options: []string{"--user", "--map-root-user"}, after: []string{"--"},
		evidence: []wrapper.Evidence{wrapper.Differs("user namespace", "ns:user"), mount},
		launcher: &launcher.Settings{UserNamespace: true},
	},
	{
		name: "bubblewrap", summary: "bubblewrap: the file system read-only, processes of its own", program: "bwrap", install: "apt-get install bubblewrap",
		options:  []string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid"},
		evidence: []wrapper.Evidence{wrapper.Differs("process namespace", "ns:pid"), wrapper.Differs("mount namespace", "ns:mnt"), readOnly},
	},
	{
		name: "firejail", summary: "firejail: a filter of system calls, no capabilities, processes of its own", program: "firejail", install: "apt-get install firejail",
		options: []string{"--quiet", "--noprofile", "--keep-fd=3,4,5,6,7,8", "--caps.drop=all", "--nonewprivs", "--seccomp"}, after: []string{"--"},
		evidence: []wrapper.Evidence{wrapper.Differs("process namespace", "ns:pid"), wrapper.Differs("filters", "status:Seccomp_filters"), mount},
	},
	{
		name: "nsjail", summary: "nsjail: namespaces of its own but for the network, the file system read-only", program: "nsjail",
		install: "apt-get install nsjail (from Debian 13 on), or build it from https://github.com/google/nsjail",
		options: []string{"--mode", "o", "--really_quiet", "--chroot", "/", "--keep_env", "--disable_rlimits", "--time_limit", "0",
			"--disable_clone_newnet", "--pass_fd", "3", "--pass_fd", "4", "--pass_fd", "5", "--pass_fd", "6"}, after: []string{"--"},
		evidence: []wrapper.Evidence{wrapper.Differs("process namespace", "ns:pid"), wrapper.Differs("user namespace", "ns:user"), readOnly},
	},
}

func (p *preset) front(options []string) []string {
	return slices.Concat([]string{p.program}, p.options, options, p.after)
}

type config struct {
	preset  *preset
	Options []string   `yaml:"options" json:"options,omitempty" doc:"options of the program, after the layer's own options"`
	Around  layer.Side `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both"`
}

// Kinds describes the layers.
func Kinds() []layer.Kind {
	var kinds []layer.Kind
	for i := range presets {
		p := &presets[i]
		kinds = append(kinds, layer.Kind{
			Name: p.name, Summary: p.summary,
			New: func() layer.Layer { return &config{preset: p} },
			Probe: func(ctx context.Context) []testbed.Finding {
				if p.launcher != nil {
					return []testbed.Finding{wrapper.Launches(ctx, p.name, *p.launcher)}
				}
				return []testbed.Finding{wrapper.Works(ctx, p.front(nil), p.install)}
			},
		})
	}
	return append(kinds, systemdKind, dockerKind, podmanKind)
}

func (c *config) Declare() experiment.Declaration {
	d := experiment.Declaration{Needs: c.Around.Needs(""), Launched: c.launched()}
	if !d.Launched && c.preset != nil { // the preset is nil in tests only
		d.Programs = inFront(c.preset.front(c.Options))
	}
	return d
}

func inFront(args []string) []experiment.Program {
	return []experiment.Program{{Name: args[0], Front: args, Where: experiment.WrapperPlace}}
}

func (c *config) launched() bool {
	return c.preset != nil && c.preset.launcher != nil && len(c.Options) == 0
}

func (c *config) front() wrapper.Wrapper {
	if c.launched() {
		return wrapper.Launched(c.preset.name, c.Around, *c.preset.launcher, c.preset.evidence...)
	}
	return wrapper.Wrapper{Layer: c.preset.name, Around: c.Around, Args: wrapper.Always(c.preset.front(c.Options)...), Evidence: c.preset.evidence}
}

func (c *config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	return c.front().Up(s), nil
}

func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return c.front().Off(ctx, s)
}
