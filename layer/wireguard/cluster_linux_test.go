package wireguard

import (
	"context"
	"strings"
	"testing"

	"tare/experiment"
	"tare/layer"
	"tare/testbed/kube/sitetest"
)

// TestOnCluster makes tunnels between pods, and shows that the proofs of that can fail.
func TestOnCluster(t *testing.T) {
	ctx, bed := t.Context(), sitetest.Bed(t)
	c := Kind.New().(*Config)
	needs := c.Declare().Needs
	needs.Members = 2
	direct := sitetest.Open(t, bed, "direct", needs, sitetest.Small(experiment.DifferentNodes))
	sitetest.Ready(t, direct)
	checks, err := c.ProveOff(ctx, new(layer.Run).At(direct))
	const off = `marker from pod to pod: expected arrives, between all 3 pairs, observed so between 3 of 3: true
interface wg0: expected in 0 of 3 pods, observed in 0 of 3 pods: true
`
	assert(t, "without the layer", text(t, checks, err), off)

	site := sitetest.Open(t, bed, "wireguard", needs, sitetest.Small(experiment.DifferentNodes))
	a, at, err := askBeside(site, site)
	if err != nil {
		t.Fatal(err)
	}
	sitetest.Ready(t, site)
	if err := a.settle(ctx, Auto, at); err != nil {
		t.Fatalf("%v (%s)", err, podHint(err))
	}
	defer func() {
		if err := a.down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	got := text(t, a.proofs, nil)
	if strings.Contains(got, ": false") || !strings.Contains(got, "without the tunnel: marker on the wire: expected in clear in at least 1 frame, between all 3 pairs, observed so between 3 of 3: true\n") {
		t.Errorf("proofs:\n%s", got)
	}
	for range 2 {
		checks, err := a.prove(ctx, site)
		if got := text(t, checks, err); strings.Contains(got, ": false") || strings.Count(got, "\n") != 4 {
			t.Errorf("before a trial:\n%s", got)
		}
	}
	for _, tunnel := range a.tunnels {
		if own, ok := tunnel.(*userspaceTunnel); ok && own.release == "" {
			costs, err := a.costs()
			if err != nil || len(costs) != 3 || costs[0].Part != "client-pod" || costs[0].CPU == 0 || costs[2].Memory < 1<<20 {
				t.Errorf("costs of %+v, %v", costs, err)
			}
		}
	}
	checks, err = a.through(ctx, layer.Did{Sent: 1e9})
	if len(checks) != 1 || err != nil || checks[0].OK {
		t.Errorf("a gigabyte that was not sent: %+v, %v", checks, err)
	}

	// Past the tunnels everything arrives, and is seen.
	if err := a.lead(ctx, false); err != nil {
		t.Fatal(err)
	}
	checks, err = a.prove(ctx, site)
	got = text(t, checks, err)
	for _, want := range []string{
		"marker from pod to pod: expected arrives, between all 3 pairs, observed so between 3 of 3: true\n",
		"marker on the wire: expected in clear in 0 frames, between all 3 pairs, observed so between 0 of 3: in clear in ",
		"marker on the tunnel's interface: expected in at least 1 frame, between all 3 pairs, observed so between 0 of 3: in 0 frames ",
		"marker through the tunnel: expected as many bytes in and out as were sent, or more, observed 0 bytes in, 0 bytes out, 384 sent: false\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("past the tunnels:\n%s\nwant\n%s", got, want)
		}
	}

	// With the tunnels taken down nothing is left of them, and a proof is an error.
	for _, tunnel := range a.tunnels {
		if err := tunnel.close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if checks, err := a.prove(ctx, site); err == nil || !strings.HasSuffix(err.Error(), "read the counters: the tunnel is not open") {
		t.Errorf("taken down: %v, %v", checks, err)
	}
	if err := a.raise(ctx, Auto); err != nil {
		t.Fatal(err)
	}
	checks, err = c.ProveOff(ctx, new(layer.Run).At(site))
	if got := text(t, checks, err); !strings.Contains(got, "interface wg0: expected in 0 of 3 pods, observed in 3 of 3 pods: false\n") {
		t.Errorf("off, while it is on:\n%s", got)
	}
}
