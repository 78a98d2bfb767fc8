// Package placement chooses the nodes that the pods of an arm run on.
//
// Tare chooses the nodes, and not the scheduler. All arms get the same nodes, so that arms differ only by their layers.
// Only an arm whose layers need other nodes gets other nodes.
package placement

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/run/machine"
	"tare/internal/testbed/kube/cluster"
)

// Choice holds the nodes of a site's pods. With placement same-node, Client and Server are one node.
type Choice struct {
	Client, Server   *corev1.Node   // nodes of the first client and server; Server is nil if the site has no server
	Clients, Servers []*corev1.Node // nodes by client, and nodes by server, in their order

	placement   experiment.Placement
	memberNodes []*corev1.Node // nodes for members, except Server
	wanted      int            // number of memberNodes needed: the largest number that one site has requested
	clientNodes []*corev1.Node // nodes for clients, except the node in the field Client
}

// Chooser chooses nodes on one cluster and remembers its choices.
type Chooser struct {
	on *cluster.Cluster

	mu     sync.Mutex
	chosen []*Choice
}

// NewChooser returns a chooser for a cluster.
func NewChooser(on *cluster.Cluster) *Chooser { return &Chooser{on: on} }

// Choose returns the nodes for a site: suitable ones of an earlier choice, or else the first ones by name, workers
// before control planes.
func (c *Chooser) Choose(ctx context.Context, r Request) (Choice, error) {
	list, err := c.on.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return Choice{}, fmt.Errorf("list the nodes: %w", cluster.Explain(err))
	}
	var nodes []*corev1.Node
	for i := range list.Items {
		nodes = append(nodes, &list.Items[i])
	}
	slices.SortFunc(nodes, func(a, b *corev1.Node) int {
		return cmp.Or(cmp.Compare(controlPlane(a), controlPlane(b)), strings.Compare(a.Name, b.Name))
	})
	needs := slices.Concat(r.Clients, r.Servers)
	if err := resolveRuntime(ctx, c.on, lists.Map(needs, func(p PodNeeds) *corev1.Pod { return p.Pod })); err != nil {
		return Choice{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	chosen, err := c.choosePair(r, nodes)
	if err != nil {
		return Choice{}, err
	}
	if err := chosen.chooseMembers(r, nodes); err != nil {
		return Choice{}, err
	}
	chosen.chooseClients(r, nodes)
	return *chosen, chosen.checkRoom(r)
}

func (c *Chooser) choosePair(r Request, nodes []*corev1.Node) (*Choice, error) {
	for _, before := range c.chosen {
		client, server := current(nodes, before.Client), current(nodes, before.Server)
		if before.placement == r.Placement && r.fits(client, server) {
			before.Client, before.Server = client, server
			return before, nil
		}
	}
	servers := []*corev1.Node{nil}
	if len(r.Servers) > 0 {
		servers = nodes
	}
	for _, client := range nodes {
		for _, server := range servers {
			if r.fits(client, server) {
				chosen := &Choice{placement: r.Placement, Client: client, Server: server}
				c.chosen = append(c.chosen, chosen)
				return chosen, nil
			}
		}
	}
	return nil, r.explain(nodes)
}

// current finds the node before, which was chosen earlier, in the list nodes. It returns the node's present state; nil
// if the node is gone.
func current(nodes []*corev1.Node, before *corev1.Node) *corev1.Node {
	for _, n := range nodes {
		if before != nil && n.Name == before.Name && n.UID == before.UID {
			return n
		}
	}
	return nil
}

// present returns the present states of nodes from an earlier choice, without nodes that are gone.
func present(nodes, before []*corev1.Node) []*corev1.Node {
	list := lists.Map(before, func(b *corev1.Node) *corev1.Node { return current(nodes, b) })
	return slices.DeleteFunc(list, func(n *corev1.Node) bool { return n == nil })
}

func controlPlane(n *corev1.Node) int {
	if _, ok := n.Labels["node-role.kubernetes.io/control-plane"]; ok {
		return 1
	}
	return 0
}

// Pin binds a pod to a node by a node selector. A pod that names its node bypasses the scheduler, which then cannot
// bind the pod's volumes.
func Pin(pod *corev1.Pod, n *corev1.Node) {
	host := labels.Set{corev1.LabelHostname: n.Labels[corev1.LabelHostname]}
	pod.Spec.NodeSelector = labels.Merge(pod.Spec.NodeSelector, host)
}

// chooseMembers chooses the members' nodes. With same-node, all members get the server's node; without same-node,
// members take turns on nodes that are not the client's.
func (c *Choice) chooseMembers(r Request, nodes []*corev1.Node) error {
	on := []*corev1.Node{c.Server}
	if len(r.Servers) > 1 && r.Placement != experiment.SameNode {
		others, err := c.chooseMemberNodes(r, nodes)
		if err != nil {
			return err
		}
		on = append(on, others...)
	}
	c.Servers = inTurn(on, len(r.Servers))
	return nil
}

// chooseClients chooses the clients' nodes. With same-node, all clients get the first client's node; without same-node,
// clients take turns on nodes without a server.
func (c *Choice) chooseClients(r Request, nodes []*corev1.Node) {
	on := []*corev1.Node{c.Client}
	if len(r.Clients) > 1 && r.Placement != experiment.SameNode {
		on = extend(on, len(r.Clients), append(present(nodes, c.clientNodes), nodes...), func(n *corev1.Node) bool {
			return !contains(c.Servers, n) && r.Clients[1].Misfit(n) == "" && r.differ(n, c.Server)
		})
		c.clientNodes = on[1:]
	}
	c.Clients = inTurn(on, len(r.Clients))
}

func inTurn(nodes []*corev1.Node, pods int) (list []*corev1.Node) {
	for i := range pods {
		list = append(list, nodes[i%len(nodes)])
	}
	return list
}

func extend(list []*corev1.Node, enough int, candidates []*corev1.Node, suits func(*corev1.Node) bool) []*corev1.Node {
	for _, n := range candidates {
		if len(list) < enough && !contains(list, n) && suits(n) {
			list = append(list, n)
		}
	}
	return list
}

func contains(list []*corev1.Node, n *corev1.Node) bool {
	return slices.ContainsFunc(list, func(other *corev1.Node) bool { return other.Name == n.Name })
}

// chooseMemberNodes chooses the members' nodes beside the server's, first the nodes of an earlier choice. Too few nodes
// are an error only if r.Nodes is set.
func (c *Choice) chooseMemberNodes(r Request, nodes []*corev1.Node) ([]*corev1.Node, error) {
	want := len(r.Servers) - 1
	if r.Nodes > 0 {
		want = min(want, r.Nodes-1)
	}
	suits := func(n *corev1.Node) bool {
		return n.Name != c.Client.Name && n.Name != c.Server.Name && r.Servers[1].Misfit(n) == "" && r.differ(c.Client, n)
	}
	found := extend(nil, want, present(nodes, c.memberNodes), suits)
	// If an earlier arm with this request got too few nodes, this arm gets those nodes, even if new nodes have joined
	// the cluster. The arms must be alike.
	if want > c.wanted || len(found) < min(want, len(c.memberNodes)) {
		found = extend(found, want, nodes, suits)
	}
	if r.Nodes > 0 && len(found) < want {
		return nil, fmt.Errorf("%d of %d nodes are suitable for the members of the service, "+
			"and testbed.kubernetes.nodes asks for %d beside that of the client", len(found)+1, len(nodes), r.Nodes)
	}
	if c.wanted = max(c.wanted, want); len(found) >= len(c.memberNodes) {
		c.memberNodes = found
	}
	return found, nil
}

// checkRoom returns an error if a node is too small for all pods of the arm on it. choosePair checks only one client
// pod and one server pod.
func (c *Choice) checkRoom(r Request) error {
	if len(r.Clients) == 1 && len(r.Servers) <= 1 {
		return nil
	}
	pods := map[*corev1.Node][]*corev1.Pod{}
	nodes := slices.Concat(c.Clients, c.Servers)
	for i, p := range slices.Concat(r.Clients, r.Servers) {
		pods[nodes[i]] = append(pods[nodes[i]], p.Pod)
	}
	for _, n := range nodes {
		if why := tooSmall(n, pods[n]...); why != "" {
			return fmt.Errorf("node %s %s: the %d pods of the arm that are on it need more; "+
				"add nodes, or lower testbed.kubernetes.resources", n.Name, why, len(pods[n]))
		}
	}
	return nil
}

// AddNodes adds the nodes of one site to the nodes of its arm.
func AddNodes(arms []machine.ArmNodes, arm string, nodes []string) []machine.ArmNodes {
	for i := range arms {
		if arms[i].Arm == arm {
			arms[i].Nodes = append(arms[i].Nodes, nodes...)
			slices.Sort(arms[i].Nodes)
			arms[i].Nodes = slices.Compact(arms[i].Nodes)
			return arms
		}
	}
	return append(arms, machine.ArmNodes{Arm: arm, Nodes: slices.Clone(nodes)})
}

// OtherNodes returns a note for each arm whose nodes differ from the baseline's. A difference between the nodes then
// looks like an overhead.
func OtherNodes(arms []machine.ArmNodes) []string {
	var notes []string
	for _, a := range arms[min(1, len(arms)):] {
		if first := arms[0]; !slices.Equal(a.Nodes, first.Nodes) {
			notes = append(notes, fmt.Sprintf("arm %s ran on nodes %s, and %s on %s: "+
				"a difference between these nodes counts as one between the arms",
				a.Arm, strings.Join(a.Nodes, ", "), first.Arm, strings.Join(first.Nodes, ", ")))
		}
	}
	return notes
}

// OtherUplinks returns a note for each property of the pods' network interfaces in which an arm differs from the
// first arm. The first arm is the baseline, unless arms are up in turn. Values that are not known of both arms are not
// compared.
func OtherUplinks(clusters []machine.Cluster) []string {
	var notes []string
	var arms []machine.ArmNodes
	names := map[string]bool{}
	for _, c := range clusters {
		arms = append(arms, c.Arms...)
		for _, a := range c.Arms {
			for _, u := range a.Uplinks {
				for name := range u.Properties() {
					names[name] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, a := range arms[1:] {
			if was, is := arms[0].UplinksOf(name), a.UplinksOf(name); is != was && is != "" && was != "" {
				notes = append(notes, fmt.Sprintf("the pods' network interfaces have %s %s in arm %s and %s in arm %s: "+
					"this difference counts as one between the arms", name, is, a.Arm, was, arms[0].Arm))
			}
		}
	}
	return notes
}

// Moved returns a note for each arm that is not on the same nodes as in the run's first session.
func Moved(first, now []machine.Cluster) []string {
	was := map[string][]string{}
	for _, c := range first {
		for _, a := range c.Arms {
			was[a.Arm] = a.Nodes
		}
	}
	var notes []string
	for _, c := range now {
		for _, a := range c.Arms {
			if before, known := was[a.Arm]; known && !slices.Equal(before, a.Nodes) {
				notes = append(notes, fmt.Sprintf("arm %s is on nodes %s now, and was on %s",
					a.Arm, strings.Join(a.Nodes, ", "), strings.Join(before, ", ")))
			}
		}
	}
	return notes
}
