package kube

import (
	"fmt"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/inventory"
)

// memberLabel is the label with a member's number, from 1, if the service has several members. All members
// have the role "server". For clients after the first, the label holds the client's number.
const memberLabel = "tare/member"

var (
	_ testbed.Members = (*Site)(nil)
	_ testbed.Clients = (*Site)(nil)
)

// clients returns the number of client pods.
func (s *Site) clients() int {
	if !s.needs.Network {
		return 1
	}
	return max(s.needs.Clients, 1)
}

// Clients lists the places of the client pods.
func (s *Site) Clients() []testbed.Place {
	var list []testbed.Place
	for i := range s.clients() {
		list = append(list, testbed.Client(i+1))
	}
	return list
}

// planClient returns the pod of client i, counted from 1, before layers change it. Only the
// first client has the volume.
func (s *Site) planClient(i int) *corev1.Pod {
	pod := s.planPod(roleClient)
	if i == 1 {
		s.mount(pod, testbed.ClientPod)
		return pod
	}
	pod.Labels[memberLabel] = strconv.Itoa(i)
	pod.Name = s.name(podTitle(pod))
	return pod
}

// members returns the number of server pods.
func (s *Site) members() int {
	if !s.hasServer() {
		return 0
	}
	return max(s.needs.Members, 1)
}

// places lists all places at which the site may have pods, in the order in which the pods are made.
func (s *Site) places() []testbed.Place {
	return testbed.Places(experiment.Needs{
		Network: true, HostNetwork: true, Members: s.needs.Members, Clients: s.needs.Clients,
	})
}

// planMember returns the pod of member i, counted from 1, before layers change it.
func (s *Site) planMember(i int) *corev1.Pod {
	pod := s.planPod(roleServer)
	if s.members() > 1 {
		pod.Labels[memberLabel] = strconv.Itoa(i)
		pod.Name = s.name(memberName(i))
	}
	s.mount(pod, testbed.Member(i))
	return pod
}

// memberName returns the name of member i, counted from 1, for the names of its objects.
func memberName(i int) string {
	if i == 1 {
		return roleServer
	}
	return roleServer + "-" + strconv.Itoa(i)
}

// podTitle returns the role of a pod. For a member or a client after the first, its number follows:
// "server-2".
func podTitle(pod *corev1.Pod) string {
	if n := pod.Labels[memberLabel]; n != "" && n != "1" {
		return pod.Labels[inventory.RoleLabel] + "-" + n
	}
	return pod.Labels[inventory.RoleLabel]
}

// Members lists the addresses of the members' pods. It is empty before the site is ready.
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

// nodeCount returns the number of nodes on which the first n pods of a kind run. place returns the place of
// the pod with a number, from 1.
func (s *Site) nodeCount(n int, place func(number int) testbed.Place) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := map[string]bool{}
	for i := range n {
		if p := s.pods[place(i+1)]; p != nil {
			nodes[p.Node()] = true
		}
	}
	return len(nodes)
}

// clientNote returns a note for the run to record if clients share nodes, and otherwise "". A second client
// on the same node may not add load.
func (s *Site) clientNote() string {
	nodes := s.nodeCount(s.clients(), testbed.Client)
	if nodes == s.clients() {
		return ""
	}
	return fmt.Sprintf("arm %s: the %d client pods share %d of the nodes without a server",
		shorten(s.arm), s.clients(), nodes)
}

// memberNote returns a note for the run to record if members share nodes because the cluster has too few
// nodes, and otherwise "".
func (s *Site) memberNote() string {
	nodes := s.nodeCount(s.members(), testbed.Member)
	if nodes == s.members() || len(s.level.Nodes) > 0 || s.placement() == experiment.SameNode {
		return ""
	}
	return fmt.Sprintf("arm %s: the %d members of the service share %d nodes beside the client's, "+
		"because there are no more: traffic between members on one node is on no wire",
		shorten(s.arm), s.members(), nodes)
}
