// Package apparmor puts subjects into an AppArmor profile. The profile allows everything except the actions
// that its rules deny.
//
//   - apparmor: {rules: [1, 8, 64]}
//   - apparmor: {rules: [1, 8, 64], match: [prefix, suffix], action: audit}
//
// AppArmor checks the path of each opened file by one automaton, compiled from all rules. More rules can cost time only
// because they make the automaton larger. The first rule denies the files that the prober (package wrapper) creates.
// The other rules are for paths that no program uses. With rules: 0 no profile is loaded.
//
// Tare loads the profile, which apparmor_parser compiles, under a unique name, and removes it when the layer is taken
// down. The run's ledger names the profile before it is loaded. With this entry, tare clean --switches and tare resume
// remove the profiles of killed runs. Tare's launcher (package launcher) asks the kernel for the profile and then
// executes the subject.
//
// Proofs: the kernel reports the profile, in enforce mode, as the prober's label. The first rule denies the prober a
// file (EACCES). Outside the profile, a prober may create the file.
package apparmor

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
	"tare/internal/testbed/local"
)

const name = "apparmor"

type config struct {
	Rules  factor.Levels[int]          `yaml:"rules" json:"rules" min:"0" max:"64" doc:"number of path rules: the first denies the action of the proof, the others are for unused paths; 0 loads no profile"`
	Match  factor.Levels[layer.Match]  `yaml:"match" json:"match" enum:"prefix,suffix" doc:"part of a path that the other rules match: prefix, /directory/**, or suffix, **/name"`
	Action factor.Levels[layer.Action] `yaml:"action" json:"action" doc:"action of the other rules: deny, allow, or audit, which allows and logs"`
	Around layer.Side                  `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "an AppArmor profile with a given number of path rules",
	New:     newLayer,
	Probe:   probe,
	Undo:    undo,
}

func newLayer() layer.Layer {
	return &config{Rules: factor.Of(8), Match: factor.Of(layer.Prefix), Action: factor.Of(layer.Deny)}
}

const elsewhere = "use a profile that is loaded on the nodes, by the layer pod (appArmor), as examples/kubernetes/apparmor.yaml does; install a program that loads profiles, such as vArmor, by the layer manifests"

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs:     c.Around.Needs(experiment.TestbedLocal),
		Elsewhere: elsewhere,
		Programs:  []experiment.Program{{Name: parser, Where: experiment.OnMachine}},
		Tools:     []experiment.Tool{{Name: parser, Version: []string{"--version"}}},
		OwnProves: true,
		Launched:  true,
	}
}

func probe(ctx context.Context) []testbed.Finding {
	f := testbed.Finding{Name: name, Status: testbed.Refused}
	if err := enabled(); err != nil {
		f.Detail, f.Hint = err.Error(), "boot a kernel with AppArmor (CONFIG_SECURITY_APPARMOR, apparmor=1) and mount securityfs on /sys/kernel/security; root loads profiles"
		return []testbed.Finding{f}
	}
	if _, err := exec.LookPath(parser); err != nil {
		return []testbed.Finding{{Name: name, Status: testbed.Missing, Detail: err.Error(), Hint: install}}
	}
	p := newProfile(newLayer().(*config), probing+strconv.Itoa(os.Getpid()))
	if err := errors.Join(removeProbes(), p.load(ctx)); err != nil {
		return []testbed.Finding{f.Tried(err)}
	}
	f = wrapper.Launches(ctx, name, launcher.Settings{AppArmor: p.name})
	return []testbed.Finding{f.Tried(remove(p.name))}
}

// front returns the wrapper that starts subjects under a profile. Its proof reads the profile in force, whose name must
// begin with the given one.
func (c *config) front(profile string) wrapper.Wrapper {
	if c.Rules.One() == 0 {
		return wrapper.Idle(name, c.Around, "loads no profile")
	}
	return wrapper.Launched(name, c.Around, launcher.Settings{AppArmor: profile},
		wrapper.Evidence{Name: "profile", Ask: []string{"label"}, Expected: profile + ", enforced", On: func(inside, _ string) bool {
			return strings.HasPrefix(inside, profile) && strings.HasSuffix(inside, " (enforce)")
		}},
		wrapper.Denied("file made that the profile denies", []string{"EACCES"}, wrapper.Makeable...))
}

func (c *config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	if c.Rules.One() == 0 {
		return c.front("").Up(s), nil
	}
	if err := enabled(); err != nil {
		return nil, err
	}
	p := newProfile(c, prefix+strings.ToLower(rand.Text()[:12])) // the name is unique, since other runs may have loaded profiles
	down, err := s.NoteUndo(name, p.name, "no profile", func(context.Context) error { return remove(p.name) },
		[]string{"sh", "-c", "printf %s " + p.name + " >" + removing})
	if err != nil {
		return nil, err
	}
	if err := p.load(ctx); err != nil {
		return nil, errors.Join(err, down(ctx))
	}
	up := c.front(p.name).Up(s)
	up.Down = down
	return up, nil
}

func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return c.front(prefix).Off(ctx, s)
}

func undo(_ context.Context, _ testbed.Site, u layer.Undo) error {
	profile, err := u.Name(prefix)
	if err != nil {
		return err
	}
	return remove(profile)
}

func newProfile(c *config, called string) profile { return profile{name: called, text: c.text(called)} }

const (
	parser  = "apparmor_parser"
	install = "apt-get install apparmor"
	prefix  = "tare-apparmor-"  // start of the name of each profile
	probing = prefix + "probe-" // start of the name of a probe's profile; the process id of the probe follows
)

const (
	kernel   = "/sys/kernel/security/apparmor/"
	loading  = kernel + ".load"
	removing = kernel + ".remove"
	loaded   = kernel + "profiles"
)

type profile struct{ name, text string }

// everything lists the kinds of actions; the rule for a kind allows all its actions. AppArmor denies kinds without a
// rule. apparmor_parser ignores unknown kinds.
var everything = []string{"file", "capability", "network", "mount", "remount", "umount", "pivot_root", "ptrace", "signal", "unix", "dbus", "change_profile"}

func (c *config) text(called string) string {
	var b strings.Builder
	// attach_disconnected is needed for volumes: in the mount namespace of a volume, the path of a file may not lead up
	// to the root.
	fmt.Fprintf(&b, "profile %s flags=(attach_disconnected,mediate_deleted) {\n", called)
	for _, rule := range everything {
		fmt.Fprintf(&b, "  %s,\n", rule)
	}
	fmt.Fprintf(&b, "  deny /{,**/}%s* w,\n", wrapper.ProbeFile)
	for i := 2; i <= c.Rules.One(); i++ {
		path := fmt.Sprintf("/usr/lib/tare-unused-%02d/**", i)
		if c.Match.One() == layer.Suffix {
			path = fmt.Sprintf("/**/tare-unused-%02d", i)
		}
		switch c.Action.One() {
		case layer.Deny:
			fmt.Fprintf(&b, "  deny %s rwklmx,\n", path)
		case layer.Audit:
			fmt.Fprintf(&b, "  audit %s rwkl,\n", path)
		case layer.Allow:
			fmt.Fprintf(&b, "  %s rwkl,\n", path)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

const compileLimit = time.Minute // timeout of apparmor_parser, which normally takes less than a second

// compile returns the profile in the kernel's binary format. It tells apparmor_parser not to use the cache.
func (p profile) compile(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, compileLimit)
	defer cancel()
	var out bytes.Buffer
	_, err := testbed.Run(ctx, local.Here, testbed.Host, testbed.Command{
		Args: append([]string{parser, "--skip-kernel-load", "--skip-cache", "--stdout"}, args...), Stdin: strings.NewReader(p.text), Stdout: &out,
	})
	if err == nil && out.Len() == 0 {
		err = fmt.Errorf("%s printed nothing", parser)
	}
	return out.Bytes(), err
}

func (p profile) load(ctx context.Context) error {
	binary, err := p.compile(ctx)
	if err != nil {
		return err
	}
	if err := write(loading, binary); err != nil {
		return fmt.Errorf("load a profile: %w", err)
	}
	if there, err := has(p.name); err != nil || !there {
		return errors.Join(fmt.Errorf("the profile %s is not among those of %s", p.name, loaded), err)
	}
	return nil
}

func remove(called string) error {
	if there, err := has(called); err != nil || !there {
		return err
	}
	if err := write(removing, []byte(called)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the profile %s: %w", called, err)
	}
	if there, err := has(called); err != nil || there {
		return errors.Join(fmt.Errorf("the profile %s is still there", called), err)
	}
	return nil
}

// removeProbes removes the profiles that probes left because they were killed. No ledger lists these profiles.
func removeProbes() error {
	text, err := os.ReadFile(loaded)
	for line := range strings.Lines(string(text)) {
		called, _, _ := strings.Cut(line, " (")
		pid, ours := strings.CutPrefix(called, probing)
		if _, gone := os.Stat("/proc/" + pid); ours && errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, remove(called))
		}
	}
	return err
}

func has(called string) (bool, error) {
	text, err := os.ReadFile(loaded)
	return strings.Contains("\n"+string(text), "\n"+called+" ("), err
}

// enabled returns the reason why this machine cannot load profiles; nil if it can.
func enabled() error {
	f, err := os.OpenFile(loading, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this kernel has no AppArmor, or it is turned off: %w", err)
	}
	if err != nil {
		return fmt.Errorf("profiles of AppArmor cannot be loaded: %w", err)
	}
	return f.Close()
}

func write(file string, content []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
