package kube

import (
	"context"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment"
	"tare/testbed/kube/accounting"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/placement"
	"tare/testbed/kube/pods"
)

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
	namespace, err := on.makeNodesNamespace(ctx, s.level.Namespace, level)
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
