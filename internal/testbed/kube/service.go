package kube

import (
	"context"
	"fmt"
	"maps"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/text/safetext"
)

// These are the first and the last of the ports that the service forwards, for TCP and UDP.
const (
	firstPort = 5201
	lastPort  = 5210
)

// Ports lists the server's ports that the service forwards, TCP and UDP.
func (s *Site) Ports() []uint16 {
	var ports []uint16
	for p := uint16(firstPort); p <= lastPort; p++ {
		ports = append(ports, p)
	}
	return ports
}

// Address returns the server's address on a path. The address is invalid before the site is ready, and also
// if no workload needs the path.
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

// LinkRate returns 0: the rate of the network is unknown on a cluster.
func (s *Site) LinkRate() float64 { return 0 }

// planService returns the Kubernetes service in front of the server. If the server has several members, the
// service leads only to the first member.
func (s *Site) planService() *corev1.Service {
	labels := s.run.session.Owner.Labels(s.arm, roleServer)
	want := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.name("server"), Namespace: s.Namespace(), Labels: labels},
		Spec:       corev1.ServiceSpec{Selector: maps.Clone(labels)},
	}
	want.Spec.Selector[siteLabel] = s.unique
	if s.members() > 1 {
		want.Spec.Selector[memberLabel] = "1" // without this, connections would go to a random member
	}
	for _, port := range s.Ports() {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			name := fmt.Sprintf("tcp-%d", port)
			if protocol == corev1.ProtocolUDP {
				name = fmt.Sprintf("udp-%d", port)
			}
			forwarded := corev1.ServicePort{Name: name, Protocol: protocol, Port: int32(port)}
			if speaks := s.needs.AppProtocol; speaks != "" && protocol == corev1.ProtocolTCP {
				forwarded.AppProtocol = &speaks
			}
			want.Spec.Ports = append(want.Spec.Ports, forwarded)
		}
	}
	return want
}

// makeService makes the service and keeps its address.
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
