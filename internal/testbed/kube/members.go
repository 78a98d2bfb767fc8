package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
	"tare/internal/text/safetext"
)

// memberLabel is a label with a pod's number. It is on the pods of all members if a service has several, and on all
// client pods except the first.
const memberLabel = "tare/member"

func (s *Site) clients() int {
	if !s.needs.Network {
		return 1
	}
	return max(s.needs.Clients, 1)
}

func (s *Site) Clients() []testbed.Place {
	var list []testbed.Place
	for i := range s.clients() {
		list = append(list, testbed.Client(i+1))
	}
	return list
}

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

// planAt returns the pod of a client or member as it is before layers change it. The argument number counts clients and
// members from 1.
func (s *Site) planAt(where testbed.Place, role string, number int) *corev1.Pod {
	pod := s.planPod(role)
	if number > 1 || role == roleServer && s.members() > 1 {
		pod.Labels[memberLabel] = strconv.Itoa(number)
		pod.Name = s.name(podTitle(pod))
	}
	s.mount(pod, where)
	return pod
}

// podTitle returns a pod's role, with the number of a member or client after the first: "server-2".
func podTitle(pod *corev1.Pod) string {
	if n := pod.Labels[memberLabel]; n != "" && n != "1" {
		return pod.Labels[inventory.RoleLabel] + "-" + n
	}
	return pod.Labels[inventory.RoleLabel]
}

// Members lists the addresses of the members' pods. The list is empty until the site is ready.
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

// nodeCount returns the number of nodes that the pods 1 to n run on. place returns a pod's place by its number, such as
// the first client.
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

func (s *Site) clientNote() string {
	nodes := s.nodeCount(s.clients(), testbed.Client)
	if nodes == s.clients() {
		return ""
	}
	return fmt.Sprintf("arm %s: the %d client pods share %d of the nodes without a server",
		shorten(s.arm), s.clients(), nodes)
}

func (s *Site) memberNote() string {
	nodes := s.nodeCount(s.members(), testbed.Member)
	if nodes == s.members() || len(s.level.Nodes) > 0 || s.placement() == experiment.SameNode {
		return ""
	}
	return fmt.Sprintf("arm %s: the %d members of the service share %d nodes beside the client's, "+
		"because there are no more: traffic between members on one node is on no wire",
		shorten(s.arm), s.members(), nodes)
}

type addedSidecar struct {
	pod     testbed.Place
	sidecar testbed.Sidecar
}

// separator stands between the pod and the name in a sidecar's place.
const separator = "/"

// AddSidecar adds a container to the plan of the pod at a place. It returns the sidecar's place.
func (s *Site) AddSidecar(pod testbed.Place, want testbed.Sidecar) (testbed.Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pods) > 0 {
		return "", fmt.Errorf("the pods of arm %s are made: sidecar %s comes too late", s.arm, want.Name)
	}
	for _, added := range s.shapes.sidecars {
		if added.pod == pod && added.sidecar.Name == want.Name {
			return "", fmt.Errorf("the %s of arm %s has a sidecar %s already", pod, s.arm, want.Name)
		}
	}
	want.Image = cmp.Or(want.Image, s.level.Image)
	s.shapes.sidecars = append(s.shapes.sidecars, addedSidecar{pod, want})
	return pod + separator + testbed.Place(want.Name), nil
}

// SidecarPods lists the places of all clients and members.
func (s *Site) SidecarPods() []testbed.Place {
	list := s.Clients()
	for i := range s.members() {
		list = append(list, testbed.Member(i+1))
	}
	return list
}

// PodAddresses lists the IP addresses that the pod had when it was last seen ready.
func (s *Site) PodAddresses(where testbed.Place) []netip.Addr {
	p, err := s.pod(where)
	if err != nil {
		return nil
	}
	var list []netip.Addr
	for _, ip := range p.Seen().Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil {
			list = append(list, a)
		}
	}
	return list
}

func containerAt(where testbed.Place) (pod testbed.Place, container string) {
	base, name, ok := strings.Cut(string(where), separator)
	if !ok {
		return where, pods.Container
	}
	return testbed.Place(base), pods.Sidecar(name)
}

// Ports lists the server's ports that the service forwards, for TCP and UDP.
func (s *Site) Ports() []uint16 { return testbed.ServicePorts() }

// Address returns the server's address on a path. It is invalid if the site is not ready or has no such path.
func (s *Site) Address(path testbed.Path) netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if path == testbed.PodToService {
		return s.service
	}
	_, server := path.Ends()
	if p := s.pods[server]; p != nil {
		return p.Address()
	}
	return netip.Addr{}
}

// LinkRate returns 0, since the rate of a cluster's network is unknown.
func (s *Site) LinkRate() float64 { return 0 }

// planService returns the Kubernetes Service by which clients reach the workload's server, or the first of several
// members.
func (s *Site) planService() *corev1.Service {
	labels := s.bed.session.Owner.Labels(s.arm, roleServer)
	want := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.name("server"), Namespace: s.Namespace(), Labels: labels},
		Spec:       corev1.ServiceSpec{Selector: maps.Clone(labels)},
	}
	want.Spec.Selector[siteLabel] = s.unique
	if s.members() > 1 {
		want.Spec.Selector[memberLabel] = "1" // the Service leads to member 1 alone; otherwise connections would go to a random member
	}
	for _, port := range s.Ports() {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			name := fmt.Sprintf("%s-%d", strings.ToLower(string(protocol)), port)
			forwarded := corev1.ServicePort{Name: name, Protocol: protocol, Port: int32(port)}
			if speaks := s.needs.AppProtocol; speaks != "" && protocol == corev1.ProtocolTCP {
				forwarded.AppProtocol = &speaks
			}
			want.Spec.Ports = append(want.Spec.Ports, forwarded)
		}
	}
	return want
}

func (s *Site) makeService(ctx context.Context, on *clusterRun) error {
	if !s.hasServer() {
		return nil
	}
	want := s.planService()
	if err := on.record.Add(ctx, inventory.Core("services", want.Namespace, want.Name)); err != nil {
		return err
	}
	made, err := inventory.Make(ctx, on.record, on.Client.CoreV1().Services(want.Namespace), want)
	if err != nil {
		return fmt.Errorf("make service %s/%s: %w", want.Namespace, want.Name, cluster.Explain(err))
	}
	address, err := netip.ParseAddr(made.Spec.ClusterIP)
	if err != nil {
		return fmt.Errorf("service %s/%s has no address: %q",
			want.Namespace, want.Name, safetext.Head(made.Spec.ClusterIP, 64))
	}
	s.mu.Lock()
	s.service = address
	s.mu.Unlock()
	return nil
}
