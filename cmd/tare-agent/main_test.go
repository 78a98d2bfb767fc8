//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/layer/gvisor"
	"tare/internal/testbed"
)

func TestMain(m *testing.M) {
	if os.Getenv("TARE_AGENT_TEST") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// start runs this program as a process of its own.
func start(env string, args ...string) (string, error) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), "TARE_AGENT_TEST=1", env)
	cmd.Stdin = strings.NewReader(`{"echo": "hello"}`)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestCommands(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "bin", "tare-agent")
	if out, err := start("", "install", copied); err != nil || out != "" {
		t.Errorf("install: %v, %s", err, out)
	}
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("installed: %v, %v", info, err)
	}
	if out, err := start("", "facts"); err != nil || !strings.Contains(out, `"kernel":`) {
		t.Errorf("facts: %v, %s", err, out)
	}
	if out, err := start("", "--version"); err != nil || !strings.HasPrefix(out, "tare-agent ") {
		t.Errorf("--version: %v, %s", err, out)
	}
	if out, err := start("TARE_HELPER=wrap"); err != nil || out != "started: hello" {
		t.Errorf("the helper of wrap: %v, %q", err, out)
	}
	for env, args := range map[string][]string{"": {"serv"}, "A=": nil, "TARE_HELPER=no-layer": {"facts"}} {
		if out, err := start(env, args...); err == nil || !strings.HasPrefix(out, "tare-agent: ") {
			t.Errorf("%s %q: %v, %s; want an error", env, args, err, out)
		}
	}
}

// TestHelpers: what may run in a pod is here. The helpers of layers that are for the machine
// that Tare runs on alone are not.
func TestHelpers(t *testing.T) {
	for _, l := range catalog.Layers {
		here := has(l.Name)
		runs := l.New().Declare().Needs.Only != experiment.TestbedLocal && l.Name != gvisor.Kind.Name // a RuntimeClass on clusters
		if want := l.Helper != nil && runs; here != want {
			t.Errorf("layer %s: among the agent's helpers %v, want %v", l.Name, here, want)
		}
	}
	for _, w := range catalog.Workloads {
		for _, h := range w.Helpers {
			if !has(h.Name) {
				t.Errorf("workload %s: %s is not among the agent's helpers", w.Name, h.Name)
			}
		}
	}
}

func has(name string) bool {
	return slices.ContainsFunc(helpers, func(h testbed.Helper) bool { return h.Name == name })
}
