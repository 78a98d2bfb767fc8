package wireguard

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/layer"
	"tare/testbed"
)

const (
	// arrival is how long a marker may take that should arrive: longer than the
	// five seconds after which WireGuard repeats a handshake that got lost.
	arrival = 6 * time.Second
	// absence is how long a marker is waited for that should not arrive. With the
	// right key it takes a few milliseconds, handshake included.
	absence = 300 * time.Millisecond
)

// proveClear shows that pods reach each other in clear.
func proveClear(ctx context.Context, s surroundings, prefix string) ([]layer.Check, error) {
	m, err := sendMarkers(ctx, s, ways(s), arrival)
	if err != nil {
		return nil, fmt.Errorf("prove that the wire is in clear: %w", err)
	}
	return []layer.Check{
		m.checkArrival(prefix+"marker from pod to pod", true),
		m.checkWire(prefix+"marker on the wire", true),
	}, nil
}

// ProveOff shows that at a site without the layer pods reach each other in clear. Where
// the arm has a tunnel of its own there is nothing to add: its proof shows the one in
// force, and a site has one.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if sidecars, ok := testbed.As[testbed.Sidecars](s.Site); ok {
		return newInPods(s.Site, sidecars, false).proveOff(ctx)
	}
	on, err := surround(s.Site)
	if err != nil {
		return nil, err
	}
	return proveClear(ctx, on, "")
}

// implementationCheck is the name of the check that records whose WireGuard it is.
const implementationCheck = "implementation"

// implementation records whose WireGuard is in force.
func (a *active) implementation(wanted Implementation) layer.Check {
	expected := string(wanted)
	if wanted == Auto {
		expected = "kernel where it has one, else userspace"
	}
	check := layer.Check{Layer: kind, Name: implementationCheck, Expected: expected, Observed: a.tunnels[0].describe()}
	check.OK = wanted == Auto || strings.HasPrefix(check.Observed, string(wanted))
	switch {
	case strings.HasPrefix(check.Observed, string(Userspace)):
		check.Caveat = "WireGuard runs in user space (wireguard-go): its CPU time says nothing of the kernel's WireGuard"
	case strings.HasPrefix(check.Observed, string(Kernel)):
		check.Caveat = "the kernel's WireGuard encrypts in threads of the kernel, whose CPU time is charged to nobody: only the CPU time of the whole machine has its cost in it"
	}
	if a.beside != nil {
		check.Caveat += "; " + podCaveat
	}
	return check
}

// proveKeys shows that nothing gets through from the client's node as long as that has a
// key that no other node knows, and that markers arrive between all nodes as soon
// as it has the right one. That also leaves no handshake for the trials to wait for.
func (a *active) proveKeys(ctx context.Context, client end) error {
	stranger, err := wgtypes.GeneratePrivateKey()
	if err != nil {
		return fmt.Errorf("make a wrong key: %w", err)
	}
	for _, try := range []struct {
		name    string
		key     wgtypes.Key
		ways    []way
		arrives bool
		limit   time.Duration
	}{
		{"marker from a peer with a wrong key", stranger, fromClient(ways(a.site)), false, absence},
		{"marker from the peer with the right key", client.private, ways(a.site), true, arrival},
	} {
		if err := a.tunnels[0].rekey(ctx, try.key); err != nil {
			return err
		}
		m, err := sendMarkers(ctx, a.site, try.ways, try.limit)
		if err != nil {
			return fmt.Errorf("prove that only the right key is let in: %w", err)
		}
		a.proofs = append(a.proofs, m.checkArrival(try.name, try.arrives))
	}
	return nil
}

// prove shows that markers arrive, through the tunnels, and are not seen in
// clear between the nodes. It also reads the counters for through.
func (a *active) prove(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
	idle, err := a.traffic(ctx)
	if err != nil {
		return nil, err
	}
	m, err := sendMarkers(ctx, a.site, ways(a.site), arrival)
	if err != nil {
		return nil, fmt.Errorf("prove that the tunnel is on: %w", err)
	}
	if a.before, err = a.traffic(ctx); err != nil {
		return nil, err
	}
	checks := []layer.Check{
		m.checkArrival("marker from pod to pod", true),
		m.checkWire("marker on the wire", false),
	}
	if a.beside != nil {
		checks = append(checks, m.checkInside("marker on the tunnel's interface"))
	}
	return append(checks, checkTraffic("marker through the tunnel", idle, a.before, m.carried())), nil
}

// through shows that the tunnel's counters grew by what the trial sent, if the
// workload tells that.
func (a *active) through(ctx context.Context, did layer.Did) ([]layer.Check, error) {
	if did.Sent == 0 {
		return nil, nil
	}
	now, err := a.traffic(ctx)
	if err != nil {
		return nil, err
	}
	return []layer.Check{checkTraffic("trial through the tunnel", a.before, now, did.Sent)}, nil
}

// traffic adds up the counters of all ends.
func (a *active) traffic(ctx context.Context) (traffic, error) {
	var sum traffic
	for _, t := range a.tunnels {
		one, err := t.traffic(ctx)
		if err != nil {
			return traffic{}, err
		}
		sum.Sent += one.Sent
		sum.Received += one.Received
	}
	return sum, nil
}

// checkTraffic says that so many bytes should have entered the tunnel, at one
// end or the other, and as many left it.
func checkTraffic(name string, from, to traffic, size uint64) layer.Check {
	in, out := to.Sent-from.Sent, to.Received-from.Received
	return layer.Check{
		Layer: kind, Name: name,
		Expected: "as many bytes in and out as were sent, or more",
		Observed: fmt.Sprintf("%d bytes in, %d bytes out, %d sent", in, out, size),
		OK:       to.Sent >= from.Sent && to.Received >= from.Received && in >= size && out >= size,
	}
}
