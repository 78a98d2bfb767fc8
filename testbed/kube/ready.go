package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"tare/experiment"
	"tare/safetext"
	"tare/testbed"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/placement"
	"tare/testbed/kube/pods"
)

// Ready makes the site, with what layers have asked for, and waits until it can
// be used. A site without pods has at most a namespace.
func (s *Site) Ready(ctx context.Context) error {
	if !s.needs.PodsOnClusters() {
		// A workload for clusters alone makes its objects there; that of every arm is made now,
		// so that a layer can be shown to be off in it.
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
	s.run.options.Say(fmt.Sprintf("making the pods of arm %s", safetext.Head(s.arm, 100)))
	if err := on.pods.Launch(ctx, list...); err != nil {
		return s.withClaim(ctx, err)
	}
	if s.level.Accounting != experiment.OnNode {
		return nil
	}
	return on.counter.Cover(ctx, s.counted(on)) // the first program is counted already
}

// plans gives the site's pods as they are to be made, with their nodes.
func (s *Site) plans(ctx context.Context, on *clusterRun) (map[testbed.Place]*corev1.Pod, error) {
	plans := map[testbed.Place]*corev1.Pod{}
	for i := range s.clients() {
		plans[testbed.Client(i+1)] = s.planClient(i + 1)
	}
	for i := range s.members() {
		plans[testbed.Member(i+1)] = s.planMember(i + 1)
	}
	for _, plan := range plans {
		for _, shape := range s.shapes.pods {
			if err := shape(plan); err != nil {
				return nil, fmt.Errorf("shape the %s pod: %w", title(plan), err)
			}
		}
	}
	for _, one := range s.shapes.sidecars { // after what layers change in the containers of programs
		if plan := plans[one.pod]; plan != nil {
			pods.AddSidecar(plan, s.level.Image, one.want)
		}
	}
	client, server := plans[testbed.ClientPod], plans[testbed.ServerPod]
	want := placement.Request{
		Placement: s.placement(), Spread: s.level.Spread, Nodes: s.level.Nodes.OrZero(),
		Client: placement.End{Role: roleClient, Choice: s.level.Client, Pod: client},
		Server: placement.End{Role: roleServer, Choice: s.level.Server, Pod: server},
	}
	for i := 2; i <= s.members(); i++ {
		plan := plans[testbed.Member(i)]
		want.Members = append(want.Members, placement.End{Role: title(plan), Choice: s.level.Server, Pod: plan})
	}
	for i := 2; i <= s.clients(); i++ {
		plan := plans[testbed.Client(i)]
		want.Clients = append(want.Clients, placement.End{Role: title(plan), Choice: s.level.Client, Pod: plan})
	}
	nodes, err := on.nodes.Choose(ctx, want)
	if err != nil {
		return nil, err
	}
	placement.Pin(client, nodes.Client)
	if server != nil {
		placement.Pin(server, nodes.Server)
	}
	for i, n := range nodes.Members {
		placement.Pin(plans[testbed.Member(i+2)], n)
	}
	for i, n := range nodes.Clients {
		placement.Pin(plans[testbed.Client(i+2)], n)
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

// planOnNodes adds the pods in the network of the nodes themselves. They stand for
// programs that run on a node outside of any pod, so layers do not shape them.
func (s *Site) planOnNodes(ctx context.Context, on *clusterRun, plans map[testbed.Place]*corev1.Pod, nodes placement.Choice) error {
	s.run.options.Say("pods in the host's network need Pod Security " + privileged + ": the path node-to-node is measured on the nodes themselves")
	namespace, err := on.makeNodesNamespace(ctx, s.level.Namespace, privileged, s.level.Image)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		where testbed.Place
		role  string
		node  *corev1.Node
	}{{testbed.ClientNode, roleClientNode, nodes.Client}, {testbed.ServerNode, roleServerNode, nodes.Server}} {
		plan := s.planPod(one.role)
		plan.Name, plan.Namespace = cluster.Label(s.unique, cluster.NameLimit-len(one.role)-1)+"-"+one.role, namespace
		pods.OnHost(plan)
		placement.Pin(plan, one.node)
		plans[one.where] = plan
	}
	return nil
}
