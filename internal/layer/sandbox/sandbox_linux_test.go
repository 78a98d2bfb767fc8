package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m) }

// working returns the layer of a sandbox, and skips the test if the sandbox does not work here.
func working(t *testing.T, name string) *config {
	t.Helper()
	kinds := Kinds()
	kind := kinds[slices.IndexFunc(kinds, func(k layer.Kind) bool { return k.Name == name })]
	for _, f := range kind.Probe(t.Context()) {
		if f.Status != testbed.Works {
			t.Skipf("%s: %s: %s", f.Status, f.Detail, f.Hint)
		}
	}
	return kind.New().(*config)
}

// around puts a layer up and makes its checks.
func around(t *testing.T, site testbed.Site, l layer.Layer) (*layer.Active, []layer.Check) {
	t.Helper()
	a := layertest.Up(t, l, site)
	return a, append(layertest.Settle(t, a), layertest.On(t, a, site)...)
}

func all(t *testing.T, what string, ok bool, checks []layer.Check) {
	t.Helper()
	if len(checks) == 0 {
		t.Errorf("%s: nothing was shown", what)
	}
	for _, c := range checks {
		if c.OK != ok {
			t.Errorf("%s: %+v", what, c)
		}
	}
}

func TestPresets(t *testing.T) {
	for _, p := range presets {
		t.Run(p.name, func(t *testing.T) {
			c, site := working(t, p.name), localtest.Host(t)
			a, on := around(t, site, c)
			all(t, "on", true, on)
			if a.Uncounted {
				t.Errorf("what a program uses is not counted: %+v", on)
			}
			all(t, "off", true, layertest.Off(t, c, site))
			all(t, "on where it must be off", false, layertest.Off(t, c, layertest.Leaky(site, a)))
			all(t, "taken away", false, layertest.Before(t, a, site))
		})
	}
}

// Each sandbox is shown to be off where another one is on.
func TestBeside(t *testing.T) {
	site := localtest.Host(t)
	for _, p := range presets {
		for _, o := range presets {
			if p.name == o.name {
				continue
			}
			t.Run(o.name+" in an arm with "+p.name, func(t *testing.T) {
				a, _ := around(t, site, working(t, p.name))
				all(t, "off", true, layertest.Off(t, working(t, o.name), layer.WithWrappers(site, a)))
			})
		}
	}
}

// The sandbox has its own root, in which this test's executable does not exist.
func TestRootOfItsOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string][]string{
		"bubblewrap": {"--tmpfs", filepath.Dir(self)},
		"firejail":   {"--private", "--private-tmp"},
	} {
		t.Run(name, func(t *testing.T) {
			c := working(t, name)
			c.Options = options
			a, on := around(t, localtest.Host(t), c)
			all(t, "on", true, on)
			if !a.Hides || strings.Contains(fmt.Sprint(on), "not shown") {
				t.Errorf("handed in as a file %t: %+v", a.Hides, on)
			}
		})
	}
}

// fake returns a layer whose program stands in for docker: it starts its command, and lists one container as a
// leftover.
func fake(t *testing.T) *container {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\ncase $1 in\nrun) while [ $1 != image ]; do shift; done; shift; exec \"$@\";;\n" +
		"ps) cat " + dir + "/left;;\nrm) echo $3 >>" + dir + "/removed; : >" + dir + "/left;;\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, "tare-test-docker"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "left"), []byte("c0ffee\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	r := containers("tare-test-docker", "", true)
	return &container{runner: &r, Image: "image"}
}

// ledger stores undo entries.
type ledger map[string]layer.Undo

func (l ledger) NoteUndo(u layer.Undo) error { l[u.Key] = u; return nil }
func (l ledger) Undone(key string) error     { delete(l, key); return nil }
func (l ledger) one() (only layer.Undo) {
	for _, u := range l {
		only = u
	}
	return only
}
func removed(t *testing.T) (text string) {
	t.Helper()
	path, err := exec.LookPath("tare-test-docker")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "removed"))
	return string(b)
}

// A program that starts no container fails the check, and leftovers are removed.
func TestContainers(t *testing.T) {
	c, site, owed := fake(t), localtest.Host(t), ledger{}
	a, err := c.Up(t.Context(), layer.NewRun(owed).At(site))
	if err != nil {
		t.Fatal(err)
	}
	on, err := a.Before(t.Context(), layer.WithWrappers(site, a))
	if err != nil || !a.Uncounted {
		t.Fatalf("%v, %+v", err, a)
	}
	all(t, "a container that is none", false, slices.DeleteFunc(on, func(c layer.Check) bool { return c.Once }))
	if len(owed) != 1 {
		t.Errorf("%v is owed", owed)
	}
	if err := a.Down(t.Context()); err != nil || len(owed) != 0 || removed(t) != "c0ffee\n" {
		t.Errorf("%v; %v is owed, removed %q", err, owed, removed(t))
	}
}

// A killed run has left a container.
func TestUndo(t *testing.T) {
	c, owed := fake(t), ledger{}
	if _, err := c.Up(t.Context(), layer.NewRun(owed).At(localtest.Host(t))); err != nil {
		t.Fatal(err)
	}
	if err := c.runner.undo(t.Context(), nil, owed.one()); err != nil || removed(t) != "c0ffee\n" {
		t.Errorf("%v; removed %q", err, removed(t))
	}
	if err := c.runner.undo(t.Context(), nil, layer.Undo{How: []byte(`"other"`)}); err == nil {
		t.Error("the record of something else was taken")
	}
}

func TestDaemonAndNetwork(t *testing.T) {
	site := localtest.Network(t, 0, 1500)
	_, err := fake(t).Up(t.Context(), new(layer.Run).At(site))
	if err == nil || !strings.Contains(err.Error(), "outside the networks that Tare creates") {
		t.Error(err)
	}
}
