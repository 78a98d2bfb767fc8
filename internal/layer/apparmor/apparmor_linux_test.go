package apparmor

import (
	"os"
	"strings"
	"testing"

	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m) }

// possible skips the test if this system has no AppArmor.
func possible(t *testing.T) {
	t.Helper()
	if f := Kind.Probe(t.Context())[0]; f.Status != testbed.Works {
		t.Skip(f.Detail)
	}
}

// ledger stores undo entries.
type ledger map[string]layer.Undo

func (l ledger) NoteUndo(u layer.Undo) error { l[u.Key] = u; return nil }
func (l ledger) Undone(key string) error     { delete(l, key); return nil }

// ours lists Tare's loaded profiles.
func ours(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(loaded)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, prefix) {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

func TestProofs(t *testing.T) {
	possible(t)
	site := localtest.Host(t)
	for _, c := range []*config{
		with(1, layer.Prefix, layer.Deny), with(64, layer.Prefix, layer.Deny), with(64, layer.Suffix, layer.Deny), with(8, layer.Prefix, layer.Audit), with(8, layer.Suffix, layer.Allow),
	} {
		owed := ledger{}
		session := layer.NewRun(owed).At(site)
		a, err := c.Up(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		if len(owed) != 1 || len(ours(t)) != 1 {
			t.Errorf("in the ledger: %v; loaded: %v", owed, ours(t))
		}
		there := ours(t)[0]
		if _, err := a.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		on, err := a.Before(t.Context(), layer.WithWrappers(site, a))
		want := "profile (label): " + there + "; outside unconfined: true\nfile made that the profile denies (write:/tmp): EACCES; outside allowed: true"
		if err != nil || layertest.Text(on) != want {
			t.Errorf("on: %v\n%s", err, layertest.Text(on))
		}
		off, err := c.ProveOff(t.Context(), session)
		if err != nil || layertest.Text(off) != "profile (label): unconfined: true\nfile made that the profile denies (write:/tmp): allowed: true" {
			t.Errorf("off: %v\n%s", err, layertest.Text(off))
		}
		allowed(t, layer.WithWrappers(site, a))
		if err := a.Down(t.Context()); err != nil {
			t.Error(err)
		}
		if len(owed) > 0 || len(ours(t)) > 0 {
			t.Errorf("afterwards in the ledger: %v; loaded: %v", owed, ours(t))
		}
		if on, err = a.Before(t.Context(), layer.WithWrappers(site, a)); err != nil || len(on) != 1 || on[0].OK {
			t.Errorf("with the profile gone: %v\n%s", err, layertest.Text(on))
		}
	}
}

// allowed checks that programs in the profile work normally.
func allowed(t *testing.T, site testbed.Site) {
	t.Helper()
	file := t.TempDir() + "/file"
	script := "cat /proc/self/attr/current && echo text >" + file + " && cat " + file + " && (sleep 100 & kill $!)"
	out, err := evidence.Output(t.Context(), site, testbed.Host, testbed.Command{Args: []string{"sh", "-c", script}, Subject: true}, evidence.Limit)
	if err != nil || !strings.HasPrefix(out, prefix) || !strings.HasSuffix(out, " (enforce)\ntext\n") {
		t.Errorf("%q, %v", out, err)
	}
}

// TestBroken checks that a launcher that requests no profile is detected.
func TestBroken(t *testing.T) {
	possible(t)
	site := localtest.Host(t)
	a, err := with(8, layer.Prefix, layer.Deny).Up(t.Context(), new(layer.Run).At(site))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Down(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	on, err := a.Before(t.Context(), layer.WithWrappers(layertest.Broken(site), a))
	if err != nil || !strings.Contains(layertest.Text(on), "unconfined; outside unconfined: false") || !strings.Contains(layertest.Text(on), "allowed; outside allowed: false") {
		t.Errorf("%v\n%s", err, layertest.Text(on))
	}
}

// TestUndo removes the profile of a killed run.
func TestUndo(t *testing.T) {
	possible(t)
	site, owed := localtest.Host(t), ledger{}
	if _, err := with(8, layer.Prefix, layer.Deny).Up(t.Context(), layer.NewRun(owed).At(site)); err != nil {
		t.Fatal(err)
	}
	for _, u := range owed {
		for range 2 { // the second call has nothing to do
			if err := undo(t.Context(), site, u); err != nil {
				t.Error(err)
			}
		}
	}
	if len(owed) != 1 || len(ours(t)) > 0 {
		t.Errorf("owed %v; loaded: %v", owed, ours(t))
	}
	if err := undo(t.Context(), site, layer.Undo{How: []byte(`"docker-default"`)}); err == nil || err.Error() != "the record of apparmor is not its own" {
		t.Error(err)
	}
}

// TestKilledProbe checks that a probe removes the leftover of a probe that was killed.
func TestKilledProbe(t *testing.T) {
	possible(t)
	left := newProfile(with(1, layer.Prefix, layer.Deny), probing+"4194305") // no process has this id
	if err := left.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := probe(t.Context())[0]; f.Status != testbed.Works || len(ours(t)) > 0 {
		t.Errorf("%+v; loaded: %v", f, ours(t))
	}
}

// TestRefused checks the error on a kernel without AppArmor.
func TestRefused(t *testing.T) {
	if enabled() == nil {
		t.Skip("this machine has AppArmor")
	}
	_, err := with(8, layer.Prefix, layer.Deny).Up(t.Context(), new(layer.Run).At(localtest.Host(t)))
	if err == nil || !strings.Contains(err.Error(), "AppArmor") {
		t.Error(err)
	}
	found := probe(t.Context())
	if len(found) != 1 || found[0].Status == testbed.Works || found[0].Hint == "" {
		t.Errorf("%+v", found)
	}
}
