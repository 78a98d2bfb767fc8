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

// Pair is the nodes of the client and the server. Both are the same one with
// placement same-node; the server's is nil where there is no server.
type Pair struct {
	Client, Server *corev1.Node

	placement experiment.Placement
}

// Chooser chooses nodes on one cluster, and remembers what it has chosen.
type Chooser struct {
	on *cluster.Cluster

	mu     sync.Mutex
	chosen []Pair
}

// NewChooser chooses on a cluster.
func NewChooser(on *cluster.Cluster) *Chooser { return &Chooser{on: on} }

// Choose gives the nodes for a site: those of an earlier choice where they will do,
// else the first ones by name, workers before control planes.
func (c *Chooser) Choose(ctx context.Context, r Request) (Pair, error) {
	list, err := c.on.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return Pair{}, fmt.Errorf("list the nodes: %w", cluster.Explain(err))
	}
	nodes := list.Items
	slices.SortFunc(nodes, func(a, b corev1.Node) int {
		return cmp.Or(cmp.Compare(controlPlane(&a), controlPlane(&b)), strings.Compare(a.Name, b.Name))
	})
	if err := resolveRuntime(ctx, c.on, r.Client.Pod, r.Server.Pod); err != nil {
		return Pair{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, before := range c.chosen {
		client, server := find(nodes, before.Client), find(nodes, before.Server)
		if before.placement == r.Placement && r.fits(client, server) {
			return Pair{placement: r.Placement, Client: client, Server: server}, nil
		}
	}
	for i := range nodes {
		if r.Server.Pod == nil {
			if r.fits(&nodes[i], nil) {
				return c.keep(Pair{placement: r.Placement, Client: &nodes[i]}), nil
			}
			continue
		}
		for j := range nodes {
			if r.fits(&nodes[i], &nodes[j]) {
				return c.keep(Pair{placement: r.Placement, Client: &nodes[i], Server: &nodes[j]}), nil
			}
		}
	}
	return Pair{}, r.explain(nodes)
}

// keep remembers a choice for the sites that follow.
func (c *Chooser) keep(p Pair) Pair {
	c.chosen = append(c.chosen, p)
	return p
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
