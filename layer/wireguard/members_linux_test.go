package wireguard

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tare/layer"
	"tare/testbed"
	"tare/testbed/local/localtest"
)

const (
	meshInClear = `marker from pod to pod: expected arrives, between all 15 pairs, observed so between 15 of 15: true
marker on the wire: expected in clear in at least 1 frame, between all 15 pairs, observed so between 15 of 15: true
`
	meshEncrypted = `marker from pod to pod: expected arrives, between all 15 pairs, observed so between 15 of 15: true
marker on the wire: expected in clear in 0 frames, between all 15 pairs, observed so between 15 of 15: true
marker through the tunnel: expected as many bytes in and out as were sent, or more, observed `
)

// The client's node and those of five members are a full mesh: each pair of nodes is
// encrypted, that of two members too, and shown to be.
func TestMesh(t *testing.T) {
	openSite(t, 1500) // skips where no tunnel can be made
	ctx := context.Background()
	site := localtest.Members(t, 5, 1e9, 1500)
	c := &Config{Implementation: Userspace}
	checks, err := c.ProveOff(ctx, new(layer.Run).At(site))
	assert(t, "before", text(t, checks, err), meshInClear)

	a := up(t, site, Userspace)
	assert(t, "proofs", text(t, a.proofs[3:], nil), `marker from a peer with a wrong key: expected does not arrive, between all 5 pairs, observed so between 5 of 5: true
marker from the peer with the right key: expected arrives, between all 15 pairs, observed so between 15 of 15: true
`)
	betweenMembers := func() sighting {
		m, err := sendMarker(ctx, a.site, way{testbed.Member(2), testbed.Member(3)}, arrival)
		back, again := sendMarker(ctx, a.site, way{testbed.Member(3), testbed.Member(2)}, arrival)
		if err != nil || again != nil || !m.arrived || !back.arrived {
			t.Fatalf("%+v, %v; %+v, %v", m, err, back, again)
		}
		m.clear += back.clear
		return m
	}
	if m := betweenMembers(); m.clear != 0 {
		t.Errorf("between members 2 and 3, encrypted: %+v", m)
	}
	checks, err = a.prove(ctx, site)
	if got := text(t, checks, err); !strings.HasPrefix(got, meshEncrypted) || strings.Contains(got, ": false") {
		t.Errorf("before a trial:\n%s", got)
	}
	transfer(t, site, testbed.PodToService)
	checks, err = a.through(ctx, layer.Did{Sent: streamSize})
	if len(checks) != 1 || err != nil || !checks[0].OK {
		t.Errorf("after a trial: %+v, %v", checks, err)
	}
	costs, err := a.costs()
	var parts []string
	for _, c := range costs {
		parts = append(parts, c.Part)
	}
	if got := strings.Join(parts, " "); err != nil || got != "client-node server-node server-node-2 server-node-3 server-node-4 server-node-5" {
		t.Errorf("costs of %s, %v", got, err)
	}

	// One pair of members goes round the tunnel.
	nodes := a.site.Nodes.Nodes()
	if err := errors.Join(nodes[2].RouteVia(nodes[3].PodNetwork(), "", 0), nodes[3].RouteVia(nodes[2].PodNetwork(), "", 0)); err != nil {
		t.Fatal(err)
	}
	if m := betweenMembers(); m.clear == 0 {
		t.Errorf("between members 2 and 3, in clear: %+v", m)
	}
	checks, err = a.prove(ctx, site)
	const want = "marker on the wire: expected in clear in 0 frames, between all 15 pairs, observed so between 14 of 15: in clear in 2 frames from server-pod-2 to server-pod-3: false\n"
	if got := text(t, checks, err); !strings.Contains(got, want) || strings.Count(got, ": false") != 2 {
		t.Errorf("round it:\n%s\nwant\n%s", got, want)
	}

	if err := a.down(ctx); err != nil {
		t.Fatal(err)
	}
	checks, err = c.ProveOff(ctx, new(layer.Run).At(site))
	assert(t, "after", text(t, checks, err), meshInClear)
	leftNothing(t, site)
}
