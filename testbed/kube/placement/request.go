package placement

import (
	"context"
	"fmt"
	"maps"
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

// Request is what the nodes of a site have to satisfy.
type Request struct {
	Placement      experiment.Placement
	Spread         string // label in which the nodes must differ; "": none
	Client, Server End
	// Members are the further server pods of a service that has several, from the second.
	Members []End
	// Clients are the further client pods, from the second.
	Clients []End
	// Nodes is how many nodes they go round, that of the server included; 0: one for each,
	// as far as there are as many.
	Nodes int
}

// End is what one pod asks of its node.
type End struct {
	Role   string // "client"
	Choice experiment.NodeChoice
	Pod    *corev1.Pod // nil: there is no such pod
}

// fits says whether two nodes are what is asked for.
func (r Request) fits(client, server *corev1.Node) bool {
	if client == nil || r.Client.Refuses(client) != "" || (server == nil) != (r.Server.Pod == nil) {
		return false
	}
	if server == nil {
		return true
	}
	if r.Server.Refuses(server) != "" || (client.Name == server.Name) != (r.Placement == experiment.SameNode) {
		return false
	}
	return r.Placement == experiment.SameNode || r.apart(client, server)
}

// apart says whether two nodes differ in the label in which they must.
func (r Request) apart(client, server *corev1.Node) bool {
	return r.Spread == "" || client.Labels[r.Spread] != server.Labels[r.Spread] && client.Labels[r.Spread] != "" && server.Labels[r.Spread] != ""
}

// Refuses says why a node will not do, "" if it will.
func (e End) Refuses(n *corev1.Node) string {
	if e.Choice.Node != "" && e.Choice.Node != n.Name {
		return "is not the node asked for"
	}
	for _, want := range []map[string]string{e.Choice.Labels, e.Pod.Spec.NodeSelector} {
		for _, key := range slices.Sorted(maps.Keys(want)) {
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
		if taint := &n.Spec.Taints[i]; taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(taint, e.Pod.Spec.Tolerations) {
			return "has taint " + safetext.Head(taint.ToString(), 120)
		}
	}
	return tooSmall(n, e.Pod)
}

// tolerated says whether a pod with these tolerations may run despite the taint.
func tolerated(taint *corev1.Taint, tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
			(t.Operator == corev1.TolerationOpExists || t.Key != "" && t.Value == taint.Value)
	})
}

// tooSmall says what of a node is less than pods ask for, whatever else runs there.
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

// explain says why no nodes are what is asked for.
func (r Request) explain(nodes []corev1.Node) error {
	why := func(e End) (fit int, reasons string) {
		const most = 8 // nodes that are named
		var said []string
		for i := range nodes {
			if reason := e.Refuses(&nodes[i]); reason == "" {
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
	ends := []End{r.Client}
	if r.Server.Pod != nil {
		ends = append(ends, r.Server)
	}
	for _, e := range ends {
		if fit, reasons := why(e); fit == 0 {
			if reasons == "" {
				reasons = "the cluster has none"
			}
			return fmt.Errorf("no node will do for the %s pod (%d of %d): %s", e.Role, fit, len(nodes), reasons)
		}
	}
	fit, reasons := why(r.Client)
	if reasons != "" {
		reasons = ": " + reasons
	}
	if r.Placement == experiment.SameNode {
		return fmt.Errorf("no node will do for both the client and the server pod (placement: %s)%s", r.Placement, reasons)
	}
	if r.Spread != "" {
		return fmt.Errorf("%d of %d nodes will do, but no two of them differ in the label %s (spread)%s", fit, len(nodes), safetext.Head(r.Spread, 100), reasons)
	}
	return fmt.Errorf("%d of %d nodes will do, and client and server need two (placement: %s puts both on one)%s", fit, len(nodes), experiment.SameNode, reasons)
}

// resolveRuntime lets pods of a RuntimeClass ask of nodes what the class does, as
// the API server will have them do.
func resolveRuntime(ctx context.Context, on *cluster.Cluster, pods ...*corev1.Pod) error {
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
