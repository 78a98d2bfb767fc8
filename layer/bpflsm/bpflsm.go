// Package bpflsm is hooks of a Linux security module around the programs under test, which are BPF
// programs (BPF LSM) with rules as vArmor has them: on opening files, executing programs, connecting
// sockets, reading and tracing processes, mounting, and capabilities.
//
//   - bpflsm: {rules: [0, 1, 2, 4, 8, 64]}
//   - bpflsm: {rules: [1, 8, 64], hooks: [file], like: /usr/bin/make}
//
// The hooks of files, process and mount walk a list of texts, each of which a path begins or ends
// with (or a mount's source); that of network a list of addresses and ports. Those of ptrace and capability ask one
// question, whatever the number of rules. The rules are for what programs do not do; the last one of each
// kind is for what the prober tries. How long a text agrees with the paths of a program counts as much as the number
// of texts: with like, all but the last are that path with another last byte.
//
// # The hooks are everybody's
//
// The kernel calls them for every process of the machine. A program of another cgroup than the
// arm's passes them by, and pays for that. So they are attached for the trials of their arm alone
// (layer.Switch), and its trials cannot be cut into slices. With rules: 0 a program of the arm passes them,
// is counted, and that is all: what having the hooks costs.
//
// It takes root, Linux 5.17 with bpf among its security modules (/sys/kernel/security/lsm), and a
// system that does not refuse such programs.
package bpflsm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/bpf"
	"tare/testbed"
)

const name = "bpflsm"

// Hook is a kind of rules, in vArmor's words.
type Hook string

// Values lists the hooks.
func (Hook) Values() []string {
	var names []string
	for _, h := range hooks {
		names = append(names, h.name)
	}
	return names
}

// Config is the parameters of the layer.
type Config struct {
	Rules  factor.Levels[int]          `yaml:"rules" json:"rules" min:"0" max:"64" doc:"number of rules of each kind; with 0 the hooks are attached, and have none"`
	Hooks  []Hook                      `yaml:"hooks" json:"hooks,omitempty" doc:"which hooks are attached: file, process, network, ptrace, mount and capability if absent"`
	Action factor.Levels[layer.Action] `yaml:"action" json:"action" doc:"what a rule does to what it is for: deny, audit (which allows and counts it) or allow"`
	Match  factor.Levels[layer.Match]  `yaml:"match" json:"match" doc:"whether rules on paths are their beginning or their end: prefix or suffix"`
	Like   string                      `yaml:"like" json:"like,omitempty" doc:"absolute path of a file that programs open or execute: rules on paths differ from it in the last byte alone, so that each is read to its end; if absent, in one of the first"`
	// Around is left out of plans where it is the default.
	Around layer.Around `yaml:"around" json:"around,omitempty" doc:"which programs it is put around, where the load comes from others than the server: both, server or client; both if absent"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "hooks of a Linux security module by BPF programs, with so many rules of each kind",
	New: func() layer.Layer {
		return &Config{Rules: factor.Of(8), Action: factor.Of(layer.Deny), Match: factor.Of(layer.Prefix)}
	},
	Probe: bpf.Works(name, &Config{Rules: factor.Of(bpf.Most), Action: factor.Of(layer.Deny), Match: factor.Of(layer.Prefix)}),
}

// active gives an error where the kernel was started without bpf among its security modules: then it
// takes the programs, and never calls them. Where that cannot be told, the proofs will.
func active() error {
	text, err := os.ReadFile("/sys/kernel/security/lsm")
	list := strings.TrimSpace(string(text))
	if err != nil || slices.Contains(strings.Split(list, ","), "bpf") {
		return nil
	}
	return fmt.Errorf("bpf is not among the security modules of this kernel (%s): it must be started with lsm=%s,bpf", list, list)
}

// Declare says that it is of this machine, and shows itself beside another of an arm.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, Needs: c.Around.Needs(experiment.TestbedLocal), Elsewhere: bpf.Elsewhere, ProvesBeside: true}
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if c.Like != "" && (!filepath.IsAbs(c.Like) || filepath.Clean(c.Like) != c.Like || c.Like == "/") {
		errs.Add("like", "%q is not the absolute path of a file", c.Like)
	}
	for i, h := range c.Hooks {
		if slices.Contains(c.Hooks[:i], h) {
			errs.Add(fmt.Sprintf("hooks[%d]", i), "%s is there twice", h)
		}
	}
	return errs
}

// control are the files that the last rules are for, in the site's directory for files.
type control struct{ read, run string }

// hooks are the kinds of rules.
var hooks = []struct {
	name  string
	index int
	try   func(control, int) string // word of the prober for what the last of some rules is for
}{
	{"file", bpf.FileOpen, func(at control, _ int) string { return "open:" + at.read }},
	{"process", bpf.Exec, func(at control, _ int) string { return "exec:" + at.run }},
	{"network", bpf.Connect, func(_ control, n int) string {
		_, _, try := bpf.Unused(n, bpf.Early)
		return try
	}},
	{"ptrace", bpf.Ptrace, func(control, int) string { return "ptrace" }},
	{"mount", bpf.Mount, func(_ control, n int) string { return "mount:" + source(max(n-1, 0)) }},
	{"capability", bpf.Capable, func(control, int) string { return "alarm-timer" }},
}

// source is that of a mount which nobody makes.
func source(i int) string { return fmt.Sprintf("tare-source-%02d", i) }

// rare are capabilities that programs do not use. The last is that of the prober's timer.
const rare = 1<<20 | 1<<32 | 1<<33 | 1<<36 | 1<<35 // CAP_SYS_PACCT, MAC_OVERRIDE, MAC_ADMIN, BLOCK_SUSPEND, WAKE_ALARM

// proofs are the hooks, and how each is shown to be on.
func (c *Config) proofs(at control) (list []bpf.Hook) {
	n := c.Rules.One()
	for _, h := range hooks {
		if len(c.Hooks) == 0 || slices.Contains(c.Hooks, Hook(h.name)) {
			list = append(list, bpf.Hook{Name: h.name, Index: h.index, Try: h.try(at, n), Match: n > 0, Deny: n > 0 && c.Action.One() == layer.Deny})
		}
	}
	return list
}

// policy are the rules.
func (c *Config) policy(at control) bpf.Policy {
	n := c.Rules.One()
	p := bpf.Policy{Rules: n, Action: c.Action.One(), Suffix: c.Match.One() == layer.Suffix, Capabilities: rare}
	for _, h := range c.proofs(at) {
		p.Hooks = append(p.Hooks, h.Index)
	}
	p.Four, p.Six, _ = bpf.Unused(n, bpf.Early)
	for i := range n {
		text := c.unused(i)
		read, run := text, text
		if i == n-1 {
			read, run = c.cut(at.read), c.cut(at.run)
		}
		p.Files, p.Programs, p.Sources = append(p.Files, read), append(p.Programs, run), append(p.Sources, c.cut(source(i)))
	}
	return p
}

// unused is a rule on paths that no program has.
func (c *Config) unused(i int) string {
	switch {
	case c.Like != "":
		text := []byte(c.cut(c.Like))
		text[len(text)-1] ^= 1 // another letter
		return string(text)
	case c.Match.One() == layer.Suffix:
		return fmt.Sprintf("~tare-%02d", i)
	}
	return fmt.Sprintf("/~tare-%02d/", i)
}

// cut gives as much of a text as a rule can have.
func (c *Config) cut(text string) string {
	over := max(len(text)-bpf.TextMost, 0)
	if c.Match.One() == layer.Suffix {
		return text[over:]
	}
	return text[:len(text)-over]
}

// controls makes the files that the last rules are for.
func (c *Config) controls(s *layer.Session) (at control, err error) {
	site, err := testbed.Need[testbed.Scratch](s.Site, "there is no directory for files at this site")
	if err != nil {
		return at, err
	}
	dir, err := site.Scratch()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return at, err
	}
	at = control{filepath.Join(dir, "bpflsm-read"), filepath.Join(dir, "bpflsm-run")}
	if longest := max(len(at.read), len(at.run)); longest > bpf.TextMost && c.Match.One() == layer.Prefix {
		return at, fmt.Errorf("%s is longer than the %d bytes of a rule: set TMPDIR to a directory with a shorter path", at.read, bpf.TextMost)
	}
	for _, file := range []string{at.read, at.run} { // to execute it, where that is allowed, fails: it is no program
		err = errors.Join(err, os.WriteFile(file, []byte("tare"), 0o755), os.Chmod(file, 0o755))
	}
	return at, err
}

// Up loads the programs. They are attached by the switch.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	group, err := bpf.Group(s, c.Around)
	if err != nil {
		return nil, err
	}
	at, err := c.controls(s)
	if err == nil {
		err = active()
	}
	if err != nil {
		return nil, err
	}
	loaded, err := bpf.LoadLSM(group, c.policy(at))
	if err != nil {
		return nil, err
	}
	g := &bpf.Guard{Layer: name, Loaded: loaded, Hooks: c.proofs(at), Places: c.Around.Places(s)}
	up := g.Up(s, c)
	settle := up.Settle
	up.Settle = func(ctx context.Context) ([]layer.Check, error) {
		failed, err := settle(ctx)
		return failed, errors.Join(err, loaded.Off())
	}
	up.Switch = &layer.Switch{
		On:  func(context.Context) error { return loaded.On() },
		Off: func(context.Context) error { return loaded.Off() },
	}
	return up, nil
}

// ProveOff shows that what the last rules deny is not denied, and not seen.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	at, err := c.controls(s)
	if err != nil {
		return nil, err
	}
	return bpf.Off(ctx, name, s, c, c.Around, c.proofs(at))
}
