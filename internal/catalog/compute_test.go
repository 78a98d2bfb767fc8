package catalog_test

import (
	"os/exec"
	"strings"
	"testing"

	"tare/examples"
	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/test/fit"
	"tare/internal/test/slow"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
)

// TestRealTimeCompute runs each program of the examples in examples/compute once, and reads its numbers. The
// same command lines are in confidential-compute.yaml, with another image and other durations.
func TestRealTimeCompute(t *testing.T) {
	slow.Test(t)
	site, lines := localtest.Host(t), map[string]bool{}
	for _, name := range exampleNames(t) {
		if !strings.HasPrefix(name, "compute/") {
			continue
		}
		text, err := examples.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "regex:") {
				lines[strings.TrimSpace(line)] = true
			}
		}
		t.Run(name, func(t *testing.T) {
			judged := fit.Machine(t) // some programs compute for a fixed time, and print no result on a slow machine
			x, err := experiment.Load(name, text, catalog.Kinds())
			if err != nil {
				t.Fatal(err)
			}
			e, err := experiment.Expand(x, "test")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range e.Cells {
				for _, p := range c.Workload.Declare().Programs {
					if _, err := exec.LookPath(p.Name); err != nil {
						t.Skipf("%s is not installed (.ci/consumers does): %v", p.Name, err)
					}
				}
				measure, err := c.Workload.(workload.Workload).Prepare(t.Context(), &workload.Trial{Site: site, Raw: workload.Discard, Round: 1})
				if err != nil {
					t.Fatal(err)
				}
				r, err := measure(t.Context())
				if err != nil {
					judged.Errorf("%s: %v", name, err)
				}
				for _, m := range c.Workload.Measures().Metrics {
					if !(r.Values[m.Name] > 0) {
						judged.Errorf("%s is %v", m.Name, r.Values[m.Name])
					}
				}
				t.Logf("%v", r.Values)
			}
		})
	}
	text, err := examples.Files.ReadFile("confidential-compute.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "regex:") && !lines[strings.TrimSpace(line)] {
			t.Errorf("confidential-compute.yaml reads what no example of compute/ does: %s", strings.TrimSpace(line))
		}
	}
}
