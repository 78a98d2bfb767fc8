package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/testbed"
)

// TestBound: the first exhausted resource is reported, except the one that the workload measures.
func TestBound(t *testing.T) {
	wire := func(of, used float64) testbed.Resource {
		return testbed.Resource{Name: testbed.ResourceWire, Of: of, Used: used, Packets: 100_000, Segments: 100_000}
	}
	lossy := func(r testbed.Resource, dropped, again, timeouts uint64) testbed.Resource {
		r.Dropped, r.Retransmitted, r.Timeouts = dropped, again, timeouts
		return r
	}
	network := testbed.Resource{Name: testbed.ResourceNetwork, Segments: 100_000}
	processors := func(name string, used float64) testbed.Resource {
		return testbed.Resource{Name: name, Of: 4, Used: used}
	}
	for _, c := range []struct {
		name   string
		tests  string
		of     func(arm string, round int) []testbed.Resource
		client time.Duration // the client's CPU time; the server's is 1 s
		want   string        // resource and arms of the warning; "": none
	}{
		{"wire", "server", all(wire(1e9, 0.81), processors("machine", 0.5)), time.Second, "wire"},
		{"wire before processors", "server", all(processors("machine", 0.99), wire(1e9, 0.96)), time.Second, "wire"},
		{"not full", "server", all(wire(1e9, 0.79), processors("machine", 0.89)), time.Second, ""},
		{"a short queue loses", "server", all(lossy(wire(1e9, 0.2), 1000, 0, 0)), time.Second, "wire"},
		{"few losses", "server", all(lossy(wire(1e9, 0.2), 900, 900, 90)), time.Second, ""},
		{"timeouts", "server", all(lossy(wire(1e9, 0.2), 50, 50, 100)), time.Second, "wire"},
		{"what an unlimited wire loses is lost elsewhere", "server", all(lossy(wire(0, 0), 0, 5000, 500)), time.Second, ""},
		{"losses of a cluster", "server", all(lossy(network, 0, 1000, 0)), time.Second, "network"},
		{"what is measured", "network", all(lossy(network, 0, 5000, 500)), 0, ""},
		{"a rate is no network", "network", all(wire(1e9, 0.96)), 0, "wire"},
		{"shared processors", "server", all(processors("machine", 0.95)), time.Second, "machine"},
		{"the server's own", "server", all(processors("machine", 0.95)), 100 * time.Millisecond, ""},
		{"the server's machine", "server", all(processors("server", 0.99), processors("client", 0.2)), 0, ""},
		{"the client's machine", "server", all(processors("server", 0.5), processors("client", 0.9)), 0, "client"},
		{"processors of a disk", "disk", all(processors("machine", 0.95)), 0, "machine"},
		{"nothing is judged", "", all(wire(1e9, 1)), 0, ""},
		{"one arm", "server", func(arm string, _ int) []testbed.Resource {
			return []testbed.Resource{wire(1e9, map[string]float64{"layer": 0.9}[arm])}
		}, 0, "wire layer"},
		{"what a layer changes", "server", func(arm string, _ int) []testbed.Resource {
			return []testbed.Resource{wire(map[string]float64{"plain": 1e9, "control": 1e9, "layer": 1e8}[arm], map[string]float64{"layer": 0.9}[arm])}
		}, 0, ""},
		{"in most trials", "server", func(_ string, round int) []testbed.Resource {
			return []testbed.Resource{wire(1e9, []float64{0.5, 0.9, 0.9}[round%3])}
		}, 0, "wire"},
		{"in some trials", "server", func(_ string, round int) []testbed.Resource {
			return []testbed.Resource{wire(1e9, []float64{0.9, 0.5, 0.5}[round%3])}
		}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := testPlan(6, timeOnly, "layer")
			plan.Cells[0].Tests = c.tests
			trials := testTrials(plan, 6, noisy(3, 0.01, nil))
			for i := range trials {
				trials[i].Resources = c.of(trials[i].Arm, trials[i].Round)
				trials[i].Used = map[string]testbed.Usage{"client": {User: c.client}, "server": {User: time.Second}}
			}
			got := ""
			if first := Analyze(plan, trials, nil).Warnings; len(first) > 0 {
				if b, ok := first[0].Finding.(Bound); ok {
					got = strings.Join(append([]string{b.Resource.Name}, b.Arms...), " ")
				}
			}
			if got != c.want {
				t.Errorf("%q is named, want %q", got, c.want)
			}
		})
	}
}

// all returns the same use of resources for every trial.
func all(list ...testbed.Resource) func(string, int) []testbed.Resource {
	return func(string, int) []testbed.Resource { return list }
}

// TestBoundOfFailures: a resource that made all trials invalid is reported as well.
func TestBoundOfFailures(t *testing.T) {
	plan := testPlan(6, timeOnly, "layer")
	plan.Cells[0].Tests = experiment.TestsServer
	trials := testTrials(plan, 6, noisy(3, 0.01, nil))
	for i := range trials {
		trials[i].Invalid = []journal.Violation{{Rule: "rate"}}
		trials[i].Resources = []testbed.Resource{{Name: testbed.ResourceWire, Of: 1e9, Used: 0.97}}
	}
	if !slices.ContainsFunc(Analyze(plan, trials, nil).Warnings, func(w Warning) bool { return w.Finding.Kind() == "bound" }) {
		t.Error("the wire is not named")
	}
}

// A device at its limit in the file is exhausted, and is what the workload measures.
func TestDisk(t *testing.T) {
	plan := testPlan(6, timeOnly, "layer")
	plan.Cells[0].Tests, plan.Cells[0].Metrics = experiment.TestsDisk, slices.Clone(timeOnly)
	plan.Cells[0].Metrics[0].Cap = 105
	run := Analyze(plan, testTrials(plan, 6, noisy(3, 0.01, nil)), nil)
	if r := run.Cells[0].Resources; len(r) != 3 || r[0].Name != testbed.ResourceDisk || !r[0].Exhausted || !r[0].Tested {
		t.Errorf("%+v", r)
	}
	plan.Cells[0].Metrics[0].Cap, plan.Cells[0].Metrics[0].Burst = 50, 150 // values are about 100
	run = Analyze(plan, testTrials(plan, 6, noisy(3, 0.01, nil)), nil)
	if r := run.Cells[0].Resources; len(r) != 3 || r[0].Of != 150 || r[0].Exhausted {
		t.Errorf("between cap and burst: %+v", r)
	}
	if i := slices.IndexFunc(run.Warnings, func(w Warning) bool { return w.Finding.Kind() == "over-cap" }); i < 0 {
		t.Error("a value above the cap has no warning")
	} else if f := run.Warnings[i].Finding.(OverCap); f.Cap != 50 || f.Burst != 150 {
		t.Errorf("%+v", f)
	}
}
