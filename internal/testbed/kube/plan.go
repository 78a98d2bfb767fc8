package kube

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/testbed/kube/accounting"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/placement"
	"tare/internal/testbed/kube/pods"
)

// planPod returns a pod of the site before layers change it. The pod meets the Pod Security level restricted.
// Its quality-of-service class is Guaranteed, unless the experiment sets other resources.
func (s *Site) planPod(role string) *corev1.Pod {
	pod := pods.Plan(s.run.session.Owner, s.level, s.name(role), role)
	pod.Labels = s.run.session.Owner.Labels(s.arm, role)
	pod.Labels[siteLabel] = s.unique
	pod.Namespace = s.Namespace()
	pod.Spec.Containers[0].Resources = requirements(s.level.Resources)
	if image := s.needs.Image; image != "" && image != s.level.Image {
		pods.Install(pod, s.level.Image, image)
	}
	return pod
}

// requirements returns a container's limits and requests. If the experiment does not set a request, the
// request equals the limit.
func requirements(r experiment.Resources) corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{Limits: corev1.ResourceList{}, Requests: corev1.ResourceList{}}
	set := func(name corev1.ResourceName, limit, request string) {
		if q, ok := amount(limit); ok {
			out.Limits[name], out.Requests[name] = q, q
		}
		if q, ok := amount(request); ok {
			out.Requests[name] = q
		}
	}
	set(corev1.ResourceCPU, r.CPU, r.CPURequest)
	set(corev1.ResourceMemory, r.Memory, r.MemoryRequest)
	return out
}

// amount parses a quantity that was validated when the experiment was loaded. ok is false for "none" and "".
// Tare's suffix K becomes k, the suffix that Kubernetes requires.
func amount(text string) (resource.Quantity, bool) {
	if n, ok := strings.CutSuffix(text, "K"); ok {
		text = n + "k"
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// accountingSite describes the site for package accounting.
func (s *Site) accountingSite(on *clusterRun) accounting.Site {
	return accounting.Site{
		Arm: s.arm, Pods: s.podList(), Nodes: s.nodes(), How: s.level.Accounting, Observe: s.level.Observe,
		NodePod: func(ctx context.Context, node string) (*pods.Pod, error) { return s.makeNodePod(ctx, on, node) },
	}
}

// makeNodePod makes the pod that reads a node's counters. The pod belongs to the node, and not to an arm. It
// stays until the testbed closes.
func (s *Site) makeNodePod(ctx context.Context, on *clusterRun, node string) (*pods.Pod, error) {
	level := restricted
	if s.level.Accounting == experiment.OnNode {
		level = privileged
	}
	namespace, err := on.makeNodesNamespace(ctx, s.level.Namespace, level, s.level.Image)
	if err != nil {
		return nil, err
	}
	n, err := on.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node, cluster.Explain(err))
	}
	// The name of a pod is cut at a limit, and the names of nodes often differ only in their last letters.
	// The digest therefore makes the pod's name unique.
	digest := fnv.New32a()
	digest.Write([]byte(node))
	plan := s.planNodePod(fmt.Sprintf("tare-%s-%s-%08x-%s", on.owner, accounting.RoleNode, digest.Sum32(), node))
	plan.Namespace = namespace
	placement.Pin(plan, n)
	plan.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	p := on.pods.New(plan)
	return p, on.pods.Launch(ctx, p)
}

// planNodePod returns the pod that will read a node's counters. The pod has no node yet.
func (s *Site) planNodePod(name string) *corev1.Pod {
	plan := pods.Plan(s.run.session.Owner, s.level, cluster.Label(name, cluster.NameLimit), accounting.RoleNode)
	accounting.ShapeNodePod(plan, s.level.Accounting)
	return plan
}
