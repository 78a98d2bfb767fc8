package accounting

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/agent/cgroup"
)

func TestMissing(t *testing.T) {
	r := &reading{
		nodes: map[string]agent.Counters{
			"n1": {Pods: []cgroup.Usage{{Pod: "c"}, {Pod: "kernel", Throttled: -1}}, Grouped: new(time.Second)},
			"n2": {Pods: []cgroup.Usage{{Pod: "d"}}},
		},
		own: map[string]*cgroup.Usage{"plain": {}, "h": {}},
	}
	plain := podRef{uid: "plain", node: "n1"}
	site := func(arm string, s sampledPods) func(*Missing) { return func(g *Missing) { g.inspect(r, s, arm) } }
	foreign, throttling, sidecars := "limits.foreignCPU is applied to no arm", "limits.throttling is applied to no arm", "the metrics of CPU time of the whole and of the layer are missing in all arms"
	for _, c := range []struct {
		name  string
		sites []func(*Missing)
		want  []string // parts of one note each
	}{
		{"all told", []func(*Missing){site("a", sampledPods{site: []podRef{clientAt}, onNode: true})}, nil},
		{"not the kernel's threads", []func(*Missing){site("a", sampledPods{site: []podRef{{uid: "d", node: "n2"}}, onNode: true})}, []string{threadsNote}},
		{"a cgroup not found", []func(*Missing){site("a", sampledPods{site: []podRef{clientAt, serverAt}, onNode: true})},
			[]string{foreign + ": the CPU time of other programs is unknown for arm a (the cgroups of its pods are not found on node n2)", throttling}},
		{"a sandbox beside arms that tell", []func(*Missing){
			site("base", sampledPods{site: []podRef{plain}}), site("gvisor", sampledPods{site: []podRef{serverAt}}), site("kata", sampledPods{site: []podRef{serverAt}})},
			[]string{foreign + ": the CPU time of other programs is unknown for arms gvisor, kata (the container runtime does not show the usage of its pods; accounting: node may)", throttling}},
		{"a counting pod that does not tell", []func(*Missing){site("a", sampledPods{site: []podRef{plain}, nodePods: []podRef{{uid: "x", node: "n1"}}})}, []string{foreign}},
		{"a kernel that cannot throttle", []func(*Missing){site("a", sampledPods{site: []podRef{{uid: "kernel", node: "n1"}}, onNode: true})}, []string{throttling}},
		{"a sidecar", []func(*Missing){site("base", sampledPods{site: []podRef{plain}}), site("mesh", sampledPods{site: []podRef{plain}, sidecars: []string{"istio-proxy"}})},
			[]string{foreign + ": the CPU time of other programs is unknown for arm mesh (beside the programs there is istio-proxy, which is not counted; accounting: node counts it)", throttling, sidecars}},
		{"a sidecar counted on the node", []func(*Missing){site("mesh", sampledPods{site: []podRef{clientAt}, sidecars: []string{"istio-proxy"}, onNode: true})}, nil},
		{"a sidecar that is not found on the node", []func(*Missing){site("mesh", sampledPods{site: []podRef{serverAt}, sidecars: []string{"istio-proxy"}, onNode: true})}, []string{foreign, throttling, sidecars}},
	} {
		var g Missing
		for _, look := range c.sites {
			look(&g)
		}
		got := g.Notes()
		ok := len(got) == len(c.want)
		for i := range min(len(got), len(c.want)) {
			ok = ok && strings.HasPrefix(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s: notes %q, want %q", c.name, got, c.want)
		}
	}
}

// A value that is unknown in one arm is left out in the trials of all arms. A value that is known in all arms must be
// known in every trial.
func TestLeaveOut(t *testing.T) {
	whole := testbed.Sample{Conditions: machine.Conditions{ForeignCPU: 0.5, Throttled: 3}, Sidecars: map[string]testbed.Usage{"proxy": {}}}
	s := sampledPods{site: []podRef{clientAt}}
	var sandboxed, meshed Missing
	sandboxed.inspect(&reading{}, s, "gvisor")
	meshed.inspect(&reading{own: map[string]*cgroup.Usage{"c": {}}}, sampledPods{site: s.site, sidecars: []string{"proxy"}}, "mesh")
	nothing := testbed.Sample{Conditions: machine.Conditions{ForeignCPU: -1, Throttled: -1}, SidecarsUnavailable: true}
	for _, c := range []struct {
		name    string
		g       *Missing
		in      testbed.Sample
		at      sampledPods
		want    testbed.Sample
		failure string
	}{
		{name: "all told", g: &Missing{}, in: whole, at: s, want: whole},
		{name: "one arm is sandboxed", g: &sandboxed, in: whole, at: s, want: testbed.Sample{Conditions: machine.Conditions{ForeignCPU: -1, Throttled: -1}, Sidecars: whole.Sidecars}},
		{name: "one arm has sidecars", g: &meshed, in: whole, at: s, want: nothing},
		{name: "no look was taken", in: nothing, at: s, want: nothing},
		{name: "no pods", g: &Missing{}, in: nothing, want: nothing},
		{name: "no foreign time at once", g: &Missing{}, in: testbed.Sample{Conditions: machine.Conditions{ForeignCPU: -1}}, at: s, failure: "the CPU time of other programs is unknown in this trial"},
		{name: "no throttling at once", g: &Missing{}, in: testbed.Sample{Conditions: machine.Conditions{Throttled: -1}}, at: s, failure: "how often a CPU limit held programs up is unknown in this trial"},
		{name: "no sidecar at once", g: &Missing{}, in: testbed.Sample{SidecarsUnavailable: true}, at: s, failure: "the usage of the containers beside the programs is unknown in this trial"},
	} {
		got, err := c.g.leaveOut(c.in, c.at)
		var disturbed *testbed.Disturbance
		if c.failure != "" {
			if !errors.As(err, &disturbed) || disturbed.What != c.failure {
				t.Errorf("%s: error %v, want a disturbance: %s", c.name, err, c.failure)
			}
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, d)
		}
	}
}

// Throttling is counted in the pod and in every container, since the kernel does not add these numbers up.
func TestThrottled(t *testing.T) {
	group := func(own int, within ...cgroup.Usage) agent.Counters {
		return agent.Counters{Pods: []cgroup.Usage{{Pod: "c", Throttled: own, Containers: within}}}
	}
	for _, c := range []struct {
		name          string
		before, after agent.Counters
		want          int
	}{
		{"of the pod", group(1), group(4), 3},
		{"of containers only", group(0, cgroup.Usage{ID: "a", Throttled: 2}, cgroup.Usage{ID: "b"}), group(0, cgroup.Usage{ID: "a", Throttled: 3}, cgroup.Usage{ID: "b", Throttled: 4}), 5},
		{"a container made again", group(0, cgroup.Usage{ID: "a", Throttled: 100}), group(0, cgroup.Usage{ID: "new", Throttled: 1}), 1},
		{"not told", group(-1), group(-1), -1},
		{"not found", group(0), agent.Counters{}, -1},
	} {
		b, a := readings(map[string]agent.Counters{"n1": c.before}, map[string]agent.Counters{"n1": c.after})
		if got := throttled(b, a, []podRef{clientAt}); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// If the usage of sidecars is known for only one of two pods, the sum is unknown.
func TestSidecarsOfAllPods(t *testing.T) {
	sidecar := func(p podRef, role string) podRef {
		p.role, p.sidecars = role, map[string]string{"id": "proxy"}
		return p
	}
	counters := func(uid string, cpu float64) agent.Counters {
		return agent.Counters{Totals: machine.Totals{Time: epoch.Add(seconds(cpu))}, Pods: []cgroup.Usage{{Pod: uid, Containers: []cgroup.Usage{{ID: "id", CPU: seconds(cpu), WorkingSet: 5}}}}}
	}
	b, a := readings(map[string]agent.Counters{"n1": counters("c", 1), "n2": counters("s", 1)}, map[string]agent.Counters{"n1": counters("c", 2), "n2": counters("s", 3)})
	s := sampledPods{site: []podRef{sidecar(clientAt, "client"), sidecar(serverAt, "server")}, onNode: true, sidecars: []string{"proxy"}}
	if got := sample(b, a, s); got.SidecarsUnavailable || got.Sidecars["client-proxy"].CPU() != time.Second || got.Sidecars["server-proxy"].CPU() != 2*time.Second {
		t.Errorf("both told: %+v", got)
	}
	delete(a.nodes, "n2")
	if got := sample(b, a, s); !got.SidecarsUnavailable || got.Sidecars != nil {
		t.Errorf("one told: %+v", got)
	}
	s.onNode = false
	if got := sample(b, a, s); !got.SidecarsUnavailable || got.Sidecars != nil {
		t.Errorf("with accounting: container: %+v", got)
	}
}
