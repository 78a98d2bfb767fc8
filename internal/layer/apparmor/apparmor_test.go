package apparmor

import (
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment/factor"
	"tare/internal/layer"
)

// config returns the layer with the given number of rules.
func with(rules int, match layer.Match, action layer.Action) *config {
	return &config{Rules: factor.Of(rules), Match: factor.Of(match), Action: factor.Of(action)}
}

func TestText(t *testing.T) {
	const base = `profile tare-apparmor-x flags=(attach_disconnected,mediate_deleted) {
  file,
  capability,
  network,
  mount,
  remount,
  umount,
  pivot_root,
  ptrace,
  signal,
  unix,
  dbus,
  change_profile,
  deny /{,**/}.tare-probe-* w,
`
	for _, c := range []struct {
		rules  int
		match  layer.Match
		action layer.Action
		want   string
	}{
		{1, layer.Prefix, layer.Deny, ""},
		{3, layer.Prefix, layer.Deny, "  deny /usr/lib/tare-unused-02/** rwklmx,\n  deny /usr/lib/tare-unused-03/** rwklmx,\n"},
		{2, layer.Suffix, layer.Audit, "  audit /**/tare-unused-02 rwkl,\n"},
		{2, layer.Prefix, layer.Allow, "  /usr/lib/tare-unused-02/** rwkl,\n"},
	} {
		if diff := cmp.Diff(base+c.want+"}\n", with(c.rules, c.match, c.action).text("tare-apparmor-x")); diff != "" {
			t.Error(diff)
		}
	}
}

// pinned are features of a kernel with AppArmor, for hosts whose kernel has none.
const pinned = "/usr/share/apparmor-features/features"

// TestCompiles compiles profiles, which does not need AppArmor in the kernel.
func TestCompiles(t *testing.T) {
	if _, err := exec.LookPath(parser); err != nil {
		t.Skipf("%v (%s)", err, install)
	}
	var args []string
	if enabled() != nil {
		if _, err := os.Stat(pinned); err != nil {
			t.Skip(err)
		}
		args = []string{"--features-file=" + pinned}
	}
	compiled := func(rules int, match layer.Match, action layer.Action) int {
		t.Helper()
		binary, err := newProfile(with(rules, match, action), "x").compile(t.Context(), args...)
		if err != nil {
			t.Fatalf("%s %s %d: %v", match, action, rules, err)
		}
		return len(binary)
	}
	for _, match := range []layer.Match{layer.Prefix, layer.Suffix} {
		for _, action := range []layer.Action{layer.Deny, layer.Audit} {
			if one, many := compiled(1, match, action), compiled(64, match, action); many <= one {
				t.Errorf("%s %s: one rule makes %d bytes, 64 make %d", match, action, one, many)
			}
		}
		compiled(64, match, layer.Allow) // the compiler may find that rules that allow have no effect
	}
	if _, err := (profile{name: "x", text: "profile x { no such rule }"}).compile(t.Context(), args...); err == nil {
		t.Error("nonsense was compiled")
	}
}
