package placement

import (
	"cmp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"tare/internal/experiment"
	"tare/internal/testbed/kube/cluster"
)

// withMembers requests nodes for a service with this many members, which have one CPU each.
func withMembers(members int, level func(*experiment.Kubernetes), place experiment.Placement) Request {
	r := request(level, nil, place)
	for range members - 1 {
		r.Servers = append(r.Servers, PodNeeds{Role: "server-n", Choice: r.Servers[0].Choice, Pod: r.Servers[0].Pod.DeepCopy()})
	}
	return r
}

// said lists the nodes of a choice: "client server members…".
func said(c Choice, err error) string {
	if err != nil {
		return err.Error()
	}
	names := []string{c.Client.Name}
	for _, n := range c.Servers {
		names = append(names, n.Name)
	}
	return strings.Join(names, " ")
}

func chooser(nodes ...*corev1.Node) *Chooser {
	var objects []runtime.Object
	for _, n := range nodes {
		objects = append(objects, n)
	}
	return NewChooser(&cluster.Cluster{Context: "test", Client: fake.NewClientset(objects...)})
}

func TestChooseForMembers(t *testing.T) {
	a, b, c, d := testNode("a", "z1"), testNode("b", "z1"), testNode("c", "z2"), testNode("d", "z2")
	zones := func(k *experiment.Kubernetes) { k.Spread = corev1.LabelTopologyZone }
	for _, tt := range []struct {
		name    string
		nodes   []*corev1.Node
		members int
		round   int // nodes that are asked for
		level   func(*experiment.Kubernetes)
		place   experiment.Placement
		want    string
	}{
		{name: "one each", nodes: []*corev1.Node{a, b, c, d}, members: 3, want: "a b c d"},
		{name: "more than nodes", nodes: []*corev1.Node{a, b, c}, members: 5, want: "a b c b c b"},
		{name: "fewer than nodes", nodes: []*corev1.Node{a, b, c, d}, members: 2, want: "a b c"},
		{name: "as many nodes as asked for", nodes: []*corev1.Node{a, b, c, d}, members: 5, round: 2, want: "a b c b c b"},
		{name: "one node", nodes: []*corev1.Node{a, b, c, d}, members: 3, round: 1, want: "a b b b"},
		{name: "on one with the client", nodes: []*corev1.Node{a, b}, members: 3, place: experiment.SameNode, want: "a a a a"},
		{name: "none but the server's", nodes: []*corev1.Node{a, b}, members: 3, want: "a b b b"},
		{name: "in another zone than the client", nodes: []*corev1.Node{a, b, c, d}, members: 3, level: zones, want: "a c d c"},
		{name: "where the server may be", nodes: []*corev1.Node{a, b, c, d}, members: 3, level: func(k *experiment.Kubernetes) {
			k.Server.Labels = map[string]string{corev1.LabelTopologyZone: "z2"}
		}, want: "a c d c"},
		{name: "not those that will not do", nodes: []*corev1.Node{a, b, testNode("c", "", cordoned), testNode("d", "", small)}, members: 3, want: "a b b b"},
		{name: "too few", nodes: []*corev1.Node{a, b, c}, members: 5, round: 3,
			want: "2 of 3 nodes are suitable for the members of the service, and testbed.kubernetes.nodes asks for 3 beside that of the client"},
		{name: "no more than members are asked for", nodes: []*corev1.Node{a, b, c}, members: 2, round: 3, want: "a b c"},
		{name: "no room", nodes: []*corev1.Node{a, b}, members: 5,
			want: "node b has 4 of cpu for pods, less than 5: the 5 pods of the arm that are on it need more; add nodes, or lower testbed.kubernetes.resources"},
		{name: "no room with the client", nodes: []*corev1.Node{a, b}, members: 4, place: experiment.SameNode,
			want: "node a has 4 of cpu for pods, less than 5: the 5 pods of the arm that are on it need more; add nodes, or lower testbed.kubernetes.resources"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := withMembers(tt.members, tt.level, tt.place)
			r.Nodes = tt.round
			if got := said(chooser(tt.nodes...).Choose(t.Context(), r)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// All arms have the same nodes, also if one arm has more members than the previous one, or if a node has joined
// meanwhile.
func TestChoiceForMembersIsKept(t *testing.T) {
	all := chooser(testNode("b", ""), testNode("c", ""), testNode("e", ""))
	choose := func(members int) string {
		return said(all.Choose(t.Context(), withMembers(members, nil, "")))
	}
	first := choose(1)
	second := choose(3)
	if err := all.on.Client.(*fake.Clientset).Tracker().Add(testNode("a", "")); err != nil {
		t.Fatal(err)
	}
	third := choose(3)
	fourth := choose(4)
	fifth := choose(2)
	if got := strings.Join([]string{first, second, third, fourth, fifth}, ", "); got != "b c, b c e c, b c e c, b c e a c, b c e" {
		t.Errorf("the arms are on %s", got)
	}
}

// Further clients are assigned in turn to the client's node and the nodes without a server. Later choices are the
// same.
func TestChooseForClients(t *testing.T) {
	a, b, c, d := testNode("a", "z1"), testNode("b", "z1"), testNode("c", "z2"), testNode("d", "z2")
	tainted := testNode("e", "z1")
	tainted.Spec.Taints = []corev1.Taint{{Key: "no", Effect: corev1.TaintEffectNoSchedule}}
	for _, tt := range []struct {
		name             string
		nodes            []*corev1.Node
		clients, members int
		level            func(*experiment.Kubernetes)
		place            experiment.Placement
		want             string
	}{
		{name: "two nodes", nodes: []*corev1.Node{a, b}, clients: 4, members: 1, want: "a b | a a a"},
		{name: "four nodes", nodes: []*corev1.Node{a, b, c, d, tainted}, clients: 5, members: 1, want: "a b | c d a c"},
		{name: "beside members", nodes: []*corev1.Node{a, b, c, d}, clients: 3, members: 2, want: "a b c | d a"},
		{name: "in other zones", nodes: []*corev1.Node{a, b, c, d}, clients: 3, members: 1, level: func(k *experiment.Kubernetes) { k.Spread = corev1.LabelTopologyZone }, want: "a c | b a"},
		{name: "same node", nodes: []*corev1.Node{a, b, c}, clients: 3, members: 1, place: experiment.SameNode, want: "a a | a a"},
	} {
		r := withMembers(tt.members, tt.level, cmp.Or(tt.place, experiment.DifferentNodes))
		for range tt.clients - 1 {
			r.Clients = append(r.Clients, PodNeeds{Role: "client-n", Choice: r.Clients[0].Choice, Pod: r.Clients[0].Pod.DeepCopy()})
		}
		on := chooser(tt.nodes...)
		for range 2 {
			c, err := on.Choose(t.Context(), r)
			got := said(c, err) + " |"
			for _, n := range c.Clients[1:] {
				got += " " + n.Name
			}
			if got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
	}
}
