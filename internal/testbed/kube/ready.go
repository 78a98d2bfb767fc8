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
	"tare/internal/testbed"
	"tare/internal/testbed/kube/accounting"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/placement"
	"tare/internal/testbed/kube/pods"
	"tare/internal/text/safetext"
)

// Ready makes the site with the layers' changes, and waits until its pods, if any, are ready.
func (s *Site) Ready(ctx context.Context) error {
	if !s.needs.PodsOnClusters() {
		// A workload that works only on clusters, as Only says, needs a namespace in every arm, for example for its
		// proofs.
		if len(s.shapes.namespace) > 0 || s.needs.Only == experiment.TestbedKubernetes {
			_, err := s.ensureNamespace(ctx)
			return err
		}
		return nil
	}
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return err
	}
	plans, err := s.plans(ctx, on)
	if err != nil {
		return err
	}
	if err := s.claim(ctx, on); err != nil {
		return err
	}
	if err := s.makeService(ctx, on); err != nil {
		return err
	}
	var list []*pods.Pod
	made := map[testbed.Place]*pods.Pod{}
	for _, where := range s.places() {
		if plan := plans[where]; plan != nil {
			p := on.pods.New(plan)
			list, made[where] = append(list, p), p
		}
	}
	s.mu.Lock()
	s.pods = made
	s.mu.Unlock()
	s.bed.options.Say(fmt.Sprintf("making the pods of arm %s", safetext.Head(s.arm, 100)))
	if err := on.pods.Launch(ctx, list...); err != nil {
		return s.withClaim(ctx, err)
	}
	if s.level.Accounting != experiment.OnNode {
		return nil
	}
	return on.counter.MakePods(ctx, s.accountingSite(on), s.nodes()) // accounting pods must be ready before the first program starts
}

// plans returns the site's pods, complete and bound to their nodes, before they are made.
func (s *Site) plans(ctx context.Context, on *clusterRun) (map[testbed.Place]*corev1.Pod, error) {
	plans := map[testbed.Place]*corev1.Pod{}
	want := placement.Request{Placement: s.placement(), Spread: s.level.Spread, Nodes: s.level.Nodes.OrZero()}
	for i := range s.clients() {
		plan := s.planAt(testbed.Client(i+1), roleClient, i+1)
		plans[testbed.Client(i+1)] = plan
		want.Clients = append(want.Clients, placement.PodNeeds{Role: podTitle(plan), Choice: s.level.Client, Pod: plan})
	}
	for i := range s.members() {
		plan := s.planAt(testbed.Member(i+1), roleServer, i+1)
		plans[testbed.Member(i+1)] = plan
		want.Servers = append(want.Servers, placement.PodNeeds{Role: podTitle(plan), Choice: s.level.Server, Pod: plan})
	}
	for _, plan := range plans {
		for _, shape := range s.shapes.pods {
			if err := shape(plan); err != nil {
				return nil, fmt.Errorf("shape the %s pod: %w", podTitle(plan), err)
			}
		}
	}
	for _, added := range s.shapes.sidecars { // sidecars are added last, since the layers' changes must not apply to them
		if plan := plans[added.pod]; plan != nil {
			pods.AddSidecar(plan, s.level.Image, added.sidecar)
		}
	}
	nodes, err := on.nodes.Choose(ctx, want)
	if err != nil {
		return nil, err
	}
	for i, n := range nodes.Clients {
		placement.Pin(plans[testbed.Client(i+1)], n)
	}
	for i, n := range nodes.Servers {
		placement.Pin(plans[testbed.Member(i+1)], n)
	}
	if s.needs.HostNetwork {
		if err := s.planOnNodes(ctx, on, plans, nodes); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

func (s *Site) placement() experiment.Placement {
	if len(s.level.Placement) == 0 {
		return experiment.DifferentNodes
	}
	return s.level.Placement.One()
}

// planOnNodes adds the pods that stand for programs on nodes. These pods use the network of their node, and no layer
// changes them.
func (s *Site) planOnNodes(ctx context.Context, on *clusterRun, plans map[testbed.Place]*corev1.Pod, nodes placement.Choice) error {
	s.bed.options.Say("pods in the host's network need Pod Security " + privileged +
		": the path node-to-node is measured on the nodes themselves")
	namespace, err := on.makeNodesNamespace(ctx, s.level.Namespace, privileged, s.level.Image)
	if err != nil {
		return err
	}
	add := func(where testbed.Place, role string, node *corev1.Node) {
		plan := s.planPod(role)
		plan.Name, plan.Namespace = cluster.Label(s.unique, cluster.NameLimit-len(role)-1)+"-"+role, namespace
		pods.OnHost(plan)
		placement.Pin(plan, node)
		plans[where] = plan
	}
	add(testbed.ClientNode, roleClientNode, nodes.Client)
	add(testbed.ServerNode, roleServerNode, nodes.Server)
	return nil
}

// planPod returns a pod before layers change it: with Pod Security restricted and, by default, QoS class Guaranteed.
func (s *Site) planPod(role string) *corev1.Pod {
	pod := pods.Plan(s.bed.session.Owner, s.level, s.name(role), role)
	pod.Labels = s.bed.session.Owner.Labels(s.arm, role)
	pod.Labels[siteLabel] = s.unique
	pod.Namespace = s.Namespace()
	pod.Spec.Containers[0].Resources = requirements(s.level.Resources)
	if image := s.needs.Image; image != "" && image != s.level.Image {
		pods.Install(pod, s.level.Image, image)
	}
	return pod
}

// requirements returns a container's limits and requests. Without a value of its own, a request equals the limit.
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

// amount parses a quantity, which may end with K instead of k. ok is false for "none" and "".
func amount(text string) (resource.Quantity, bool) {
	if n, ok := strings.CutSuffix(text, "K"); ok {
		text = n + "k"
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

func (s *Site) accountingSite(on *clusterRun) accounting.Site {
	return accounting.Site{
		Arm: s.arm, Pods: s.podList(), Nodes: s.nodes(), How: s.level.Accounting, Observe: s.level.Observe,
		NodePod: func(ctx context.Context, node string) (*pods.Pod, error) { return s.makeNodePod(ctx, on, node) },
	}
}

// makeNodePod makes the pod that reads a node's counters for all arms. The pod exists until the testbed closes.
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
	// Long pod names are cut off, and nodes' names often differ only at their end. A digest of the node's name keeps
	// the pod's name unique.
	digest := fnv.New32a()
	digest.Write([]byte(node))
	plan := s.planNodePod(fmt.Sprintf("tare-%s-%s-%08x-%s", on.owner, accounting.RoleNode, digest.Sum32(), node))
	plan.Namespace = namespace
	placement.Pin(plan, n)
	plan.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	p := on.pods.New(plan)
	return p, on.pods.Launch(ctx, p)
}

func (s *Site) planNodePod(name string) *corev1.Pod {
	plan := pods.Plan(s.bed.session.Owner, s.level, cluster.Label(name, cluster.NameLimit), accounting.RoleNode)
	accounting.ShapeNodePod(plan, s.level.Accounting)
	return plan
}
