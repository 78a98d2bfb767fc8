package accounting

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/agent/cgroup"
)

var epoch = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// seconds is a duration that is printed in a readable form.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// at is a reading, at a given second, by the agent of a node with two CPUs. The argument times has the times of user
// and system, of interrupts, of steal, and of waiting tasks.
func at(second float64, bootID string, times [4]float64, pods ...cgroup.Usage) agent.Counters {
	return agent.Counters{BootID: bootID, Pods: pods, Totals: machine.Totals{Time: epoch.Add(seconds(second)), CPUs: 2, Load: second,
		Busy: seconds(times[0] + times[1]), Interrupts: seconds(times[1]), Steal: seconds(times[2]), Waiting: seconds(times[3])}}
}

// cgroupOf is the usage of a pod's cgroups.
func cgroupOf(uid string, cpu float64, throttled int) cgroup.Usage {
	return cgroup.Usage{Pod: uid, CPU: seconds(cpu), WorkingSet: 100, Throttled: throttled}
}

func readings(before, after map[string]agent.Counters) (*reading, *reading) {
	return &reading{at: epoch, nodes: before}, &reading{at: epoch.Add(10 * time.Second), nodes: after}
}

var (
	clientAt = podRef{uid: "c", node: "n1"}
	serverAt = podRef{uid: "s", node: "n2"}
)

func TestConditions(t *testing.T) {
	type nodes = map[string]agent.Counters
	nodePods := []podRef{{uid: "h1", node: "n1"}, {uid: "h2", node: "n2"}}
	for _, c := range []struct {
		name          string
		before, after nodes
		s             sampledPods
		want          machine.Conditions
	}{
		{
			name: "two machines: the worse one counts, busy time is that of both",
			before: nodes{
				"n1": at(0, "b1", [4]float64{100, 10, 1, 0}, cgroupOf("c", 50, 1), cgroupOf("h1", 1, 0)),
				"n2": at(0, "b2", [4]float64{200, 20, 2, 0}, cgroupOf("s", 60, 2), cgroupOf("h2", 1, 0))},
			after: nodes{
				"n1": at(10, "b1", [4]float64{110, 11, 1, 1}, cgroupOf("c", 57, 1), cgroupOf("h1", 2, 0)),  // 10 s user, 1 s irq, 8 s own
				"n2": at(10, "b2", [4]float64{212, 24, 3, 5}, cgroupOf("s", 64, 5), cgroupOf("h2", 1, 0))}, // 12 s user, 4 s irq, 4 s own
			s:    sampledPods{site: []podRef{clientAt, serverAt}, nodePods: nodePods, onNode: true},
			want: machine.Conditions{ForeignCPU: 8.0 / 20, Steal: 1.0 / 20, KernelCPU: 4.0 / 20, Busy: 27 * time.Second, CPUPressure: 0.5, Throttled: 3, Load: 10},
		},
		{
			name: "two nodes of one kernel: counted once, with the pods of both",
			before: nodes{
				"n1": at(0, "b", [4]float64{100, 10, 1, 0}, cgroupOf("c", 50, 0), cgroupOf("h1", 1, 0)),
				"n2": at(0, "b", [4]float64{100, 10, 1, 0}, cgroupOf("s", 60, 0), cgroupOf("h2", 1, 0))},
			after: nodes{
				"n1": at(10, "b", [4]float64{112, 12, 2, 1}, cgroupOf("c", 57, 0), cgroupOf("h1", 2, 0)),
				"n2": at(10, "b", [4]float64{112, 12, 2, 1}, cgroupOf("s", 61, 0), cgroupOf("h2", 2, 0))},
			s:    sampledPods{site: []podRef{clientAt, serverAt}, nodePods: nodePods, onNode: true},
			want: machine.Conditions{ForeignCPU: 2.0 / 20, Steal: 1.0 / 20, KernelCPU: 2.0 / 20, Busy: 14 * time.Second, CPUPressure: 0.1, Load: 10},
		},
		{
			name:   "one node with both pods, and a component that works for them",
			before: nodes{"n1": at(0, "b", [4]float64{0, 0, 0, 0}, cgroupOf("c", 0, 0), cgroupOf("s", 0, 0), cgroupOf("h1", 0, 0), cgroupOf("agent", 5, 0))},
			after:  nodes{"n1": at(10, "b", [4]float64{10, 0, 0, 0}, cgroupOf("c", 3, 0), cgroupOf("s", 3, 0), cgroupOf("h1", 0, 0), cgroupOf("agent", 8, 0))},
			s: sampledPods{site: []podRef{clientAt, {uid: "s", node: "n1"}}, nodePods: nodePods[:1], onNode: true,
				observed: map[string][]podRef{"a": {{uid: "agent", node: "n1"}}, "same pod": {{uid: "agent", node: "n1"}}}},
			want: machine.Conditions{ForeignCPU: 1.0 / 20, Busy: 10 * time.Second, Load: 10},
		},
		{
			name:   "a pod that cannot be read: foreign time is not told",
			before: nodes{"n1": at(0, "b", [4]float64{0, 0, 0, 0}, cgroupOf("c", 0, 0), cgroupOf("h1", 0, 0)), "n2": at(0, "b2", [4]float64{}, cgroupOf("h2", 0, 0))},
			after:  nodes{"n1": at(10, "b", [4]float64{10, 0, 0, 0}, cgroupOf("c", 3, 0), cgroupOf("h1", 0, 0)), "n2": at(10, "b2", [4]float64{}, cgroupOf("h2", 0, 0))},
			s:      sampledPods{site: []podRef{clientAt, serverAt}, nodePods: nodePods, onNode: true},
			want:   machine.Conditions{ForeignCPU: -1, Busy: 10 * time.Second, Throttled: -1, Load: 10},
		},
		{
			name:   "more own time than the machine's: ticks; never negative",
			before: nodes{"n1": at(0, "", [4]float64{0, 0, 0, 0}, cgroupOf("c", 0, 0))},
			after:  nodes{"n1": at(10, "", [4]float64{5, 0, 0, 0}, cgroupOf("c", 5.01, 0))},
			s:      sampledPods{site: []podRef{clientAt}, onNode: true},
			want:   machine.Conditions{Busy: 5 * time.Second, Load: 10},
		},
		{
			name:   "counters that went back",
			before: nodes{"n1": at(0, "b", [4]float64{50, 40, 30, 20}, cgroupOf("c", 9, 7))},
			after:  nodes{"n1": at(10, "b2", [4]float64{5, 0, 0, 0}, cgroupOf("c", 2, 0))},
			s:      sampledPods{site: []podRef{clientAt}, onNode: true},
			want:   machine.Conditions{Load: 10},
		},
		{
			name:   "no pressure told",
			before: nodes{"n1": at(0, "b", [4]float64{0, 0, 0, -1}, cgroupOf("c", 0, 0))},
			after:  nodes{"n1": at(10, "b", [4]float64{0, 0, 0, -1}, cgroupOf("c", 0, 0))},
			s:      sampledPods{site: []podRef{clientAt}, onNode: true},
			want:   machine.Conditions{CPUPressure: -1, Load: 10},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := between(readings(c.before, c.after))(c.s)
			if d := cmp.Diff(c.want, got.Conditions, cmpopts.EquateApprox(0, 1e-9)); d != "" {
				t.Errorf("conditions (-want +got):\n%s", d)
			}
		})
	}
}

// If the node reports the CPU time of all its processes, kernel threads do not count as foreign programs: they may
// encrypt for the trial.
func TestConditionsWithoutKernelThreads(t *testing.T) {
	b, a := readings(map[string]agent.Counters{"n1": at(0, "b", [4]float64{0, 0, 0, 0}, cgroupOf("c", 0, 0))},
		map[string]agent.Counters{"n1": at(10, "b", [4]float64{15, 1, 0, 0}, cgroupOf("c", 4, 0))}) // 15 s, of which 4 s are the pod's
	s := sampledPods{site: []podRef{clientAt}, onNode: true}
	if c := sample(b, a, s).Conditions; c.ForeignCPU != 11.0/20 || c.KernelCPU != 1.0/20 {
		t.Errorf("not told: foreign %v, kernel %v", c.ForeignCPU, c.KernelCPU)
	}
	for node, r := range map[string]*reading{"before": b, "after": a} {
		c := r.nodes["n1"]
		c.Grouped = new(map[string]time.Duration{"before": 100 * time.Second, "after": 106 * time.Second}[node])
		r.nodes["n1"] = c
	}
	if c := sample(b, a, s).Conditions; c.ForeignCPU != 2.0/20 || c.KernelCPU != 10.0/20 || c.Busy != 16*time.Second {
		t.Errorf("told: foreign %v, kernel %v, busy %v", c.ForeignCPU, c.KernelCPU, c.Busy)
	}
}

// With accounting: container the agents in the pods read the CPU time of their own containers, if the runtime shows
// it.
func TestConditionsInContainer(t *testing.T) {
	for _, c := range []struct {
		name    string
		server  *cgroup.Usage // of the second reading
		foreign float64
		limited int
	}{
		{"told", &cgroup.Usage{CPU: seconds(4), Throttled: 2}, 3.0 / 20, 2},
		{"not told by one pod", nil, -1, -1},
		{"a kernel that cannot throttle", &cgroup.Usage{CPU: seconds(4), Throttled: -1}, 3.0 / 20, -1},
	} {
		b := &reading{at: epoch, nodes: map[string]agent.Counters{"n1": at(0, "b", [4]float64{}), "n2": at(0, "b", [4]float64{})},
			own: map[string]*cgroup.Usage{"c": {}, "s": {}, "h1": {}}}
		a := &reading{at: epoch.Add(10 * time.Second), nodes: map[string]agent.Counters{"n1": at(10, "b", [4]float64{10, 0, 0, 0}), "n2": at(10, "b", [4]float64{10, 0, 0, 0})},
			own: map[string]*cgroup.Usage{"c": {CPU: seconds(2)}, "h1": {CPU: seconds(1)}}}
		if c.server != nil {
			a.own["s"] = c.server
		}
		got := between(b, a)(sampledPods{site: []podRef{clientAt, serverAt}, nodePods: []podRef{{uid: "h1", node: "n1"}}})
		if got.Conditions.ForeignCPU != c.foreign || got.Sidecars != nil {
			t.Errorf("%s: foreign %v, beside %v, want %v and nothing", c.name, got.Conditions.ForeignCPU, got.Sidecars, c.foreign)
		}
		if got.Conditions.Throttled != c.limited {
			t.Errorf("%s: throttled %d, want %d", c.name, got.Conditions.Throttled, c.limited)
		}
	}
}

func TestObserved(t *testing.T) {
	before := map[string]agent.Counters{
		"n1": at(0, "b1", [4]float64{}, cgroupOf("a1", 100, 0), cgroupOf("old", 7, 0), cgroupOf("reset", 50, 0)),
		"n2": at(0, "b2", [4]float64{}, cgroupOf("a2", 200, 0)),
	}
	after := map[string]agent.Counters{
		"n1": at(10, "b1", [4]float64{}, cgroupOf("a1", 101, 0), cgroupOf("new", 3, 0), cgroupOf("reset", 2, 0), cgroupOf("late", 900, 0)),
		"n2": at(12, "b2", [4]float64{}, cgroupOf("a2", 202, 0)),
	}
	on := func(node string, uids ...string) (list []podRef) {
		for _, uid := range uids {
			list = append(list, podRef{uid: uid, node: node, started: epoch.Add(-time.Hour)})
		}
		return list
	}
	began := func(second float64) []podRef {
		return []podRef{{uid: "new", node: "n1", started: epoch.Add(seconds(second))}}
	}
	for _, c := range []struct {
		name string
		pods []podRef
		want *testbed.Observed // nil: missing
	}{
		{"on two nodes", append(on("n1", "a1"), on("n2", "a2")...), &testbed.Observed{CPU: 3 * time.Second, Wall: 10 * time.Second, Memory: 200}},
		{"restarted: what the new pod used", began(4), &testbed.Observed{CPU: 3 * time.Second, Wall: 10 * time.Second, Memory: 100}},
		{"started in the second of the first reading", began(0), &testbed.Observed{CPU: 3 * time.Second, Wall: 10 * time.Second, Memory: 100}},
		{"there before, and not read then", on("n1", "late"), nil},
		{"counter that went back", on("n1", "reset"), &testbed.Observed{CPU: 2 * time.Second, Wall: 10 * time.Second, Memory: 100}},
		{"one of two cannot be read", on("n1", "a1", "unreadable"), nil},
		{"beside a pod that waits, and one that ends", append(on("n1", "a1"), podRef{uid: "w", node: "n1", waiting: true}, podRef{uid: "e", node: "n1", ending: true}),
			&testbed.Observed{CPU: time.Second, Wall: 10 * time.Second, Memory: 100}},
		{"only a pod that waits", []podRef{{uid: "w", node: "n1", waiting: true}}, nil},
		{"a pod that waits on a node without an accounting pod", append(on("n1", "a1"), podRef{uid: "w", node: "n3", waiting: true}), nil},
		{"on a node without an accounting pod", on("n3", "a1"), nil},
		{"no pods", nil, nil},
	} {
		b, a := readings(before, after)
		a.nodes["n2"] = agent.Counters{Totals: machine.Totals{Time: epoch.Add(10 * time.Second), CPUs: 2}, BootID: "b2", Pods: after["n2"].Pods}
		got := between(b, a)(sampledPods{observed: map[string][]podRef{"x": c.pods}}).Observed
		o, ok := got["x"]
		if ok != (c.want != nil) || ok && o != *c.want {
			t.Errorf("%s: %+v (told: %v), want %+v", c.name, o, ok, c.want)
		}
	}
}

func TestWall(t *testing.T) {
	for _, c := range []struct {
		there float64 // seconds by the node's clock
		want  time.Duration
	}{{10, 10 * time.Second}, {10.2, seconds(10.2)}, {9.5, seconds(9.5)}, {3600, 10 * time.Second}, {-5, 10 * time.Second}} {
		b, a := readings(map[string]agent.Counters{"n1": at(0, "", [4]float64{})}, map[string]agent.Counters{"n1": at(c.there, "", [4]float64{})})
		if got := wallTime(b, a, "n1"); got != c.want {
			t.Errorf("%v s by the node's clock: %v, want %v", c.there, got, c.want)
		}
	}
}

// between returns the sample between two readings.
func between(before, after *reading) func(sampledPods) testbed.Sample {
	return func(s sampledPods) testbed.Sample { return sample(before, after, s) }
}
