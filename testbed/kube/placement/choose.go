// Package placement chooses the nodes that the pods of an arm run on.
//
// Tare chooses them itself, once, so that arms differ by their layers and not by
// where the scheduler happened to put them. An arm gets nodes of its own only where
// its layers ask for others.
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

	"tare/experiment"
	"tare/testbed/kube/cluster"
)

// Choice is the nodes of the client and the server. Both are the same one with
// placement same-node; the server's is nil where there is no server.
type Choice struct {
	Client, Server *corev1.Node
	Members        []*corev1.Node // of the further members of a service, in their order
	Clients        []*corev1.Node // of the further clients, in their order

	placement experiment.Placement
	others    []*corev1.Node // that members are on, besides the server's
	asked     int            // how many others there were to be, at most
	clients   []*corev1.Node // that further clients are on, besides the client's
}

// Chooser chooses nodes on one cluster, and remembers what it has chosen.
type Chooser struct {
	on *cluster.Cluster

	mu     sync.Mutex
	chosen []*Choice
}

// NewChooser chooses on a cluster.
func NewChooser(on *cluster.Cluster) *Chooser { return &Chooser{on: on} }

// Choose gives the nodes for a site: those of an earlier choice where they will do,
// else the first ones by name, workers before control planes.
func (c *Chooser) Choose(ctx context.Context, r Request) (Choice, error) {
	list, err := c.on.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return Choice{}, fmt.Errorf("list the nodes: %w", cluster.Explain(err))
	}
	nodes := list.Items
	slices.SortFunc(nodes, func(a, b corev1.Node) int {
		return cmp.Or(cmp.Compare(controlPlane(&a), controlPlane(&b)), strings.Compare(a.Name, b.Name))
	})
	pods := []*corev1.Pod{r.Client.Pod, r.Server.Pod}
	for _, e := range slices.Concat(r.Members, r.Clients) {
		pods = append(pods, e.Pod)
	}
	if err := resolveRuntime(ctx, c.on, pods...); err != nil {
		return Choice{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	chosen, err := c.pair(r, nodes)
	if err != nil {
		return Choice{}, err
	}
	if err := chosen.spread(r, nodes); err != nil {
		return Choice{}, err
	}
	chosen.spreadClients(r, nodes)
	return *chosen, chosen.room(r)
}

// pair chooses the nodes of the client and the server, and remembers them for the sites that
// follow.
func (c *Chooser) pair(r Request, nodes []corev1.Node) (*Choice, error) {
	for _, before := range c.chosen {
		client, server := find(nodes, before.Client), find(nodes, before.Server)
		if before.placement == r.Placement && r.fits(client, server) {
			before.Client, before.Server = client, server
			return before, nil
		}
	}
	keep := func(client, server *corev1.Node) (*Choice, error) {
		c.chosen = append(c.chosen, &Choice{placement: r.Placement, Client: client, Server: server})
		return c.chosen[len(c.chosen)-1], nil
	}
	for i := range nodes {
		if r.Server.Pod == nil {
			if r.fits(&nodes[i], nil) {
				return keep(&nodes[i], nil)
			}
			continue
		}
		for j := range nodes {
			if r.fits(&nodes[i], &nodes[j]) {
				return keep(&nodes[i], &nodes[j])
			}
		}
	}
	return nil, r.explain(nodes)
}

// find gives the node as it is now that was chosen before; nil if it is gone.
func find(nodes []corev1.Node, before *corev1.Node) *corev1.Node {
	for i := range nodes {
		if before != nil && nodes[i].Name == before.Name && nodes[i].UID == before.UID {
			return &nodes[i]
		}
	}
	return nil
}

// controlPlane is 1 for nodes of a control plane, 0 for others.
func controlPlane(n *corev1.Node) int {
	if _, ok := n.Labels["node-role.kubernetes.io/control-plane"]; ok {
		return 1
	}
	return 0
}

// Pin binds a pod to a node by a label. With the node's name instead, the scheduler
// would have no part in it, and it is the one that has volumes bound.
func Pin(pod *corev1.Pod, n *corev1.Node) {
	pod.Spec.NodeSelector = maps.Clone(pod.Spec.NodeSelector)
	if pod.Spec.NodeSelector == nil {
		pod.Spec.NodeSelector = map[string]string{}
	}
	pod.Spec.NodeSelector[corev1.LabelHostname] = n.Labels[corev1.LabelHostname]
}
