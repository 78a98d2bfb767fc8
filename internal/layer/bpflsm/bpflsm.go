// Package bpflsm attaches BPF programs to hooks of the Linux security modules (BPF LSM) around the subjects. Their
// rules are of the kinds that vArmor has: on opening files, executing programs, connecting sockets, reading and tracing
// processes, mounting, and capabilities.
//
//   - bpflsm: {rules: [0, 1, 2, 4, 8, 64]}
//   - bpflsm: {rules: [1, 8, 64], hooks: [file], like: /usr/bin/make}
//
// The hooks file, process and mount compare a path (mount: its source) with a list of beginnings or ends of paths. The
// hook network compares a connection with a list of addresses and ports. The hooks ptrace and capability make one
// comparison. Only the last rule of each kind matches something: the prober's action. The cost depends on the number of
// texts, and on how many bytes of a text agree with a program's path. With like: PATH, all texts but the last are PATH
// with another last byte.
//
// The kernel calls the hooks for every process of the machine. Even outside the arm's cgroup, where a hook returns at
// once, this costs some time. The hooks are therefore attached only during the trials of their arm (layer.Switch), and
// these trials cannot be cut into slices. With rules: 0, the overhead is the cost of the hooks themselves.
//
// The layer needs root, and Linux 5.17 with bpf among its security modules (/sys/kernel/security/lsm).
package bpflsm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/bpf"
	"tare/internal/lists"
	"tare/internal/testbed"
)

const name = "bpflsm"

type hook string // a kind of rules, named as in vArmor

func (hook) Values() []string {
	return lists.Map(hooks, func(h hookRules) string { return h.name })
}

type config struct {
	Rules  factor.Levels[int]          `yaml:"rules" json:"rules" min:"0" max:"64" doc:"number of rules of each kind; with 0 the hooks are attached without rules"`
	Hooks  []hook                      `yaml:"hooks" json:"hooks,omitempty" doc:"hooks to attach; absent: file, process, network, ptrace, mount and capability"`
	Action factor.Levels[layer.Action] `yaml:"action" json:"action" doc:"action of a rule: deny, audit (allow and count) or allow"`
	Match  factor.Levels[layer.Match]  `yaml:"match" json:"match" enum:"prefix,suffix" doc:"part of a path that a rule matches: prefix or suffix"`
	Like   string                      `yaml:"like" json:"like,omitempty" doc:"absolute path of a file that programs open or execute: rules on paths differ from it only in the last byte, so that each is compared to its end; if absent, they differ in one of the first bytes"`
	Around layer.Side                  `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "BPF programs at hooks of the Linux security modules, with a given number of rules of each kind",
	New: func() layer.Layer {
		return &config{Rules: factor.Of(8), Action: factor.Of(layer.Deny), Match: factor.Of(layer.Prefix)}
	},
	Probe: bpf.Works(name, &config{Rules: factor.Of(bpf.Most), Action: factor.Of(layer.Deny), Match: factor.Of(layer.Prefix)}),
}

// active returns an error if bpf is not among the kernel's security modules: the programs are then never called. nil if
// the list is unreadable.
func active() error {
	text, err := os.ReadFile("/sys/kernel/security/lsm")
	list := strings.TrimSpace(string(text))
	if err != nil || slices.Contains(strings.Split(list, ","), "bpf") {
		return nil
	}
	return fmt.Errorf("bpf is not among the security modules of this kernel (%s): start it with lsm=%s,bpf", list, list)
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, Needs: c.Around.Needs(experiment.TestbedLocal), Elsewhere: bpf.Elsewhere, ProvesBeside: true}
}

func (c *config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if c.Like != "" && (!filepath.IsAbs(c.Like) || filepath.Clean(c.Like) != c.Like || c.Like == "/") {
		errs.Add("like", "%q is not the absolute path of a file", c.Like)
	}
	for i, h := range c.Hooks {
		if slices.Contains(c.Hooks[:i], h) {
			errs.Add(fmt.Sprintf("hooks[%d]", i), "%s appears twice", h)
		}
	}
	return errs
}

type lastRuleFiles struct{ read, run string } // paths of two files that the last rules match: one to read, one to run

type hookRules struct {
	name  string
	index int
	try   func(lastRuleFiles, int) string // returns the action that the last of n rules matches, in the prober's words
}

var hooks = []hookRules{
	{"file", bpf.FileOpen, func(at lastRuleFiles, _ int) string { return "open:" + at.read }},
	{"process", bpf.Exec, func(at lastRuleFiles, _ int) string { return "exec:" + at.run }},
	{"network", bpf.Connect, func(_ lastRuleFiles, n int) string {
		_, _, try := bpf.Unused(n, bpf.Early)
		return try
	}},
	{"ptrace", bpf.Ptrace, func(lastRuleFiles, int) string { return "ptrace" }},
	{"mount", bpf.Mount, func(_ lastRuleFiles, n int) string { return "mount:" + source(max(n-1, 0)) }},
	{"capability", bpf.Capable, func(lastRuleFiles, int) string { return "alarm-timer" }},
}

func source(i int) string { return fmt.Sprintf("tare-source-%02d", i) }

// rare is the set of the capabilities that the rules deny. Programs under test do not use them. The prober uses one:
// its timer needs CAP_WAKE_ALARM.
const rare = 1<<20 | 1<<32 | 1<<33 | 1<<36 | 1<<35 // CAP_SYS_PACCT, MAC_OVERRIDE, MAC_ADMIN, BLOCK_SUSPEND, WAKE_ALARM

func (c *config) proofs(at lastRuleFiles) (list []bpf.Hook) {
	n := c.Rules.One()
	for _, h := range hooks {
		if len(c.Hooks) == 0 || slices.Contains(c.Hooks, hook(h.name)) {
			list = append(list, bpf.Hook{Name: h.name, Index: h.index, Try: h.try(at, n), Match: n > 0, Deny: n > 0 && c.Action.One() == layer.Deny})
		}
	}
	return list
}

func (c *config) policy(at lastRuleFiles) bpf.Policy {
	n := c.Rules.One()
	p := bpf.Policy{Rules: n, Action: c.Action.One(), Suffix: c.Match.One() == layer.Suffix, Capabilities: rare,
		Hooks: lists.Map(c.proofs(at), func(h bpf.Hook) int { return h.Index })}
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

// unused returns the text of path rule i, such as "/~tare-01/". No program's path begins with the text (with Suffix:
// ends with it).
func (c *config) unused(i int) string {
	switch {
	case c.Like != "":
		text := []byte(c.cut(c.Like))
		text[len(text)-1] ^= 1
		return string(text)
	case c.Match.One() == layer.Suffix:
		return fmt.Sprintf("~tare-%02d", i)
	}
	return fmt.Sprintf("/~tare-%02d/", i)
}

// cut shortens a path to the TextMost bytes that a rule compares: the last bytes with Suffix, otherwise the first.
func (c *config) cut(text string) string {
	over := max(len(text)-bpf.TextMost, 0)
	if c.Match.One() == layer.Suffix {
		return text[over:]
	}
	return text[:len(text)-over]
}

func (c *config) createFiles(s *layer.Session) (at lastRuleFiles, err error) {
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
	at = lastRuleFiles{filepath.Join(dir, "bpflsm-read"), filepath.Join(dir, "bpflsm-run")}
	if longest := max(len(at.read), len(at.run)); longest > bpf.TextMost && c.Match.One() == layer.Prefix {
		return at, fmt.Errorf("the path %s is longer than the %d bytes of a rule: set TMPDIR to a directory with a shorter path", at.read, bpf.TextMost)
	}
	for _, file := range []string{at.read, at.run} { // executing the file always fails, since it is no program
		err = errors.Join(err, os.WriteFile(file, []byte("tare"), 0o755), os.Chmod(file, 0o755))
	}
	return at, err
}

// Up loads the programs. The layer's Switch attaches them.
func (c *config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	group, err := bpf.Group(s, c.Around)
	if err != nil {
		return nil, err
	}
	at, err := c.createFiles(s)
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
	g := &bpf.Programs{Layer: name, Loaded: loaded, Hooks: c.proofs(at), Places: c.Around.Places(s)}
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

// ProveOff shows that the actions of the last rules are neither denied nor counted.
func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	at, err := c.createFiles(s)
	if err != nil {
		return nil, err
	}
	return bpf.Off(ctx, name, s, c, c.Around, c.proofs(at))
}
