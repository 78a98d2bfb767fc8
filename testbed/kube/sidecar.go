package kube

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"tare/testbed"
	"tare/testbed/kube/pods"
)

var _ testbed.Sidecars = (*Site)(nil)

// addedSidecar is one that a layer has asked for.
type addedSidecar struct {
	pod  testbed.Place
	want testbed.Sidecar
}

// separator stands between a pod and a sidecar in the name of a place.
const separator = "/"

// AddSidecar asks for a container more in the pod at a place.
func (s *Site) AddSidecar(pod testbed.Place, want testbed.Sidecar) (testbed.Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pods) > 0 {
		return "", fmt.Errorf("the pods of arm %s are made: they can have no sidecar %s more", s.arm, want.Name)
	}
	for _, one := range s.shapes.sidecars {
		if one.pod == pod && one.want.Name == want.Name {
			return "", fmt.Errorf("the %s of arm %s has a sidecar %s already", pod, s.arm, want.Name)
		}
	}
	want.Image = cmp.Or(want.Image, s.level.Image)
	s.shapes.sidecars = append(s.shapes.sidecars, addedSidecar{pod, want})
	return pod + separator + testbed.Place(want.Name), nil
}

// SidecarPods are the pods of clients and of the service's members.
func (s *Site) SidecarPods() []testbed.Place {
	list := s.Clients()
	for i := range s.members() {
		list = append(list, testbed.Member(i+1))
	}
	return list
}

// PodAddresses are what the API server says of the pod, when it was last seen ready.
func (s *Site) PodAddresses(where testbed.Place) []netip.Addr {
	p, err := s.pod(where)
	if err != nil {
		return nil
	}
	var list []netip.Addr
	for _, one := range p.Seen().Status.PodIPs {
		if a, err := netip.ParseAddr(one.IP); err == nil {
			list = append(list, a)
		}
	}
	return list
}

// containerAt is the pod of a place, and which of its containers that is.
func containerAt(where testbed.Place) (pod testbed.Place, container string) {
	base, name, ok := strings.Cut(string(where), separator)
	if !ok {
		return where, pods.Container
	}
	return testbed.Place(base), pods.Sidecar(name)
}
