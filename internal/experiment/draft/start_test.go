package draft_test

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/experiment/draft"
	"tare/internal/layer"
	"tare/internal/test/slow"
	"tare/internal/workload"
)

// suits are workloads. Every layer works with at least one of them, on one of the testbeds.
var suits = []string{"command", "network", "storage", "vault"}

// A first file can be written for each layer and each workload.
func TestStart(t *testing.T) {
	slow.Test(t)
	var workloads []draft.Part
	for _, w := range catalog.Workloads {
		workloads = append(workloads, draft.Part{Name: w.Name, Summary: w.Summary, Example: w.Example, Config: w.New()})
	}
	loads := map[string]bool{}
	for _, l := range catalog.Layers {
		layer := draft.Part{Name: l.Name, Summary: l.Summary, Example: l.Example, Config: l.New()}
		var why error
		for _, w := range workloads {
			for _, testbed := range []string{experiment.TestbedLocal, experiment.TestbedKubernetes} {
				text := draft.Start(layer, w, testbed)
				if _, err := experiment.Load("new.yaml", text, catalog.Kinds()); err == nil {
					loads[l.Name], loads[w.Name] = true, true
				} else if slices.Contains(suits, w.Name) {
					why = err
				}
			}
		}
		if !loads[l.Name] {
			t.Errorf("%s goes with no workload: %v", l.Name, why)
		}
	}
	for _, w := range workloads {
		if !loads[w.Name] {
			t.Errorf("%s goes with no layer", w.Name)
		}
	}
}

// The file lists every parameter with its description.
func TestStartExplains(t *testing.T) {
	l := catalog.Layers[slices.IndexFunc(catalog.Layers, func(k layer.Kind) bool { return k.Name == "seccomp" })]
	w := catalog.Workloads[slices.IndexFunc(catalog.Workloads, func(k workload.Kind) bool { return k.Name == "syscalls" })]
	text := string(draft.Start(draft.Part{Name: l.Name, Summary: l.Summary, Config: l.New()}, draft.Part{Name: w.Name, Summary: w.Summary, Config: w.New()}, "local"))
	for _, want := range []string{"# rules:", "# arguments: false #", "# tests:", "# duration:", "name: seccomp-syscalls"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
