package tunnel_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"tare/internal/layer"
	"tare/internal/layer/tunnel"
	"tare/internal/testbed"
)

// besides presents the pods of the local testbed like pods of a cluster, whose containers share their network with
// the programs.
type besides struct{ testbed.Site }

func (b besides) AddSidecar(pod testbed.Place, _ testbed.Sidecar) (testbed.Place, error) {
	return pod, nil
}

func (b besides) SidecarPods() (list []testbed.Place) {
	nodes, _ := testbed.As[testbed.Nodes](b.Site)
	for _, n := range nodes.Nodes() {
		list = append(list, n.Pods()...)
	}
	return list
}

func (b besides) PodAddresses(pod testbed.Place) []netip.Addr {
	nodes, _ := testbed.As[testbed.Nodes](b.Site)
	for _, n := range nodes.Nodes() {
		if n.Pods()[0] == pod {
			return []netip.Addr{n.PodNetwork().Addr().Next().Next()}
		}
	}
	return nil
}

func (b besides) Unwrap() testbed.Site { return b.Site }

// in runs a program at a place and returns its output.
func in(t *testing.T, site testbed.Site, where testbed.Place, args ...string) string {
	t.Helper()
	var out, why bytes.Buffer
	p, err := site.Start(t.Context(), where, testbed.Command{Args: args, Stdout: &out, Stderr: &why})
	if err == nil {
		_, err = p.Wait()
	}
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, why.String())
	}
	return out.String()
}

// offInPods returns the proofs of pods without the layer.
func (s subject) offInPods(pods int) string {
	return fmt.Sprintf("marker from pod to pod: expected arrives, observed arrives: true\n"+
		"interface %s: expected in 0 of %[2]d pods, observed in 0 of %[2]d pods: true\n", s.Device, pods)
}

// TestInPods creates tunnels between pods that check the source addresses of arriving packets, as some systems do by
// default.
func TestInPods(t *testing.T) { forEach(t, worksInPods) }

func worksInPods(t *testing.T, s subject) {
	ctx := t.Context()
	site := besides{openSite(t, 1500)}
	assert(t, "before", s.off(t, site), s.offInPods(2))
	rules := map[testbed.Place]string{}
	for _, pod := range site.SidecarPods() {
		in(t, site, pod, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter")
		rules[pod] = in(t, site, pod, "ip", "rule")
	}

	a, err := s.AskForSidecars(site, site)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Settle(ctx, tunnel.Userspace); err != nil {
		t.Fatal(err)
	}
	assert(t, "proofs", s.text(t, a.Proofs(), nil), `without the tunnel: marker from pod to pod: expected arrives, observed arrives: true
without the tunnel: marker on the wire: expected in clear in at least 1 frame, observed in clear in 1 frames: true
implementation: expected userspace, observed userspace (`+a.Version()+`): true
marker from a peer with a wrong key: expected does not arrive, observed does not arrive: true
marker from the peer with the right key: expected arrives, observed arrives: true
`)
	if caveat := a.Proofs()[2].Caveat; !strings.Contains(caveat, "; these tunnels are between the pods") {
		t.Errorf("caveat %q", caveat)
	}
	if got := in(t, site, testbed.ClientPod, "ip", "link", "show", s.Device); !strings.Contains(got, fmt.Sprintf("mtu %d ", map[string]int{"wireguard": 1420, "ipsec": 1400}[s.Layer])) {
		t.Error(got)
	}
	for _, path := range []testbed.Path{testbed.PodToPod, testbed.PodToService} {
		checks, err := a.Prove(ctx)
		if got := s.text(t, checks, err); strings.Contains(got, ": false") || strings.Count(got, "\n") != 4 {
			t.Errorf("before a trial:\n%s", got)
		}
		transfer(t, site, path)
		checks, err = a.Through(ctx, layer.Did{Sent: streamSize})
		if len(checks) != 1 || err != nil || !checks[0].OK {
			t.Errorf("%s, after a trial: %+v, %v", path, checks, err)
		}
	}
	costs, err := a.Costs()
	if err != nil || len(costs) != 2 || costs[0].Part != "client-pod" || costs[1].Part != "server-pod" || costs[0].CPU == 0 || costs[1].Memory < 1<<20 {
		t.Errorf("costs of %+v, %v", costs, err)
	}
	want := fmt.Sprintf("interface %s: expected in 0 of 2 pods, observed in 2 of 2 pods: false\n", s.Device)
	if got := s.off(t, site); !strings.Contains(got, want) {
		t.Errorf("off, while it is on:\n%s", got)
	}

	if err := a.Lead(ctx, false); err != nil {
		t.Fatal(err)
	}
	checks, err := a.Prove(ctx)
	assert(t, "past the tunnels", s.text(t, checks, err), fmt.Sprintf(`marker from pod to pod: expected arrives, observed arrives: true
marker on the wire: expected in clear in 0 frames, observed in clear in 1 frames: false
marker on the tunnel's interface: expected in at least 1 frame, observed in 0 frames: false
marker through the tunnel: expected at least as many bytes in and out as were sent, observed fewer than %d sent: false
`, s.Carried(64)))
	transfer(t, site, testbed.PodToService)
	checks, err = a.Through(ctx, layer.Did{Sent: streamSize})
	if len(checks) != 1 || err != nil || checks[0].OK {
		t.Errorf("after a trial past the tunnels: %+v, %v", checks, err)
	}
	if err := a.CloseEnd(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Prove(ctx); err == nil || err.Error() != "server-pod: "+s.Program+": read the counters: the tunnel is not open" {
		t.Errorf("taken down: %v", err)
	}
	for range 2 {
		if err := a.Down(context.WithoutCancel(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	for pod, before := range rules {
		if now := in(t, site, pod, "ip", "rule"); now != before {
			t.Errorf("rules in the %s:\n%sbefore:\n%s", pod, now, before)
		}
	}
	assert(t, "after", s.off(t, site), s.offInPods(2))
	transfer(t, site, testbed.PodToService)
}

// If a node's kernel lacks the implementation, the error has a hint.
func TestKernelsInPods(t *testing.T) {
	forEach(t, func(t *testing.T, s subject) {
		site := besides{openSite(t, 1500)}
		if s.Find(t.Context(), tunnel.Kernel).Status == testbed.Works {
			t.Skip("this kernel can")
		}
		up, err := s.with(tunnel.Kernel).Up(t.Context(), new(layer.Run).At(site))
		if err != nil {
			t.Fatal(err)
		}
		want := s.Name + " is not in this kernel: client-pod: "
		if _, err := up.Settle(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "implementation: userspace)") {
			t.Errorf("%v, want %s", err, want)
		}
		if err := up.Down(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
