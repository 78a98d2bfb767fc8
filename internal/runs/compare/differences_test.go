package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/machine"
)

func TestDifferences(t *testing.T) {
	b := wireguard("b", 1.05, 2)
	b.change = func(p *experiment.Plan, e *machine.Environment) {
		e.Kernel, e.KernelBuild, e.CPU.Model, e.CPU.Flags = "6.6.1", "#2", "EPYC 9V74", []string{"aes", "vaes"}
		e.Tools[0].Version, e.Instance = "iperf 3.17", "DC4as_v5"
		errors := quantity.Percent(0.01)
		p.Version, p.Rounds, p.Limits.Errors = "0.4.0", 20, &errors
		p.Arms[2].Layers = []experiment.PlannedLayer{{Kind: "wireguard", Config: struct {
			Implementation string   `json:"implementation"`
			Allowed        []string `json:"allowed"`
		}{"userspace", []string{"a", "b"}}}, {Kind: "seccomp"}}
		p.Cells[0].Config = map[string]any{"duration": "10s"}
		p.Cells[0].Testbed = map[string]any{"link": map[string]any{"mtu": 9000, "rate": "1Gbit"}}
	}
	r := comparing(t, Options{}, wireguard("a", 1.05, 1).run(t), b.run(t))
	var got []string
	for _, p := range r.Differences {
		minor := ""
		if p.Minor {
			minor = " (minor)"
		}
		got = append(got, fmt.Sprintf("%s%s, %s: %s", p.Group, minor, p.Path, strings.Join(p.Values, " → ")))
	}
	want := []string{
		"layers, wireguard: layers: wireguard → wireguard, seccomp",
		"layers, wireguard: wireguard.allowed:  → a, b",
		"layers, wireguard: wireguard.implementation: kernel → userspace",
		"machine, kernel: 6.1.0 → 6.6.1",
		"machine, processor: EPYC 7763 → EPYC 9V74",
		"machine, instance type:  → DC4as_v5",
		"testbed, link.mtu: 1500 → 9000",
		"workloads, network: duration: 3s → 10s",
		"tools, iperf3: iperf 3.12 → iperf 3.17",
		"tools, Tare: 0.3.0 → 0.4.0",
		"design, limit of errors: none → 1%",
		"machine (minor), kernel build: #1 → #2",
		"machine (minor), processor flags: aes avx2 → aes vaes",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	same := map[string]string{}
	for _, p := range r.Same {
		same[string(p.Group)+", "+p.Path] = p.Values[0]
	}
	for path, value := range map[string]string{"testbed, link.rate": "1Gbit", "testbed, kind": "local", "machine, memory": "17179869184",
		"design, confidence": "95%", "design, rounds": "20"} {
		if same[path] != value {
			t.Errorf("the same: %s is %q, want %q", path, same[path], value)
		}
	}
	if _, ok := same["design, seed"]; ok {
		t.Error("the seed counts as a property")
	}
	if o := r.Observation; o.Machines != MachinesDiffer || !slices.Equal(o.Differing, []string{"kernel", "processor", "instance type"}) {
		t.Errorf("%+v", o)
	}
}

// If trials ran on clusters, the nodes are compared, and not the machine on which Tare was started.
func TestClustersDiffer(t *testing.T) {
	on := func(kernel, laptop string) func(*experiment.Plan, *machine.Environment) {
		return func(_ *experiment.Plan, e *machine.Environment) {
			e.CPU.Model = laptop
			e.Clusters = []machine.Cluster{{UID: "u", Version: "v1.34.4", Nodes: []machine.Node{{Name: "n" + kernel, Kernel: kernel}}}}
		}
	}
	a, b := wireguard("a", 1.05, 1), wireguard("b", 1.05, 2)
	a.change, b.change = on("6.8", "laptop A"), on("6.11", "laptop B")
	r := comparing(t, Options{}, a.run(t), b.run(t))
	want := []Property{
		{Group: Machine, Path: "kernel of the nodes", Values: []string{"6.8", "6.11"}},
		{Group: Machine, Path: "processor", Values: []string{"laptop A", "laptop B"}, Minor: true},
	}
	if !sameProperties(r.Differences, want) || r.Differences[0].Minor || !r.Differences[1].Minor {
		t.Errorf("differences %+v, want %+v", r.Differences, want)
	}
}

// The two runs differ only in their trials.
func TestNothingDiffers(t *testing.T) {
	r := comparing(t, Options{}, wireguard("a", 1.05, 1).run(t), wireguard("b", 1.05, 2).run(t))
	if len(r.Differences) != 0 || len(r.Same) < 20 || len(r.Unknown) != 0 {
		t.Errorf("differences %v, %d the same, unknown %v", r.Differences, len(r.Same), r.Unknown)
	}
}

func TestNoRecord(t *testing.T) {
	in := []Input{wireguard("a", 1.05, 1).run(t), wireguard("b", 1.05, 2).run(t), wireguard("c", 1.05, 3).run(t)}
	in[1].Run.Environment = nil
	r := comparing(t, Options{}, in...)
	if want := []analysis.Finding{UnrecordedMachines{Runs: []int{2}}}; cmp.Diff(want, r.Unknown) != "" {
		t.Errorf("unknown: %+v", r.Unknown)
	}
	if len(r.Differences) != 0 { // the two runs with a record are the same
		t.Errorf("differences %v", r.Differences)
	}
}

func TestFacts(t *testing.T) {
	imported := &experiment.Import{Arms: []experiment.ImportedArm{
		{Name: "aks", Facts: map[string][]string{"kernel": {"5.15"}, "workers": {"10"}, "pod": {"1", "2", "3", "4", "5", "6"}}},
		{Name: "gke", Facts: map[string][]string{"kernel": {"5.10"}, "workers": {"10"}}},
	}}
	want := map[string]string{"kernel": "aks: 5.15; gke: 5.10", "workers": "10", "pod": "1, 2, 3, 4 and 2 more"}
	if d := cmp.Diff(want, factsOf(imported)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestFlatten(t *testing.T) {
	var deep any = "bottom"
	for range 40 {
		deep = map[string]any{"x": deep}
	}
	for _, c := range []struct {
		in   any
		want map[string]string
	}{
		{nil, map[string]string{"": ""}},
		{map[string]any{"a": map[string]any{"b": 1.5, "c": nil}, "d": []any{1, "x", true}}, map[string]string{"a.b": "1.5", "a.c": "", "d": "1, x, true"}},
		{map[string]any{"l": []any{map[string]any{"k": "v"}, "w"}}, map[string]string{"l.1.k": "v", "l.2": "w"}},
		{make(chan int), map[string]string{}}, // cannot be JSON
	} {
		if d := cmp.Diff(c.want, Flatten(c.in)); d != "" {
			t.Errorf("%v: (-want +got)\n%s", c.in, d)
		}
	}
	if got := Flatten(deep); len(got) != 1 {
		t.Errorf("a deep document has %d leaves", len(got))
	}
}
