package local

import (
	"net/netip"
	"slices"
	"testing"

	"tare/internal/experiment"
	"tare/internal/testbed"
)

// TestMeter sends more datagrams than the wire's queue holds.
func TestMeter(t *testing.T) {
	_, site := opened(t, experiment.Needs{Network: true}, link(1e5, 1500))
	n := site.(*network)
	meter := testbed.StartMeter(t.Context(), site)
	socket, err := n.nodes[0].listen(n.nodes[0].Address())
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	const sent = 100
	for range sent {
		if _, err := socket.WriteToUDPAddrPort(make([]byte, 1400), netip.AddrPortFrom(n.nodes[1].Address(), 9)); err != nil {
			t.Fatal(err)
		}
	}
	got := meter(t.Context())
	i := slices.IndexFunc(got, func(r testbed.Resource) bool { return r.Name == testbed.ResourceWire })
	if i < 0 || got[i].Of != 1e5 || got[i].Packets < sent || got[i].Dropped < sent/2 || got[i].Dropped >= sent {
		t.Errorf("the wire: %+v", got)
	}
	if !slices.ContainsFunc(got, func(r testbed.Resource) bool { return r.Name == testbed.ResourceMachine && r.Of > 0 }) {
		t.Errorf("no processors: %+v", got)
	}
	known := testbed.ReadConnections().Of > 0
	if slices.ContainsFunc(got, func(r testbed.Resource) bool { return r.Name == testbed.ResourceConnections && r.Of > 0 }) != known {
		t.Errorf("this machine has a connection table: %t; %+v", known, got)
	}
}
