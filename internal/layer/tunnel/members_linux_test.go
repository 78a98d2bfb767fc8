package tunnel_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tare/internal/layer"
	"tare/internal/layer/tunnel"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

const (
	meshInClear = `marker from pod to pod: expected arrives, between all 15 pairs, observed so between 15 of 15: true
marker on the wire: expected in clear in at least 1 frame, between all 15 pairs, observed so between 15 of 15: true
`
	meshEncrypted = `marker from pod to pod: expected arrives, between all 15 pairs, observed so between 15 of 15: true
marker on the wire: expected in clear in 0 frames, between all 15 pairs, observed so between 15 of 15: true
marker through the tunnel: expected at least as many bytes in and out as were sent, observed `
)

// The nodes of the client and of five members form a full mesh: each pair of nodes is encrypted and proved, also each
// pair of two members.
func TestMesh(t *testing.T) { forEach(t, meshWorks) }

func meshWorks(t *testing.T, s subject) {
	openSite(t, 1500) // skips the test if no tunnel can be created
	ctx := context.Background()
	site := localtest.Members(t, 5, 1e9, 1500)
	assert(t, "before", s.off(t, site), meshInClear)

	a := s.up(t, site, tunnel.Userspace)
	assert(t, "proofs", s.text(t, a.Proofs()[3:], nil), `marker from a peer with a wrong key: expected does not arrive, between all 5 pairs, observed so between 5 of 5: true
marker from the peer with the right key: expected arrives, between all 15 pairs, observed so between 15 of 15: true
`)
	betweenMembers := func() (clear int) {
		for _, w := range [][2]testbed.Place{{testbed.Member(2), testbed.Member(3)}, {testbed.Member(3), testbed.Member(2)}} {
			arrived, seen, err := a.Marker(ctx, w[0], w[1])
			if err != nil || !arrived {
				t.Fatalf("%v: arrived %v, %v", w, arrived, err)
			}
			clear += seen
		}
		return clear
	}
	if clear := betweenMembers(); clear != 0 {
		t.Errorf("between members 2 and 3, encrypted: %d", clear)
	}
	checks, err := a.Prove(ctx)
	if got := s.text(t, checks, err); !strings.HasPrefix(got, meshEncrypted) || strings.Contains(got, ": false") {
		t.Errorf("before a trial:\n%s", got)
	}
	transfer(t, site, testbed.PodToService)
	checks, err = a.Through(ctx, layer.Did{Sent: streamSize})
	if len(checks) != 1 || err != nil || !checks[0].OK {
		t.Errorf("after a trial: %+v, %v", checks, err)
	}
	costs, err := a.Costs()
	var parts []string
	for _, c := range costs {
		parts = append(parts, c.Part)
	}
	if got := strings.Join(parts, " "); err != nil || got != "client-node server-node server-node-2 server-node-3 server-node-4 server-node-5" {
		t.Errorf("costs of %s, %v", got, err)
	}

	// The connection of one pair of members bypasses the tunnel.
	nodes := a.Nodes()
	if err := errors.Join(nodes[2].RouteVia(nodes[3].PodNetwork(), "", 0), nodes[3].RouteVia(nodes[2].PodNetwork(), "", 0)); err != nil {
		t.Fatal(err)
	}
	if betweenMembers() == 0 {
		t.Error("between members 2 and 3, not in clear")
	}
	checks, err = a.Prove(ctx)
	const want = "marker on the wire: expected in clear in 0 frames, between all 15 pairs, observed so between 14 of 15: in clear in 2 frames from server-pod-2 to server-pod-3: false\n"
	if got := s.text(t, checks, err); !strings.Contains(got, want) || strings.Count(got, ": false") != 2 {
		t.Errorf("round it:\n%s\nwant\n%s", got, want)
	}

	if err := a.Down(ctx); err != nil {
		t.Fatal(err)
	}
	assert(t, "after", s.off(t, site), meshInClear)
	s.leftNothing(t, site)
}
