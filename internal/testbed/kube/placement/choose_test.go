package placement

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"tare/internal/experiment"
	"tare/internal/testbed/kube/cluster"
)

// testNode is a ready node in a zone, which functions may change.
func testNode(name, zone string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-of-" + "x", Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelTopologyZone: zone}},
		Status: corev1.NodeStatus{
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")},
		},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func notReady(n *corev1.Node) {
	n.Status.Conditions[0].Status, n.Status.Conditions[0].Message = corev1.ConditionFalse, "PLEG is not\x1b[31m healthy"
}

func tainted(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "pool", Value: "big", Effect: corev1.TaintEffectNoSchedule}}
}

func ofControlPlane(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "" }

func small(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("500m") }

func windows(n *corev1.Node) { n.Labels[corev1.LabelOSStable] = "windows" }

func TestChoose(t *testing.T) {
	a, b, c := testNode("a", "z1"), testNode("b", "z1"), testNode("c", "z2")
	tests := []struct {
		name  string
		nodes []*corev1.Node
		level func(*experiment.Kubernetes)
		pod   func(*corev1.Pod) // of the client
		place experiment.Placement
		want  string // "client server", or an error
	}{
		{name: "the first two", nodes: []*corev1.Node{c, b, a}, want: "a b"},
		{name: "in two zones", nodes: []*corev1.Node{a, b, c}, level: func(k *experiment.Kubernetes) { k.Spread = corev1.LabelTopologyZone }, want: "a c"},
		{name: "on one", nodes: []*corev1.Node{a, b}, place: experiment.SameNode, want: "a a"},
		{name: "by name", nodes: []*corev1.Node{a, b, c}, level: func(k *experiment.Kubernetes) { k.Client.Node, k.Server.Node = "c", "b" }, want: "c b"},
		{name: "by label", nodes: []*corev1.Node{a, b, c}, level: func(k *experiment.Kubernetes) {
			k.Server.Labels = map[string]string{corev1.LabelTopologyZone: "z2"}
		}, want: "a c"},
		{name: "workers first", nodes: []*corev1.Node{testNode("a", "", ofControlPlane), b, c}, want: "b c"},
		{name: "a control plane if need be", nodes: []*corev1.Node{testNode("a", "", ofControlPlane), b}, want: "b a"},
		{name: "a selector of a layer", nodes: []*corev1.Node{a, b, c}, pod: func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "z2"}
		}, want: "c a"},
		{name: "a runtime class", nodes: []*corev1.Node{a, testNode("b", "z9", tainted), c}, pod: func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("kata") }, want: "b a"},
		{name: "a taint that is tolerated", nodes: []*corev1.Node{testNode("a", "", tainted), b}, pod: func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "pool", Operator: corev1.TolerationOpEqual, Value: "big", Effect: corev1.TaintEffectNoSchedule}}
		}, want: "a b"},
		{name: "reasons", nodes: []*corev1.Node{a, testNode("b", "", cordoned), testNode("c", "", tainted), testNode("d", "", notReady), testNode("e", "", windows), testNode("f", "", small)},
			want: "1 of 6 nodes will do, and client and server need two (placement: same-node puts both on one): b is cordoned; c has taint pool=big:NoSchedule; d is not ready: PLEG is not healthy; e runs windows; f has 500m of cpu for pods, less than 1"},
		{name: "no zones", nodes: []*corev1.Node{a, b}, level: func(k *experiment.Kubernetes) { k.Spread = corev1.LabelTopologyZone },
			want: "2 of 2 nodes will do, but no two of them differ in the label topology.kubernetes.io/zone (spread)"},
		{name: "nodes that nobody has", nodes: []*corev1.Node{a, b}, level: func(k *experiment.Kubernetes) { k.Server.Labels = map[string]string{"gpu": "yes"} },
			want: "no node will do for the server pod (0 of 2): a has no label gpu; b has no label gpu"},
		{name: "none at all", want: "no node will do for the client pod (0 of 0): the cluster has none"},
		{name: "not on one", nodes: []*corev1.Node{a, b}, place: experiment.SameNode, level: func(k *experiment.Kubernetes) { k.Client.Node, k.Server.Node = "a", "b" },
			want: "no node will do for both the client and the server pod (placement: same-node): b is not the node asked for"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects := []runtime.Object{&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Scheduling: &nodev1.Scheduling{
				NodeSelector: map[string]string{corev1.LabelTopologyZone: "z9"}, Tolerations: []corev1.Toleration{{Key: "pool", Operator: corev1.TolerationOpExists}},
			}}}
			for _, n := range tt.nodes {
				objects = append(objects, n)
			}
			chooser := NewChooser(&cluster.Cluster{Context: "test", Client: fake.NewClientset(objects...)})
			c, err := chooser.Choose(t.Context(), request(tt.level, tt.pod, tt.place))
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = c.Client.Name + " " + c.Server.Name
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// request requests nodes for two pods with one CPU each. Functions may change the request.
func request(level func(*experiment.Kubernetes), client func(*corev1.Pod), place experiment.Placement) Request {
	k := &experiment.Kubernetes{}
	if level != nil {
		level(k)
	}
	if place == "" {
		place = experiment.DifferentNodes
	}
	pod := func() *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("512Mi")}}}}}}
	}
	r := Request{Placement: place, Spread: k.Spread,
		Clients: []PodNeeds{{Role: "client", Choice: k.Client, Pod: pod()}}, Servers: []PodNeeds{{Role: "server", Choice: k.Server, Pod: pod()}}}
	if client != nil {
		client(r.Clients[0].Pod)
	}
	return r
}

// All arms are on the same nodes, unless a layer needs other nodes.
func TestChoiceIsKept(t *testing.T) {
	clients := fake.NewClientset(testNode("b", "z1"), testNode("c", "z2"))
	chooser := NewChooser(&cluster.Cluster{Context: "test", Client: clients})
	choose := func(pod func(*corev1.Pod)) string {
		t.Helper()
		c, err := chooser.Choose(t.Context(), request(nil, pod, ""))
		if err != nil {
			t.Fatal(err)
		}
		return c.Client.Name + " " + c.Server.Name
	}
	first := choose(nil)
	if _, err := clients.CoreV1().Nodes().Create(context.Background(), testNode("a", "z3"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	second := choose(nil)
	other := choose(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "z3"} })
	third := choose(nil)
	if got := strings.Join([]string{first, second, other, third}, ", "); got != "b c, b c, a b, b c" {
		t.Errorf("the arms are on %s", got)
	}
}
