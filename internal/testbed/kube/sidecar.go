package kube

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/pods"
)

var _ testbed.Sidecars = (*Site)(nil)

type addedSidecar struct {
	pod     testbed.Place
	sidecar testbed.Sidecar
}

// separator stands between the pod and the sidecar in the name of a sidecar's place.
const separator = "/"

// AddSidecar adds a container to the pod at a place. The pod must not have been made yet. AddSidecar returns
// the place of the sidecar.
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

// SidecarPods lists the places of pods that can have sidecars: all clients, and all members
// of the service.
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

// containerAt splits a place into the place of its pod and the name of the container.
func containerAt(where testbed.Place) (pod testbed.Place, container string) {
	base, name, ok := strings.Cut(string(where), separator)
	if !ok {
		return where, pods.Container
	}
	return testbed.Place(base), pods.Sidecar(name)
}
