package kube

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment"
	"tare/testbed/kube/accounting"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/placement"
	"tare/testbed/kube/pods"
)

// planPod is a workload pod of the site before layers change it. It meets the
// level restricted of Pod Security, and is of the quality of service Guaranteed
// unless the experiment says otherwise.
func (s *Site) planPod(role string) *corev1.Pod {
	pod := pods.Plan(s.run.session.Owner, s.level, s.name(role), role)
	pod.Labels = s.run.session.Owner.Labels(s.arm, role)
	pod.Labels[siteLabel] = s.unique
	pod.Namespace = s.Namespace()
	tare := &pod.Spec.Containers[0]
	tare.Resources = requirements(s.level.Resources)
	if image := s.needs.Image; image != "" && image != s.level.Image {
		pods.Install(pod, s.level.Image, image)
	}
	return pod
}

// requirements are the limits, and requests: as much as the limits unless they are
// given.
func requirements(r experiment.Resources) corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{Limits: corev1.ResourceList{}, Requests: corev1.ResourceList{}}
	for _, one := range []struct {
		name           corev1.ResourceName
		limit, request string
	}{{corev1.ResourceCPU, r.CPU, r.CPURequest}, {corev1.ResourceMemory, r.Memory, r.MemoryRequest}} {
		if q, ok := amount(one.limit); ok {
			out.Limits[one.name], out.Requests[one.name] = q, q
		}
		if q, ok := amount(one.request); ok {
			out.Requests[one.name] = q
		}
	}
	return out
}

// amount reads a quantity, whose form was checked when the experiment was loaded; ok is
// false for "none" and "". Kubernetes writes a thousand as k only.
func amount(text string) (resource.Quantity, bool) {
	if n, ok := strings.CutSuffix(text, "K"); ok {
		text = n + "k"
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// counted is the site as accounting sees it.
func (s *Site) counted(on *clusterRun) accounting.Site {
	return accounting.Site{
		Arm: s.arm, Pods: s.all(), Nodes: s.nodes(), How: s.level.Accounting, Observe: s.level.Observe,
		NodePod: func(ctx context.Context, node string) (*pods.Pod, error) { return s.makeNodePod(ctx, on, node) },
	}
}

// makeNodePod makes the pod that counts on a node, in the namespace for such pods. It
// is about the node and not about an arm, and goes with the testbed.
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
	// Names of nodes are long and often differ in their last letters only.
	digest := fnv.New32a()
	digest.Write([]byte(node))
	plan := s.planNodePod(fmt.Sprintf("tare-%s-%s-%08x-%s", on.owner, accounting.RoleNode, digest.Sum32(), node))
	plan.Namespace = namespace
	placement.Pin(plan, n)
	plan.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	p := on.pods.New(plan)
	return p, on.pods.Launch(ctx, p)
}

// planNodePod is a pod that counts on a node, before it has one.
func (s *Site) planNodePod(name string) *corev1.Pod {
	plan := pods.Plan(s.run.session.Owner, s.level, cluster.Label(name, cluster.NameLimit), accounting.RoleNode)
	accounting.ShapeNodePod(plan, s.level.Accounting)
	return plan
}
