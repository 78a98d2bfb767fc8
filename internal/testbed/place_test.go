package testbed

import (
	"fmt"
	"slices"
	"testing"

	"tare/internal/experiment"
)

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		needs experiment.Needs
		want  []Place
	}{
		{experiment.Needs{Members: 3}, []Place{Host}},
		{experiment.Needs{Volume: &experiment.Volume{}}, []Place{ClientPod}},
		{experiment.Needs{Network: true}, []Place{ClientPod, ServerPod}},
		{experiment.Needs{Network: true, Members: 1}, []Place{ClientPod, ServerPod}},
		{experiment.Needs{Network: true, HostNetwork: true, Members: 3}, []Place{ClientPod, ServerPod, "server-pod-2", "server-pod-3", ClientNode, ServerNode}},
	} {
		if got := Places(c.needs); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.needs, got, c.want)
		}
	}
}

func TestServerPlaces(t *testing.T) {
	for _, name := range Host.Values() {
		p := Place(name)
		if want := p == ServerPod || p == ServerNode; p.Server() != want {
			t.Errorf("%s is one of the server: %v", p, p.Server())
		}
	}
	for _, p := range []Place{Member(1), Member(2), Member(12), MemberNode(1), MemberNode(3)} {
		if !p.Server() {
			t.Errorf("%s is none of the server", p)
		}
	}
	if got := fmt.Sprint([]Place{Member(1), Member(2), MemberNode(1), MemberNode(12)}); got != "[server-pod server-pod-2 server-node server-node-12]" {
		t.Error(got)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		members, nodes int
		want           []int
	}{{1, 0, []int{1}}, {3, 0, []int{1, 2, 3}}, {5, 2, []int{1, 2, 1, 2, 1}}, {2, 9, []int{1, 2}}} {
		if got := Spread(c.members, c.nodes); !slices.Equal(got, c.want) {
			t.Errorf("%d members on %d nodes: %v, want %v", c.members, c.nodes, got, c.want)
		}
	}
}
