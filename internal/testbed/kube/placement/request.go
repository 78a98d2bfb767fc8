package placement

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"tare/internal/experiment"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/text/safetext"
)

// Request describes a site's pods and the nodes that the pods need.
type Request struct {
	Placement experiment.Placement
	Spread    string     // node label whose values must differ between client and server; "": none
	Clients   []PodNeeds // client pods, at least one
	Servers   []PodNeeds // server pods: the members of the service
	// Nodes is the number of nodes that the members must have. With 0, each member has its own node if the cluster has
	// enough.
	Nodes int
}

// PodNeeds describes the node that one pod needs.
type PodNeeds struct {
	Role   string // role of the pod, such as "client"
	Choice experiment.NodeChoice
	Pod    *corev1.Pod
}

func (r Request) fits(client, server *corev1.Node) bool {
	if client == nil || r.Clients[0].Misfit(client) != "" || (server == nil) != (len(r.Servers) == 0) {
		return false
	}
	if server == nil {
		return true
	}
	if r.Servers[0].Misfit(server) != "" || (client.Name == server.Name) != (r.Placement == experiment.SameNode) {
		return false
	}
	return r.Placement == experiment.SameNode || r.differ(client, server)
}

// differ reports whether the nodes have different values of the label Spread. Without Spread, the result is true.
func (r Request) differ(client, server *corev1.Node) bool {
	a, b := client.Labels[r.Spread], server.Labels[r.Spread]
	return r.Spread == "" || a != b && a != "" && b != ""
}

// Misfit returns the reason why a node is not suitable for the pod; "" if the node is suitable.
func (p PodNeeds) Misfit(n *corev1.Node) string {
	if p.Choice.Node != "" && p.Choice.Node != n.Name {
		return "is not the node asked for"
	}
	for _, want := range []map[string]string{p.Choice.Labels, p.Pod.Spec.NodeSelector} {
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if got, ok := n.Labels[key]; !ok {
				return fmt.Sprintf("has no label %s", safetext.Head(key, 100))
			} else if got != want[key] {
				return fmt.Sprintf("has label %s=%s, not %s",
					safetext.Head(key, 100), safetext.Head(got, 64), safetext.Head(want[key], 64))
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
	for _, taint := range n.Spec.Taints {
		tolerates := func(t corev1.Toleration) bool { return t.ToleratesTaint(&taint) }
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(p.Pod.Spec.Tolerations, tolerates) {
			return "has taint " + safetext.Head(taint.ToString(), 120)
		}
	}
	return tooSmall(n, p.Pod)
}

// tooSmall names a resource of which an empty node has less than the pods request; "" if there is none.
func tooSmall(n *corev1.Node, pods ...*corev1.Pod) string {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		sum := resource.Quantity{}
		for _, pod := range pods {
			for _, c := range pod.Spec.Containers {
				sum.Add(c.Resources.Requests[name])
			}
		}
		if has, ok := n.Status.Allocatable[name]; ok && has.Cmp(sum) < 0 {
			return fmt.Sprintf("has %s of %s for pods, less than %s", has.String(), name, sum.String())
		}
	}
	return ""
}

func (r Request) explain(nodes []*corev1.Node) error {
	why := func(p PodNeeds) (fit int, reasons string) {
		const most = 8 // maximum number of nodes that the error names
		var list []string
		for _, n := range nodes {
			if reason := p.Misfit(n); reason != "" {
				list = append(list, n.Name+" "+reason)
			}
		}
		fit = len(nodes) - len(list)
		if extra := len(list) - most; extra > 0 {
			list = append(list[:most], fmt.Sprintf("and %d more", extra))
		}
		return fit, strings.Join(list, "; ")
	}
	for _, p := range slices.Concat(r.Clients[:1], r.Servers[:min(1, len(r.Servers))]) {
		if fit, reasons := why(p); fit == 0 {
			return fmt.Errorf("no node will do for the %s pod (%d of %d): %s",
				p.Role, fit, len(nodes), cmp.Or(reasons, "the cluster has none"))
		}
	}
	fit, reasons := why(r.Clients[0])
	if reasons != "" {
		reasons = ": " + reasons
	}
	if r.Placement == experiment.SameNode {
		return fmt.Errorf("no node will do for both the client and the server pod (placement: %s)%s", r.Placement, reasons)
	}
	if r.Spread != "" {
		return fmt.Errorf("%d of %d nodes will do, but no two of them differ in the label %s (spread)%s",
			fit, len(nodes), safetext.Head(r.Spread, 100), reasons)
	}
	return fmt.Errorf("%d of %d nodes will do, and client and server need two (placement: %s puts both on one)%s",
		fit, len(nodes), experiment.SameNode, reasons)
}

// resolveRuntime adds a RuntimeClass's node selector and tolerations to its pods, as the API server does later.
func resolveRuntime(ctx context.Context, on *cluster.Cluster, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if pod.Spec.RuntimeClassName == nil {
			continue
		}
		class, err := on.Client.NodeV1().RuntimeClasses().Get(ctx, *pod.Spec.RuntimeClassName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("there is no RuntimeClass %s in context %s", *pod.Spec.RuntimeClassName, on.Context)
		case err != nil || class.Scheduling == nil:
			continue // the class cannot be read or names no nodes: the scheduler checks the nodes later
		}
		pod.Spec.NodeSelector = labels.Merge(pod.Spec.NodeSelector, class.Scheduling.NodeSelector)
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, class.Scheduling.Tolerations...)
	}
	return nil
}
