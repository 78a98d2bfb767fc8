package kube

import (
	"fmt"
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
	s.shapes.sidecars = append(s.shapes.sidecars, addedSidecar{pod, want})
	return pod + separator + testbed.Place(want.Name), nil
}

// containerAt is the pod of a place, and which of its containers that is.
func containerAt(where testbed.Place) (pod testbed.Place, container string) {
	base, name, ok := strings.Cut(string(where), separator)
	if !ok {
		return where, pods.Container
	}
	return testbed.Place(base), pods.Sidecar(name)
}
