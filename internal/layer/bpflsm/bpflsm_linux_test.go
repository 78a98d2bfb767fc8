package bpflsm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/bpf"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m) }

// possible skips the test if this system refuses such programs.
func possible(t *testing.T) {
	t.Helper()
	if f := Kind.Probe(t.Context())[0]; f.Status != testbed.Works {
		t.Skip(f.Detail)
	}
}

func with(rules int, action layer.Action, match layer.Match, like string, hooks ...hook) *config {
	return &config{Rules: factor.Of(rules), Action: factor.Of(action), Match: factor.Of(match), Like: like, Hooks: hooks}
}

func TestProofs(t *testing.T) {
	possible(t)
	for _, c := range []*config{
		with(64, layer.Deny, layer.Prefix, ""),
		with(0, layer.Deny, layer.Prefix, ""),
		with(2, layer.Deny, layer.Suffix, "/etc/passwd"),
		with(8, layer.Audit, layer.Prefix, "/etc/passwd", "file", "network"),
		with(1, layer.Allow, layer.Suffix, "", "process"),
	} {
		t.Run(fmt.Sprintf("%d %s %s %s %v", c.Rules.One(), c.Action.One(), c.Match.One(), c.Like, c.Hooks), func(t *testing.T) { prove(t, c) })
	}
}

func prove(t *testing.T, c *config) {
	run := new(layer.Run)
	here, there := localtest.Host(t), localtest.Host(t)
	up, err := c.Up(t.Context(), run.At(here))
	if err != nil {
		t.Fatal(err)
	}
	wanted := len(c.proofs(lastRuleFiles{}))
	if failed, err := up.Settle(t.Context()); err != nil || len(failed) > 0 {
		t.Errorf("%v, %s", err, layertest.Text(failed))
	}
	if checks, err := up.Before(t.Context(), here); err != nil || len(checks) != wanted || strings.Contains(layertest.Text(checks), "true") {
		t.Errorf("it is switched off: %v\n%s", err, layertest.Text(checks))
	}
	if err := up.Switch.On(t.Context()); err != nil {
		t.Fatal(err)
	}
	checks, err := up.Before(t.Context(), here)
	if err != nil || len(checks) != wanted || strings.Contains(layertest.Text(checks), "false") {
		t.Errorf("on: %v\n%s", err, layertest.Text(checks))
	}
	t.Log("on:\n" + layertest.Text(checks))
	did, err := up.After(t.Context(), layer.Did{})
	if err != nil || len(did) != 1 {
		t.Errorf("%v, %s", err, layertest.Text(did))
	}
	off, err := c.ProveOff(t.Context(), run.At(there))
	if err != nil || len(off) != wanted || strings.Contains(layertest.Text(off), "false") {
		t.Errorf("in an arm without it: %v\n%s", err, layertest.Text(off))
	}
	off, err = c.ProveOff(t.Context(), run.At(here))
	if err != nil || len(off) != wanted || strings.Contains(layertest.Text(off), "true") {
		t.Errorf("on where it must be off: %v\n%s", err, layertest.Text(off))
	}
	if err := up.Switch.Off(t.Context()); err != nil {
		t.Error(err)
	}
	if off, err := c.ProveOff(t.Context(), run.At(here)); err != nil || strings.Contains(layertest.Text(off), "false") {
		t.Errorf("afterwards: %v\n%s", err, layertest.Text(off))
	}
	if err := up.Down(t.Context()); err != nil {
		t.Error(err)
	}
}

// Rules have the length that the BPF program reads, and the last one of each kind is for the prober.
func TestPolicy(t *testing.T) {
	long := lastRuleFiles{"/tmp/" + strings.Repeat("x", 80) + "/bpflsm-read", "/tmp/bpflsm-run"}
	p := with(3, layer.Deny, layer.Suffix, "/usr/bin/make").policy(long)
	want := []string{"/usr/bin/makd", "/usr/bin/makd", strings.Repeat("x", 51) + "/bpflsm-read"}
	want[2] = long.read[len(long.read)-bpf.TextMost:]
	if diff := cmp.Diff(want, p.Files); diff != "" {
		t.Error(diff)
	}
	p = with(2, layer.Deny, layer.Prefix, "").policy(long)
	if diff := cmp.Diff([]string{"/~tare-00/", "/tmp/bpflsm-run"}, p.Programs); diff != "" {
		t.Error(diff)
	}
	if p := with(0, layer.Deny, layer.Prefix, "").policy(long); p.Files != nil || p.Four != nil || len(p.Hooks) != len(hooks) {
		t.Errorf("%+v", p)
	}
}

func TestValidate(t *testing.T) {
	c := with(1, layer.Deny, layer.Prefix, "etc/", "file", "mount", "file")
	want := []experiment.FieldError{{Field: "like", Message: `"etc/" is not the absolute path of a file`}, {Field: "hooks[2]", Message: "file appears twice"}}
	if diff := cmp.Diff(want, c.validate()); diff != "" {
		t.Error(diff)
	}
	if errs := with(1, layer.Deny, layer.Prefix, "/etc/passwd", "file").validate(); errs != nil {
		t.Error(errs)
	}
}
