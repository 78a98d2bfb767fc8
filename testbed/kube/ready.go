package kube

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment"
	"tare/safetext"
	"tare/testbed"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
	"tare/testbed/kube/placement"
)

// Ready makes the site, with what layers have asked for, and waits until it can
// be used. A site without pods has nothing to make.
func (s *Site) Ready(ctx context.Context) error {
	if !s.needs.Pods() {
		if len(s.shapes.namespace) > 0 {
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
	var pods []*pod
	made := map[testbed.Place]*pod{}
	for _, where := range testbed.Host.Values() {
		if plan := plans[testbed.Place(where)]; plan != nil {
			p := on.newPod(plan)
			pods, made[testbed.Place(where)] = append(pods, p), p
		}
	}
	s.mu.Lock()
	s.pods = made
	s.mu.Unlock()
	s.bed.options.Say(fmt.Sprintf("making the pods of arm %s", safetext.Head(s.arm, 100)))
	if err := on.launch(ctx, pods...); err != nil {
		return s.withClaim(ctx, err)
	}
	if s.level.Accounting != experiment.OnNode {
		return nil
	}
	a, err := s.accounting(ctx) // the first program is counted already
	if err != nil {
		return err
	}
	return a.cover(ctx, s, s.nodes())
}

// plans gives the site's pods as they are to be made, with their nodes.
func (s *Site) plans(ctx context.Context, on *presence) (map[testbed.Place]*corev1.Pod, error) {
	plans := map[testbed.Place]*corev1.Pod{testbed.ClientPod: s.planPod(roleClient)}
	if s.paired() {
		plans[testbed.ServerPod] = s.planPod(roleServer)
	}
	for _, plan := range plans {
		for _, shape := range s.shapes.pods {
			if err := shape(plan); err != nil {
				return nil, fmt.Errorf("shape the %s pod: %w", plan.Labels[inventory.RoleLabel], err)
			}
		}
	}
	client, server := plans[testbed.ClientPod], plans[testbed.ServerPod]
	nodes, err := on.nodes.Choose(ctx, placement.Request{
		Placement: s.placement(), Spread: s.level.Spread,
		Client: placement.End{Role: roleClient, Choice: s.level.Client, Pod: client},
		Server: placement.End{Role: roleServer, Choice: s.level.Server, Pod: server},
	})
	if err != nil {
		return nil, err
	}
	placement.Pin(client, nodes.Client)
	if server != nil {
		placement.Pin(server, nodes.Server)
	}
	if s.needs.HostNetwork {
		if err := s.planOnNodes(ctx, on, plans, nodes); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// paired says whether there is a server beside the client.
func (s *Site) paired() bool { return s.needs.Network || s.needs.HostNetwork }

func (s *Site) placement() experiment.Placement {
	if len(s.level.Placement) == 0 {
		return experiment.DifferentNodes
	}
	return s.level.Placement.One()
}

// planOnNodes adds the pods in the network of the nodes themselves. They stand
// for programs outside of any pod, so that layers do not shape them.
func (s *Site) planOnNodes(ctx context.Context, on *presence, plans map[testbed.Place]*corev1.Pod, nodes placement.Pair) error {
	s.bed.options.Say("pods in the host's network need Pod Security " + privileged + ": the path node-to-node is measured on the nodes themselves")
	namespace, err := on.makeNodesNamespace(ctx, s.level.Namespace, privileged)
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
		plan.Spec.HostNetwork = true
		placement.Pin(plan, one.node)
		plans[one.where] = plan
	}
	return nil
}

// makeService makes the service in front of the server, and notes its address.
func (s *Site) makeService(ctx context.Context, on *presence) error {
	if !s.paired() {
		return nil
	}
	want := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.name("server"), Namespace: s.Namespace(), Labels: s.bed.session.Owner.Labels(s.arm, roleServer)},
		Spec:       corev1.ServiceSpec{Selector: s.bed.session.Owner.Labels(s.arm, roleServer)},
	}
	want.Spec.Selector[siteLabel] = s.unique
	for _, port := range s.Ports() {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			name := fmt.Sprintf("tcp-%d", port)
			if protocol == corev1.ProtocolUDP {
				name = fmt.Sprintf("udp-%d", port)
			}
			want.Spec.Ports = append(want.Spec.Ports, corev1.ServicePort{Name: name, Protocol: protocol, Port: int32(port)})
		}
	}
	services := on.Client.CoreV1().Services(want.Namespace)
	if err := on.record.Add(ctx, inventory.Core("services", want.Namespace, want.Name)); err != nil {
		return err
	}
	made, err := services.Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if made, err = services.Get(ctx, want.Name, metav1.GetOptions{}); err == nil && !on.bed.session.Owner.Owns(made) {
			err = fmt.Errorf("it exists already, and is not of this run")
		}
	}
	if err != nil {
		return fmt.Errorf("make service %s/%s: %w", want.Namespace, want.Name, cluster.Explain(err))
	}
	address, err := netip.ParseAddr(made.Spec.ClusterIP)
	if err != nil {
		return fmt.Errorf("service %s/%s has no address: %q", want.Namespace, want.Name, safetext.Head(made.Spec.ClusterIP, 64))
	}
	s.mu.Lock()
	s.service = address
	s.mu.Unlock()
	return nil
}
