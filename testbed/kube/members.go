package kube

import (
	"fmt"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/kube/inventory"
)

// memberLabel has the number of a member, from 1, on the pods of a service that has several.
// All of them have the role of the server. Further clients have their number there, too.
const memberLabel = "tare/member"

var (
	_ testbed.Members = (*Site)(nil)
	_ testbed.Clients = (*Site)(nil)
)

// clients is the number of client pods.
func (s *Site) clients() int {
	if !s.needs.Network {
		return 1
	}
	return max(s.needs.Clients, 1)
}

// Clients are the places of the clients' pods.
func (s *Site) Clients() []testbed.Place {
	var list []testbed.Place
	for i := range s.clients() {
		list = append(list, testbed.Client(i+1))
	}
	return list
}

// planClient is the pod of a client, from 1, before layers change it. The volume is the first
// one's.
func (s *Site) planClient(i int) *corev1.Pod {
	pod := s.planPod(roleClient)
	if i == 1 {
		s.mount(pod, testbed.ClientPod)
		return pod
	}
	pod.Labels[memberLabel] = strconv.Itoa(i)
	pod.Name = s.name(title(pod))
	return pod
}

// members is the number of server pods.
func (s *Site) members() int {
	if !s.paired() {
		return 0
	}
	return max(s.needs.Members, 1)
}

// places lists where the site may have pods, in the order in which they are made.
func (s *Site) places() []testbed.Place {
	return testbed.Places(experiment.Needs{Network: true, HostNetwork: true, Members: s.needs.Members, Clients: s.needs.Clients})
}

// planMember is the pod of a member, from 1, before layers change it.
func (s *Site) planMember(i int) *corev1.Pod {
	pod := s.planPod(roleServer)
	if s.members() > 1 {
		pod.Labels[memberLabel] = strconv.Itoa(i)
		pod.Name = s.name(memberName(i))
	}
	s.mount(pod, testbed.Member(i))
	return pod
}

// memberName is how a member is called, from 1, in the names of what belongs to it.
func memberName(i int) string {
	if i == 1 {
		return roleServer
	}
	return roleServer + "-" + strconv.Itoa(i)
}

// title is the role of a pod, with the number of a further member or client: "server-2".
func title(pod *corev1.Pod) string {
	if n := pod.Labels[memberLabel]; n != "" && n != "1" {
		return pod.Labels[inventory.RoleLabel] + "-" + n
	}
	return pod.Labels[inventory.RoleLabel]
}

// Members are the addresses of the members' pods, from the first. Before the site is ready
// there are none.
func (s *Site) Members() []netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []netip.Addr
	for i := range s.members() {
		if p := s.pods[testbed.Member(i+1)]; p != nil {
			list = append(list, p.Address())
		}
	}
	return list
}

// nodesOf is on how many nodes so many pods are.
func (s *Site) nodesOf(pods int, place func(number int) testbed.Place) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := map[string]bool{}
	for i := range pods {
		if p := s.pods[place(i+1)]; p != nil {
			nodes[p.Node()] = true
		}
	}
	return len(nodes)
}

// clientNote says that clients share nodes; "" if they do not. Together they make no more load
// than their nodes do.
func (s *Site) clientNote() string {
	nodes := s.nodesOf(s.clients(), testbed.Client)
	if nodes == s.clients() {
		return ""
	}
	return fmt.Sprintf("arm %s: the %d client pods share %d of the nodes on which there is no server", short(s.arm), s.clients(), nodes)
}

// memberNote says that members share nodes because there are no more; "" if they do not, or
// as the experiment has it.
func (s *Site) memberNote() string {
	nodes := s.nodesOf(s.members(), testbed.Member)
	if nodes == s.members() || len(s.level.Nodes) > 0 || s.placement() == experiment.SameNode {
		return ""
	}
	return fmt.Sprintf("arm %s: the %d members of the service share %d of the nodes beside the client's, for want of more: what members on one node send each other is on no wire",
		short(s.arm), s.members(), nodes)
}
