package sandbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

// runner is a program that starts a command in a unit of systemd or in a container. The unit or container may
// outlive the program.
type runner struct {
	name, program, install string
	elsewhere              bool // set if another process starts the command, such as a daemon, and not the program
	alive                  []string
	// list returns the command that prints the names of a run's leftovers, one per line. remove, followed by the names,
	// is the command that removes the leftovers.
	list   func(label string) []string
	remove []string
}

var systemd = runner{
	name: "systemd", program: "systemd-run", install: "a system that systemd has started", elsewhere: true,
	alive: []string{"systemd-run", "--quiet", "--pipe", "--wait", "--collect"},
	list: func(label string) []string {
		return []string{"systemctl", "list-units", "--all", "--plain", "--no-legend", label + "-*"}
	},
	remove: []string{"systemctl", "stop"},
}

func containers(program, install string, elsewhere bool) runner {
	return runner{
		name: program, program: program, install: install, elsewhere: elsewhere,
		list: func(label string) []string {
			return []string{program, "ps", "--all", "--quiet", "--filter", "label=" + label}
		},
		remove: []string{program, "rm", "--force"},
	}
}

var (
	docker = containers("docker", "apt-get install docker.io", true)
	podman = containers("podman", "apt-get install podman", false)
)

type unit struct {
	Properties []string `yaml:"properties" json:"properties" doc:"properties of the unit that sandbox it, such as ProtectSystem=strict (systemd.exec(5)); absent: the layer's defaults"`
}

type container struct {
	runner  *runner
	Image   string     `yaml:"image" json:"image" required:"true" doc:"image, which must exist locally and contain the programs that are run"`
	Options []string   `yaml:"options" json:"options,omitempty" doc:"options of the command run, such as --security-opt=seccomp=unconfined"`
	Around  layer.Side `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both"`
}

var systemdKind = layer.Kind{
	Name:    systemd.name,
	Summary: "a unit of systemd whose properties sandbox it (systemd-run)",
	New: func() layer.Layer {
		return &unit{Properties: []string{"ProtectSystem=strict", "PrivateTmp=yes", "NoNewPrivileges=yes", "CapabilityBoundingSet="}}
	},
	Probe: func(ctx context.Context) []testbed.Finding {
		return []testbed.Finding{wrapper.Works(ctx, systemd.alive, systemd.install)}
	},
	Undo: systemd.undo,
}

var dockerKind, podmanKind = containerKind(&docker, "a container of Docker"), containerKind(&podman, "a container of Podman")

func containerKind(r *runner, summary string) layer.Kind {
	return layer.Kind{
		Name: r.name, Summary: summary, Example: "image: docker.io/library/debian:12",
		New:   func() layer.Layer { return &container{runner: r} },
		Probe: r.probe,
		Undo:  r.undo,
	}
}

// probe asks the program to list its containers. It starts none, since only the experiment file names an image, which
// tare plan tries.
func (r *runner) probe(ctx context.Context) []testbed.Finding {
	f := testbed.Finding{Name: r.program, Status: testbed.Works, Detail: "it answers; tare plan FILE tries the file's image"}
	if path, err := exec.LookPath(r.program); err != nil {
		f.Status, f.Detail, f.Hint = testbed.Missing, err.Error(), r.install
	} else if _, err := testbed.Output(ctx, local.Here, testbed.Host, path, "ps", "--quiet"); err != nil {
		f.Status, f.Detail = testbed.Refused, strings.Join(strings.Fields(err.Error()), " ")
	}
	return []testbed.Finding{f}
}

func (c *unit) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: experiment.Needs{Only: experiment.TestbedLocal}, Programs: inFront(c.args("")), OwnProves: true,
		Elsewhere: "there is no systemd in pods: set their security context by the layer pod"}
}

func (c *unit) args(unit string, names ...string) []string {
	args := slices.Clone(systemd.alive)
	if unit != "" {
		args = append(args, "--unit="+unit)
	}
	return slices.Concat(args, prefixed("--property=", c.Properties), prefixed("--setenv=", names), []string{"--same-dir", "--"})
}

func (c *unit) front(label string) wrapper.Wrapper {
	n := 0
	f := wrapper.Wrapper{Layer: systemd.name, Elsewhere: true, Args: func(cmd testbed.Command) []string {
		n++
		return c.args(fmt.Sprintf("%s-%d", label, n), variables(cmd)...)
	}}
	f.Evidence = []wrapper.Evidence{wrapper.Differs("mount namespace", "ns:mnt"), wrapper.Is("no_new_privs", "status:NoNewPrivs", "1"), readOnly}
	return f
}

func (c *unit) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	return systemd.up(s, c.front)
}

func (c *unit) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return c.front("").Off(ctx, s)
}

func (c *container) Declare() experiment.Declaration {
	d := experiment.Declaration{Needs: c.Around.Needs(experiment.TestbedLocal), OwnProves: true,
		Elsewhere: "pods are containers already: set their properties by the layer pod"}
	if c.runner != nil && c.Image != "" {
		d.Programs = inFront(c.args(""))
	}
	return d
}

// args returns the command line up to the image: program, options and image. The options mount Tare's executable at its
// own path.
func (c *container) args(label string, names ...string) []string {
	args := []string{c.runner.program, "run", "--rm", "--interactive", "--pull=never", "--network=host"}
	if label != "" {
		args = append(args, "--label="+label)
	}
	if self, err := os.Executable(); err == nil {
		args = append(args, "--volume="+self+":"+self+":ro")
	}
	return slices.Concat(args, prefixed("--env=", names), c.Options, []string{c.Image})
}

func prefixed(prefix string, list []string) []string {
	return lists.Map(list, func(s string) string { return prefix + s })
}

func (c *container) front(label string) wrapper.Wrapper {
	return wrapper.Wrapper{
		Layer: c.runner.name, Around: c.Around, Elsewhere: c.runner.elsewhere,
		Args:     func(cmd testbed.Command) []string { return c.args(label, variables(cmd)...) },
		Evidence: []wrapper.Evidence{wrapper.Differs("process namespace", "ns:pid"), wrapper.Differs("mount namespace", "ns:mnt"), mount},
	}
}

func (c *container) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	return c.runner.up(s, c.front)
}

func (c *container) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return c.front("").Off(ctx, s)
}

// variables returns the names of a command's variables. Their values are left out, since every user of the machine can
// see a program's arguments.
func variables(cmd testbed.Command) []string {
	return lists.Map(cmd.Env, func(v string) string {
		name, _, _ := strings.Cut(v, "=")
		return name
	})
}

// up puts the layer up, and notes in the ledger how to remove the leftovers of a killed run.
func (r *runner) up(s *layer.Session, of func(label string) wrapper.Wrapper) (*layer.Active, error) {
	if _, ok := testbed.As[testbed.Network](s.Site); ok && r.elsewhere {
		return nil, fmt.Errorf("%s starts programs in another process, outside the networks that Tare creates: use a workload without a network (in: host)", r.program)
	}
	label := "tare-" + strings.ToLower(rand.Text()[:12])
	f := of(label)
	f.Left = func(ctx context.Context) ([]string, error) { return r.left(ctx, label) }
	a := f.Up(s) // Up starts no program yet
	down, err := s.NoteUndo(r.name, label, "nothing left", a.Down, r.list(label), append(slices.Clone(r.remove), "…"))
	if err != nil {
		return nil, err
	}
	a.Down = down
	return a, nil
}

// left removes the leftovers with a label, and returns their names.
func (r *runner) left(ctx context.Context, label string) ([]string, error) {
	out, err := testbed.Output(ctx, local.Here, testbed.Host, r.list(label)...)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			names = append(names, fields[0])
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	_, err = testbed.Output(ctx, local.Here, testbed.Host, slices.Concat(r.remove, names)...)
	return names, err
}

func (r *runner) undo(ctx context.Context, _ testbed.Site, u layer.Undo) error {
	label, err := u.Name("tare-")
	if err == nil {
		_, err = r.left(ctx, label)
	}
	return err
}
