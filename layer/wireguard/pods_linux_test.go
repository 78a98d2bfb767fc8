package wireguard

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"testing"

	"tare/layer"
	"tare/testbed"
)

// besides has the pods of the local testbed as those of a cluster, whose containers share their
// network with the programs.
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

// in runs a program at a place and gives what it prints.
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

const (
	offInPods = `marker from pod to pod: expected arrives, observed arrives: true
interface wg0: expected in 0 of 2 pods, observed in 0 of 2 pods: true
`
	pastTunnels = `marker from pod to pod: expected arrives, observed arrives: true
marker on the wire: expected in clear in 0 frames, observed in clear in 1 frames: false
marker on the tunnel's interface: expected in at least 1 frame, observed in 0 frames: false
marker through the tunnel: expected as many bytes in and out as were sent, or more, observed 0 bytes in, 0 bytes out, 128 sent: false
`
)

// TestInPods makes tunnels between pods, which check the source addresses of what arrives as
// some systems do by default.
func TestInPods(t *testing.T) {
	ctx := t.Context()
	site := besides{openSite(t, 1500)}
	c := &Config{Implementation: Userspace}
	checks, err := c.ProveOff(ctx, new(layer.Run).At(site))
	assert(t, "before", text(t, checks, err), offInPods)
	rules := map[testbed.Place]string{}
	for _, pod := range site.SidecarPods() {
		in(t, site, pod, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter")
		rules[pod] = in(t, site, pod, "ip", "rule")
	}

	a, at, err := askBeside(site, site)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.settle(ctx, Userspace, at); err != nil {
		t.Fatal(err)
	}
	assert(t, "proofs", text(t, a.proofs, nil), `without the tunnel: marker from pod to pod: expected arrives, observed arrives: true
without the tunnel: marker on the wire: expected in clear in at least 1 frame, observed in clear in 1 frames: true
implementation: expected userspace, observed `+a.tunnels[0].describe()+`: true
marker from a peer with a wrong key: expected does not arrive, observed does not arrive: true
marker from the peer with the right key: expected arrives, observed arrives: true
`)
	if caveat := a.proofs[2].Caveat; !strings.Contains(caveat, "; these are tunnels between the pods") {
		t.Errorf("caveat %q", caveat)
	}
	if got := in(t, site, testbed.ClientPod, "ip", "link", "show", "wg0"); !strings.Contains(got, "mtu 1420 ") {
		t.Error(got)
	}
	for _, path := range []testbed.Path{testbed.PodToPod, testbed.PodToService} {
		checks, err = a.prove(ctx, site)
		if got := text(t, checks, err); strings.Contains(got, ": false") || strings.Count(got, "\n") != 4 {
			t.Errorf("before a trial:\n%s", got)
		}
		transfer(t, site, path)
		checks, err = a.through(ctx, layer.Did{Sent: streamSize})
		if len(checks) != 1 || err != nil || !checks[0].OK {
			t.Errorf("%s, after a trial: %+v, %v", path, checks, err)
		}
	}
	costs, err := a.costs()
	if err != nil || len(costs) != 2 || costs[0].Part != "client-pod" || costs[1].Part != "server-pod" || costs[0].CPU == 0 || costs[1].Memory < 1<<20 {
		t.Errorf("costs of %+v, %v", costs, err)
	}
	checks, err = c.ProveOff(ctx, new(layer.Run).At(site))
	if got := text(t, checks, err); !strings.Contains(got, "interface wg0: expected in 0 of 2 pods, observed in 2 of 2 pods: false\n") {
		t.Errorf("off, while it is on:\n%s", got)
	}

	if err := a.lead(ctx, false); err != nil {
		t.Fatal(err)
	}
	checks, err = a.prove(ctx, site)
	assert(t, "past the tunnels", text(t, checks, err), pastTunnels)
	transfer(t, site, testbed.PodToService)
	checks, err = a.through(ctx, layer.Did{Sent: streamSize})
	if len(checks) != 1 || err != nil || checks[0].OK {
		t.Errorf("after a trial past the tunnels: %+v, %v", checks, err)
	}
	if err := a.tunnels[1].close(ctx); err != nil {
		t.Fatal(err)
	}
	const gone = "server-pod: wireguard-go: read the counters: the tunnel is not open"
	if _, err := a.prove(ctx, site); err == nil || err.Error() != gone {
		t.Errorf("taken down: %v", err)
	}
	for range 2 {
		if err := a.down(context.WithoutCancel(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	for pod, before := range rules {
		if now := in(t, site, pod, "ip", "rule"); now != before {
			t.Errorf("rules in the %s:\n%sbefore:\n%s", pod, now, before)
		}
	}
	checks, err = c.ProveOff(ctx, new(layer.Run).At(site))
	assert(t, "after", text(t, checks, err), offInPods)
	transfer(t, site, testbed.PodToService)
}

// The kernel's is refused where a node has none, with what to do.
func TestKernelsInPods(t *testing.T) {
	site := besides{openSite(t, 1500)}
	nodes, _ := testbed.As[testbed.Nodes](site.Site)
	if kernelHas(nodes.Nodes()[0].Do) == nil {
		t.Skip("this kernel has WireGuard")
	}
	up, err := (&Config{Implementation: Kernel}).Up(t.Context(), new(layer.Run).At(site))
	if err != nil {
		t.Fatal(err)
	}
	const want = "this kernel has no WireGuard: the node of the client-pod, whose kernel is Linux "
	if _, err := up.Settle(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "implementation: userspace)") {
		t.Errorf("%v, want %s", err, want)
	}
	if err := up.Down(t.Context()); err != nil {
		t.Error(err)
	}
}
