package proof

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestOnTheHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	say := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &config{Checks: []Item{
		{Name: "state", In: testbed.Host, Run: []string{"cat", file}, On: "on", Off: "off"},
		{Name: "trace", In: testbed.Host, Run: []string{"cat", file}, On: "on", When: after},
	}}
	site := localtest.Host(t)
	up := layertest.Up(t, c, site)
	if _, err := up.After(t.Context(), layer.Did{}); err == nil {
		t.Error("evidence of a trial that did not begin")
	}
	say("on\n")
	state := layer.Check{Layer: name, Name: "state", Expected: "to match on, and not off", Observed: `"on\n"`, OK: true}
	trace := layer.Check{Layer: name, Name: "trace", Expected: "to match on", Observed: `"on\n"`, OK: true}
	stateOff := layer.Check{Layer: name, Name: "state", Expected: "to match off, and not on", Observed: `"on\n"`}
	traceOff := layer.Check{Layer: name, Name: "trace", Expected: "not to match on", Observed: `"on\n"`}
	before := func(want ...layer.Check) {
		t.Helper()
		compare(t, want, layertest.Before(t, up, site))
	}
	after := func(want ...layer.Check) {
		t.Helper()
		compare(t, want, layertest.After(t, up, layer.Did{}))
	}
	without := func(want ...layer.Check) {
		t.Helper()
		compare(t, want, layertest.Off(t, c, site))
	}
	before(state)
	after(trace)
	without(stateOff, traceOff)

	say("off\n")
	state.OK, trace.OK, stateOff.OK, traceOff.OK = false, false, true, true
	for _, check := range []*layer.Check{&state, &trace, &stateOff, &traceOff} {
		check.Observed = `"off\n"`
	}
	before(state)
	after(trace)
	without(stateOff, traceOff)

	// A program that fails shows neither that the mechanism is on nor that it is off.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for _, check := range []*layer.Check{&state, &trace, &stateOff, &traceOff} {
		check.OK, check.Observed = false, `""; cat `+file+`: exit status 1: cat: `+file+`: No such file or directory`
	}
	before(state)
	after(trace)
	without(stateOff, traceOff)
}

func compare(t *testing.T, want, got []layer.Check) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The programs of a check run like those of the workload, in its wrappers.
func TestAsTheWorkload(t *testing.T) {
	c := &config{Checks: []Item{{Name: "variable", In: testbed.Host, Run: []string{"sh", "-c", "echo [$TARE_TEST_PROOF]"}, On: `^\[x\]$`, Off: `^\[\]$`}}}
	site := localtest.Host(t)
	up := layertest.Up(t, c, site)
	dressed := layer.WithWrappers(site, &layer.Active{Wrap: func(cmd testbed.Command) testbed.Command {
		cmd.Env = append(cmd.Env, "TARE_TEST_PROOF=x")
		return cmd
	}})
	compare(t, []layer.Check{{Layer: name, Name: "variable", Expected: `to match ^\[x\]$, and not ^\[\]$`, Observed: `"[x]\n"`, OK: true}}, layertest.Before(t, up, dressed))
	compare(t, []layer.Check{{Layer: name, Name: "variable", Expected: `to match ^\[\]$, and not ^\[x\]$`, Observed: `"[]\n"`, OK: true}}, layertest.Off(t, c, site))
}

func pod(name, node string, phase corev1.PodPhase) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
}

func TestChoosePods(t *testing.T) {
	own := func(client, server string) map[testbed.Place]*corev1.Pod {
		pods := map[testbed.Place]*corev1.Pod{}
		for place, node := range map[testbed.Place]string{testbed.ClientPod: client, testbed.ServerPod: server} {
			if node != "" {
				p := pod(string(place), node, corev1.PodRunning)
				pods[place] = &p
			}
		}
		return pods
	}
	agents := func() []corev1.Pod {
		return []corev1.Pod{pod("c", "n3", corev1.PodRunning), pod("b", "n2", corev1.PodRunning), pod("a", "n1", corev1.PodRunning), pod("old", "n1", corev1.PodFailed)}
	}
	tests := []struct {
		name   string
		node   node
		own    map[testbed.Place]*corev1.Pod
		agents []corev1.Pod
		want   []string
		err    string
	}{
		{"both nodes, by default", "", own("n1", "n2"), agents(), []string{"a", "b"}, ""},
		{"one node for both", Both, own("n1", "n1"), agents(), []string{"a"}, ""},
		{"no server", Both, own("n2", ""), agents(), []string{"b"}, ""},
		{"client", client, own("n1", "n2"), agents(), []string{"a"}, ""},
		{"server", server, own("n1", "n2"), agents(), []string{"b"}, ""},
		{"any", Any, own("", ""), agents(), []string{"a"}, ""},
		{"all", all, own("n1", "n2"), agents(), []string{"a", "b", "c"}, ""},
		{"none anywhere", Both, own("n1", "n2"), nil, nil, ""},
		{"none on these", Both, own("n8", "n9"), agents(), nil, ""},
		{"on one of two", Both, own("n1", "n9"), agents(), nil, "no pod with app=x runs on node n9, but one runs on the other node"},
		{"no client", client, own("", "n2"), agents(), nil, "the check needs pods on the node of the client-pod, but the site has none"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &Pods{Labels: map[string]string{"app": "x"}, Node: test.node}
			var chosen []corev1.Pod
			nodes, err := p.nodes(test.own)
			if err == nil {
				chosen, err = p.choose(test.agents, nodes)
			}
			var got []string
			for _, c := range chosen {
				got = append(got, c.Name)
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" || text != test.err {
				t.Errorf("%s %s", diff, text)
			}
		})
	}
	many := make([]corev1.Pod, maxPods+1)
	for i := range many {
		many[i] = pod("p", "n", corev1.PodRunning)
	}
	_, err := (&Pods{Labels: map[string]string{"b": "2", "a": "1"}, Node: all}).choose(many, nil)
	if want := "51 pods with a=1,b=2: the limit is 50; node: any takes only one of them"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestContainers(t *testing.T) {
	p := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "tare"}}, InitContainers: []corev1.Container{{Name: "istio-proxy"}}}}
	for container, want := range map[string]string{"tare": "", "istio-proxy": "", "other": "the pod has no container other"} {
		if got := (Item{Container: container}).inContainer(nil, p, nil).missing; got != want {
			t.Errorf("%s: got %q, want %q", container, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	item := func(change func(*Item)) []Item {
		i := Item{Name: "a", In: testbed.ClientPod, Run: []string{"x"}, On: "on"}
		change(&i)
		return []Item{i}
	}
	labels := map[string]string{"a": "b"}
	tests := []struct {
		name   string
		checks []Item
		want   []experiment.FieldError
	}{
		{"good", item(func(*Item) {}), nil},
		{"in a sidecar", item(func(i *Item) { i.Container = "istio-proxy" }), nil},
		{"in other pods", item(func(i *Item) { i.In, i.Pods = "", &Pods{Labels: labels} }), nil},
		{"nothing", nil, []experiment.FieldError{{Field: "checks", Message: "there is no check: the layer would show nothing"}}},
		{"nowhere", item(func(i *Item) { i.In = "" }), []experiment.FieldError{{Field: "checks[0]", Message: "the program has no place to run: set in, or pods"}}},
		{"twice", item(func(i *Item) { i.Pods = &Pods{Labels: labels} }), []experiment.FieldError{{Field: "checks[0].in", Message: "in and pods exclude each other"}}},
		{"a container of the host", item(func(i *Item) { i.In, i.Container = testbed.Host, "x" }), []experiment.FieldError{{Field: "checks[0].container", Message: "host has no containers"}}},
		{"every pod", item(func(i *Item) { i.In, i.Pods = "", &Pods{} }), []experiment.FieldError{{Field: "checks[0].pods.labels", Message: "there is no label: every pod of the namespace would be selected"}}},
		{"no program", item(func(i *Item) { i.Run = nil }), []experiment.FieldError{{Field: "checks[0].run", Message: "no program is given: write it as a list, [program, argument…]"}}},
		{"placeholder", item(func(i *Item) { i.Run = []string{"$(TARE_ARM)"} }), []experiment.FieldError{{Field: "checks[0].run", Message: "$(TARE_ARM) is not known here: known is $(TARE_CONTEXT), $(TARE_NAMESPACE), $(TARE_SERVER)"}}},
		{"pattern", item(func(i *Item) { i.Off = "[" }), []experiment.FieldError{{Field: "checks[0].off", Message: "\"[\" is not a regular expression: error parsing regexp: missing closing ]: `[`"}}},
		{"two of a name", append(item(func(*Item) {}), item(func(*Item) {})...), []experiment.FieldError{{Field: "checks[1].name", Message: `"a" is the name of two checks`}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, (&config{Checks: test.checks}).validate()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNeeds(t *testing.T) {
	tests := []struct {
		item   Item
		needs  experiment.Needs
		rights []experiment.Right
	}{
		{Item{In: testbed.Host}, experiment.Needs{}, nil},
		{Item{In: testbed.ClientPod}, experiment.Needs{Network: true}, nil},
		{Item{In: testbed.ServerNode}, experiment.Needs{Network: true, HostNetwork: true}, nil},
		{Item{In: testbed.ServerPod, Container: "x"}, experiment.Needs{Network: true, Only: experiment.TestbedKubernetes}, rights("given")},
		{Item{Pods: &Pods{Namespace: "kube-system"}}, experiment.Needs{Only: experiment.TestbedKubernetes}, rights("kube-system")},
	}
	for _, test := range tests {
		c := &config{Checks: []Item{test.item}}
		if diff := cmp.Diff(test.needs, c.Declare().Needs); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(test.rights, c.rights("given")); diff != "" {
			t.Error(diff)
		}
	}
}

func rights(namespace string) []experiment.Right {
	const why = "the layer proof runs programs in containers"
	return []experiment.Right{{Resource: "pods", Verbs: []string{"get", "list"}, Namespace: namespace, Why: why},
		{Resource: "pods/exec", Verbs: []string{"create", "get"}, Namespace: namespace, Why: why}}
}
