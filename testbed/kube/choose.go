package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment"
	"tare/safetext"
	"tare/testbed/kube/cluster"
)

// Tare chooses the nodes itself, once, so that arms differ by their layers and
// not by where the scheduler happened to put them. Only an arm whose layers ask
// for other nodes gets others.

// choice is a pair of nodes; both are the same one with placement same-node, and
// the server's is nil where there is none.
type choice struct {
	placement experiment.Placement
	client    *corev1.Node
	server    *corev1.Node
}

// wish is what the nodes of a site have to satisfy.
type wish struct {
	placement      experiment.Placement
	spread         string
	client, server end
}

// end is what one pod asks of its node.
type end struct {
	role   string // "client"
	choice experiment.NodeChoice
	pod    *corev1.Pod // nil: there is no such pod
}

// choose gives the nodes for a wish: those of an earlier choice where they will
// do, else the first ones by name, workers before control planes.
func (on *presence) choose(ctx context.Context, w wish) (choice, error) {
	list, err := on.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return choice{}, fmt.Errorf("list the nodes: %w", cluster.Explain(err))
	}
	nodes := list.Items
	slices.SortFunc(nodes, func(a, b corev1.Node) int {
		return cmp.Or(cmp.Compare(controlPlane(&a), controlPlane(&b)), strings.Compare(a.Name, b.Name))
	})
	if err := on.resolveRuntime(ctx, w.client.pod, w.server.pod); err != nil {
		return choice{}, err
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	for _, before := range on.choices {
		client, server := find(nodes, before.client), find(nodes, before.server)
		if before.placement == w.placement && w.pair(client, server) {
			return choice{placement: w.placement, client: client, server: server}, nil
		}
	}
	for i := range nodes {
		if w.server.pod == nil {
			if w.pair(&nodes[i], nil) {
				return on.keep(choice{placement: w.placement, client: &nodes[i]}), nil
			}
			continue
		}
		for j := range nodes {
			if w.pair(&nodes[i], &nodes[j]) {
				return on.keep(choice{placement: w.placement, client: &nodes[i], server: &nodes[j]}), nil
			}
		}
	}
	return choice{}, w.explain(nodes)
}

// keep notes a choice for the sites that follow.
func (on *presence) keep(c choice) choice {
	on.choices = append(on.choices, c)
	return c
}

func find(nodes []corev1.Node, like *corev1.Node) *corev1.Node {
	for i := range nodes {
		if like != nil && nodes[i].Name == like.Name && nodes[i].UID == like.UID {
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

// pair says whether two nodes are a choice for the wish.
func (w wish) pair(client, server *corev1.Node) bool {
	if client == nil || w.client.refuses(client) != "" || (server == nil) != (w.server.pod == nil) {
		return false
	}
	if server == nil {
		return true
	}
	if w.server.refuses(server) != "" || (client.Name == server.Name) != (w.placement == experiment.SameNode) {
		return false
	}
	return w.spread == "" || w.placement == experiment.SameNode ||
		client.Labels[w.spread] != server.Labels[w.spread] && client.Labels[w.spread] != "" && server.Labels[w.spread] != ""
}

// refuses says why a node will not do, "" if it will.
func (e end) refuses(n *corev1.Node) string {
	if e.choice.Node != "" && e.choice.Node != n.Name {
		return "is not the node asked for"
	}
	for _, want := range []map[string]string{e.choice.Labels, e.pod.Spec.NodeSelector} {
		for _, key := range sortedKeys(want) {
			if got, ok := n.Labels[key]; !ok {
				return fmt.Sprintf("has no label %s", safetext.Head(key, 100))
			} else if got != want[key] {
				return fmt.Sprintf("has label %s=%s, not %s", safetext.Head(key, 100), safetext.Head(got, 64), safetext.Head(want[key], 64))
			}
		}
	}
	if os := n.Labels[corev1.LabelOSStable]; os != "" && os != "linux" {
		return "runs " + safetext.Head(os, 20)
	}
	if n.Labels[corev1.LabelHostname] == "" {
		return "has no label " + corev1.LabelHostname + " to choose it by"
	}
	if n.Spec.Unschedulable {
		return "is cordoned"
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return "is not ready: " + safetext.Head(c.Message, 120)
		}
	}
	for i := range n.Spec.Taints {
		if taint := &n.Spec.Taints[i]; taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(taint, e.pod.Spec.Tolerations) {
			return "has taint " + safetext.Head(taint.ToString(), 120)
		}
	}
	return tooSmall(n, e.pod)
}

func tolerated(taint *corev1.Taint, tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
			(t.Operator == corev1.TolerationOpExists || t.Key != "" && t.Value == taint.Value)
	})
}

// tooSmall says what of a node is less than the pod asks for, whatever else runs there.
func tooSmall(n *corev1.Node, pod *corev1.Pod) string {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		sum := resource.Quantity{}
		for _, c := range pod.Spec.Containers {
			sum.Add(c.Resources.Requests[name])
		}
		if has, ok := n.Status.Allocatable[name]; ok && has.Cmp(sum) < 0 {
			return fmt.Sprintf("has %s of %s for pods, less than %s", has.String(), name, sum.String())
		}
	}
	return ""
}

// explain says why no nodes are a choice for the wish.
func (w wish) explain(nodes []corev1.Node) error {
	why := func(e end) (fit int, reasons string) {
		const most = 8 // nodes that are named
		var said []string
		for i := range nodes {
			if reason := e.refuses(&nodes[i]); reason == "" {
				fit++
			} else {
				said = append(said, nodes[i].Name+" "+reason)
			}
		}
		if more := len(said) - most; more > 0 {
			said = append(said[:most], fmt.Sprintf("and %d more", more))
		}
		return fit, strings.Join(said, "; ")
	}
	ends := []end{w.client}
	if w.server.pod != nil {
		ends = append(ends, w.server)
	}
	for _, e := range ends {
		if fit, reasons := why(e); fit == 0 {
			if reasons == "" {
				reasons = "the cluster has none"
			}
			return fmt.Errorf("no node will do for the %s pod (%d of %d): %s", e.role, fit, len(nodes), reasons)
		}
	}
	fit, reasons := why(w.client)
	if reasons != "" {
		reasons = ": " + reasons
	}
	if w.placement == experiment.SameNode {
		return fmt.Errorf("no node will do for both the client and the server pod (placement: %s)%s", w.placement, reasons)
	}
	if w.spread != "" {
		return fmt.Errorf("%d of %d nodes will do, but no two of them differ in the label %s (spread)%s", fit, len(nodes), safetext.Head(w.spread, 100), reasons)
	}
	return fmt.Errorf("%d of %d nodes will do, and client and server need two (placement: %s puts both on one)%s", fit, len(nodes), experiment.SameNode, reasons)
}

// resolveRuntime lets pods of a RuntimeClass ask of nodes what the class does, as
// the API server will have them do.
func (on *presence) resolveRuntime(ctx context.Context, pods ...*corev1.Pod) error {
	for _, pod := range pods {
		if pod == nil || pod.Spec.RuntimeClassName == nil {
			continue
		}
		class, err := on.Client.NodeV1().RuntimeClasses().Get(ctx, *pod.Spec.RuntimeClassName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("there is no RuntimeClass %s in context %s", *pod.Spec.RuntimeClassName, on.Context)
		case err != nil || class.Scheduling == nil:
			continue // without the right to read it, the scheduler will tell
		}
		for k, v := range class.Scheduling.NodeSelector {
			if pod.Spec.NodeSelector == nil {
				pod.Spec.NodeSelector = map[string]string{}
			}
			pod.Spec.NodeSelector[k] = v
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, class.Scheduling.Tolerations...)
	}
	return nil
}
