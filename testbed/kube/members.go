package kube

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/kube/inventory"
)

// memberLabel has the number of a member, from 1, on the pods of a service that has several.
// All of them have the role of the server.
const memberLabel = "tare/member"

var _ testbed.Members = (*Site)(nil)

// members is the number of server pods.
func (s *Site) members() int {
	if !s.paired() {
		return 0
	}
	return max(s.needs.Members, 1)
}

// places lists where the site may have pods, in the order in which they are made.
func (s *Site) places() []testbed.Place {
	return testbed.Places(experiment.Needs{Network: true, HostNetwork: true, Members: s.needs.Members})
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

// title is the role of a pod, with the number of a further member: "server-2".
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

// memberNote says that members share nodes because there are no more; "" if they do not, or
// as the experiment has it.
func (s *Site) memberNote() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var nodes []string
	for i := range s.members() {
		if p := s.pods[testbed.Member(i+1)]; p != nil && !slices.Contains(nodes, p.Node()) {
			nodes = append(nodes, p.Node())
		}
	}
	if len(nodes) == s.members() || len(s.level.Nodes) > 0 || s.placement() == experiment.SameNode {
		return ""
	}
	return fmt.Sprintf("arm %s: the %d members of the service share %d of the nodes beside the client's, for want of more: what members on one node send each other is on no wire",
		short(s.arm), s.members(), len(nodes))
}
