package tunnel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/tunnel"
	"tare/internal/testbed/kube/sitetest"
)

// TestOnCluster creates tunnels between pods, and shows that their proofs can fail.
func TestOnCluster(t *testing.T) {
	for _, s := range subjects {
		t.Run(s.Layer, func(t *testing.T) { worksOnCluster(t, s) })
	}
}

func worksOnCluster(t *testing.T, s subject) {
	ctx, bed := t.Context(), sitetest.Bed(t)
	c := s.with(tunnel.Auto)
	needs := s.Declare().Needs
	needs.Members = 2
	direct := sitetest.Open(t, bed, "direct-"+s.Layer, needs, sitetest.Small(experiment.DifferentNodes))
	sitetest.Ready(t, direct)
	checks, err := c.ProveOff(ctx, new(layer.Run).At(direct))
	off := `marker from pod to pod: expected arrives, between all 3 pairs, observed so between 3 of 3: true
interface ` + s.Device + `: expected in 0 of 3 pods, observed in 0 of 3 pods: true
`
	assert(t, "without the layer", s.text(t, checks, err), off)

	site := sitetest.Open(t, bed, s.Layer, needs, sitetest.Small(experiment.DifferentNodes))
	a, err := s.AskForSidecars(site, site)
	if err != nil {
		t.Fatal(err)
	}
	sitetest.Ready(t, site)
	if err := a.Settle(ctx, tunnel.Auto); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	got := s.text(t, a.Proofs(), nil)
	if strings.Contains(got, ": false") || !strings.Contains(got, "without the tunnel: marker on the wire: expected in clear in at least 1 frame, between all 3 pairs, observed so between 3 of 3: true\n") {
		t.Errorf("proofs:\n%s", got)
	}
	for range 2 {
		checks, err := a.Prove(ctx)
		if got := s.text(t, checks, err); strings.Contains(got, ": false") || strings.Count(got, "\n") != 4 {
			t.Errorf("before a trial:\n%s", got)
		}
	}
	if !a.ByKernel() {
		costs, err := a.Costs()
		if err != nil || len(costs) != 3 || costs[0].Part != "client-pod" || costs[0].CPU == 0 || costs[2].Memory < 1<<20 {
			t.Errorf("costs of %+v, %v", costs, err)
		}
	}
	checks, err = a.Through(ctx, layer.Did{Sent: 1e9})
	if len(checks) != 1 || err != nil || checks[0].OK {
		t.Errorf("a gigabyte that was not sent: %+v, %v", checks, err)
	}

	// Without the tunnels every marker arrives, and is seen.
	if err := a.Lead(ctx, false); err != nil {
		t.Fatal(err)
	}
	checks, err = a.Prove(ctx)
	got = s.text(t, checks, err)
	for _, want := range []string{
		"marker from pod to pod: expected arrives, between all 3 pairs, observed so between 3 of 3: true\n",
		"marker on the wire: expected in clear in 0 frames, between all 3 pairs, observed so between 0 of 3: in clear in ",
		"marker on the tunnel's interface: expected in at least 1 frame, between all 3 pairs, observed so between 0 of 3: in 0 frames ",
		fmt.Sprintf("marker through the tunnel: expected at least as many bytes in and out as were sent, observed fewer than %d sent: false\n", 3*s.Carried(64)),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("past the tunnels:\n%s\nwant\n%s", got, want)
		}
	}

	// Nothing is left after the tunnels are taken down, and a proof is an error.
	for i := range a.Ends() {
		if err := a.CloseEnd(ctx, i); err != nil {
			t.Fatal(err)
		}
	}
	if checks, err := a.Prove(ctx); err == nil || !strings.HasSuffix(err.Error(), "read the counters: the tunnel is not open") {
		t.Errorf("taken down: %v, %v", checks, err)
	}
	if err := a.Raise(ctx, tunnel.Auto); err != nil {
		t.Fatal(err)
	}
	checks, err = c.ProveOff(ctx, new(layer.Run).At(site))
	if got := s.text(t, checks, err); !strings.Contains(got, "interface "+s.Device+": expected in 0 of 3 pods, observed in 3 of 3 pods: false\n") {
		t.Errorf("off, while it is on:\n%s", got)
	}
}
