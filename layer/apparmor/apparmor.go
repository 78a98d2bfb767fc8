// Package apparmor is a profile of AppArmor around the programs under test: they may do
// everything but what the rules deny.
//
//   - apparmor: {rules: [1, 8, 64]}
//   - apparmor: {rules: [1, 8, 64], match: [prefix, suffix], action: audit}
//
// AppArmor looks at a file's path at each opening, by an automaton that is compiled from all rules of
// the profile, so that their number costs by the size of the automaton, if at all. The profile allows all
// files, capabilities, sockets, mounts, signals and traces. Its first rule denies the files that Tare's prober makes;
// the further ones are for paths that no program uses, so that their number can be swept: by the beginning of the path
// or by its end, and denied, allowed, or allowed and written to the kernel's log. With
// rules: 0 there is no profile, and the arm differs from the baseline by nothing.
//
// apparmor_parser compiles the profile, and Tare loads it into the kernel under a name of its own
// when the layer is put up, and removes it when that is taken down. What is loaded is in the run's ledger
// before: tare clean --switches and tare resume remove what a killed run has left. Tare's launcher
// (package launcher) asks for the profile and becomes the program.
//
// Proofs: the prober's label is that profile, enforced; to make a file that the first rule is for is denied with
// EACCES, and is allowed outside.
package apparmor

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/front"
	"tare/testbed"
	"tare/testbed/launcher"
)

const name = "apparmor"

// Config is the parameters of the layer.
type Config struct {
	Rules  factor.Levels[int]          `yaml:"rules" json:"rules" min:"0" max:"64" doc:"number of path rules: one that denies what the proof tries, and more for paths that are not used; 0 loads no profile"`
	Match  factor.Levels[layer.Match]  `yaml:"match" json:"match" doc:"what the further rules give of a path: prefix, /directory/**, or suffix, **/name"`
	Action factor.Levels[layer.Action] `yaml:"action" json:"action" doc:"what the further rules do: deny, allow, or audit, which allows and logs"`
	// Around is left out of plans where it is the default.
	Around layer.Around `yaml:"around" json:"around,omitempty" doc:"which programs it is put around, where the load comes from others than the server: both, server or client; both if absent"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "a profile of AppArmor with so many path rules",
	New:     newLayer,
	Probe:   probe,
	Undo:    undo,
}

func newLayer() layer.Layer {
	return &Config{Rules: factor.Of(8), Match: factor.Of(layer.Prefix), Action: factor.Of(layer.Deny)}
}

const elsewhere = "name a profile that is loaded on the nodes by the layer pod (appArmor), as examples/kubernetes/apparmor.yaml does; a program that loads profiles there, such as vArmor, is put there by the layer manifests"

// Declare says that the layer is for this machine, and takes apparmor_parser.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs:     c.Around.Needs(experiment.TestbedLocal),
		Elsewhere: elsewhere,
		Programs:  []experiment.Program{{Name: parser, Where: experiment.OnMachine}},
		Tools:     []experiment.Tool{{Name: parser, Version: []string{"--version"}}},
		OwnProves: true,
		Launched:  true,
	}
}

// probe tries a profile, where the kernel has AppArmor.
func probe(ctx context.Context) []testbed.Finding {
	f := testbed.Finding{Name: name, Status: testbed.Refused}
	if err := enabled(); err != nil {
		f.Detail, f.Hint = err.Error(), "boot a kernel with AppArmor (CONFIG_SECURITY_APPARMOR, apparmor=1) and mount securityfs on /sys/kernel/security; root loads profiles"
		return []testbed.Finding{f}
	}
	if _, err := exec.LookPath(parser); err != nil {
		return []testbed.Finding{{Name: name, Status: testbed.Missing, Detail: err.Error(), Hint: install}}
	}
	p := newProfile(newLayer().(*Config), probing+strconv.Itoa(os.Getpid()))
	if err := errors.Join(removeProbes(), p.load(ctx)); err != nil {
		return []testbed.Finding{f.Tried(err)}
	}
	f = front.Launches(ctx, name, launcher.Settings{AppArmor: p.name})
	return []testbed.Finding{f.Tried(remove(p.name))}
}

// front is what stands before programs, by the name of the profile; or by the beginning of all names.
func (c *Config) front(profile string) front.Front {
	if c.Rules.One() == 0 {
		return front.Idle(name, c.Around, "loads no profile")
	}
	return front.Launched(name, c.Around, launcher.Settings{AppArmor: profile},
		front.Evidence{Name: "profile", Ask: []string{"label"}, Expected: profile + ", enforced", On: func(inside, _ string) bool {
			return strings.HasPrefix(inside, profile) && strings.HasSuffix(inside, " (enforce)")
		}},
		front.Denied("file made that the profile denies", []string{"EACCES"}, front.Makeable...))
}

// Up loads the profile and has programs started in it.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	if c.Rules.One() == 0 {
		return c.front("").Up(s), nil
	}
	if err := enabled(); err != nil {
		return nil, err
	}
	p := newProfile(c, prefix+strings.ToLower(rand.Text()[:12])) // those of other runs may be loaded too
	down, err := s.Owe(name, p.name, "no profile", func(context.Context) error { return remove(p.name) },
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

// ProveOff shows that programs are in no profile of Tare's, and may make the files that these deny.
// Another profile of the arm's own is shown by its own proof.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return c.front(prefix).Off(ctx, s)
}

// undo removes a profile that a killed run has left.
func undo(_ context.Context, _ testbed.Site, u layer.Undo) error {
	profile, err := u.Name(prefix)
	if err != nil {
		return err
	}
	return remove(profile)
}

func newProfile(c *Config, called string) profile { return profile{name: called, text: c.text(called)} }
