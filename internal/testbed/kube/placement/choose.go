// Package placement chooses the nodes that the pods of an arm run on.
//
// Tare, and not the scheduler, chooses nodes. All arms get the same nodes, so that arms differ only by their
// layers. An arm gets other nodes only if its layers need other nodes.
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

	"tare/internal/experiment"
	"tare/internal/testbed/kube/cluster"
)

// Choice holds the nodes of a site's pods. With placement same-node, Client and Server are the same node. If
// the site has no server, Server is nil.
type Choice struct {
	Client, Server *corev1.Node
	Members        []*corev1.Node // nodes of members after the first, in their order
	Clients        []*corev1.Node // nodes of clients after the first, in their order

	placement   experiment.Placement
	memberNodes []*corev1.Node // nodes of members, without Server
	wanted      int            // largest number of memberNodes that a site has needed
	clientNodes []*corev1.Node // nodes of clients, without Client
}

// Chooser chooses nodes on one cluster and remembers its choices.
type Chooser struct {
	on *cluster.Cluster

	mu     sync.Mutex
	chosen []*Choice
}

// NewChooser returns a chooser for a cluster.
func NewChooser(on *cluster.Cluster) *Chooser { return &Chooser{on: on} }

// Choose returns the nodes for a site. It prefers the nodes of an earlier choice. If they are not suitable,
// it takes the first suitable nodes by name, workers before control planes.
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
	pods := []*corev1.Pod{r.Client.Pod, r.Server.Pod}
	for _, p := range slices.Concat(r.Members, r.Clients) {
		pods = append(pods, p.Pod)
	}
	if err := resolveRuntime(ctx, c.on, pods...); err != nil {
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

// choosePair chooses the nodes of the client and of the server. It remembers them for later sites.
func (c *Chooser) choosePair(r Request, nodes []*corev1.Node) (*Choice, error) {
	for _, before := range c.chosen {
		client, server := current(nodes, before.Client), current(nodes, before.Server)
		if before.placement == r.Placement && r.fits(client, server) {
			before.Client, before.Server = client, server
			return before, nil
		}
	}
	servers := []*corev1.Node{nil}
	if r.Server.Pod != nil {
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

// current returns the present state of a node that was chosen before; nil if the node is gone.
func current(nodes []*corev1.Node, before *corev1.Node) *corev1.Node {
	for _, n := range nodes {
		if before != nil && n.Name == before.Name && n.UID == before.UID {
			return n
		}
	}
	return nil
}

// controlPlane returns 1 for nodes of a control plane and 0 for others, for sorting.
func controlPlane(n *corev1.Node) int {
	if _, ok := n.Labels["node-role.kubernetes.io/control-plane"]; ok {
		return 1
	}
	return 0
}

// Pin binds a pod to a node by a node selector. To set the node's name in the pod would bypass the scheduler,
// which is needed to bind volumes.
func Pin(pod *corev1.Pod, n *corev1.Node) {
	pod.Spec.NodeSelector = maps.Clone(pod.Spec.NodeSelector)
	if pod.Spec.NodeSelector == nil {
		pod.Spec.NodeSelector = map[string]string{}
	}
	pod.Spec.NodeSelector[corev1.LabelHostname] = n.Labels[corev1.LabelHostname]
}
