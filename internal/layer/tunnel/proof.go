package tunnel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/testbed"
)

const (
	// arrival is how long to wait for a marker that should arrive. It is longer than five seconds, after which
	// WireGuard repeats a lost handshake.
	arrival = 6 * time.Second
	// absence is how long a proof waits for a marker that should not arrive. A marker that does arrive takes a few
	// milliseconds.
	absence = 300 * time.Millisecond
)

// proveClear shows that pods reach each other in clear. The argument prefix is the beginning of the checks' names.
func (t *Tunnels) proveClear(ctx context.Context, prefix string) ([]layer.Check, error) {
	m, err := t.sendMarkers(ctx, t.ways(arrival))
	if err != nil {
		return nil, fmt.Errorf("prove that the wire is in clear: %w", err)
	}
	return []layer.Check{
		m.checkArrival(t.Layer, prefix+"marker from pod to pod", true),
		m.checkWire(t.Layer, prefix+"marker on the wire", true),
	}, nil
}

// ProveOff shows that the pods of a site without the layer have no tunnel. On this machine, the wire must show markers
// in clear. On a cluster, no pod may have the tunnel's interface.
func (p *Protocol) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if sidecars, ok := testbed.As[testbed.Sidecars](s.Site); ok {
		return p.inPods(s.Site, sidecars, false).proveOff(ctx)
	}
	t, err := p.betweenNodes(s.Site)
	if err != nil {
		return nil, err
	}
	return t.proveClear(ctx, "")
}

const implementationCheck = "implementation" // the name of the check that records the implementation

func (t *Tunnels) implementation(wanted Implementation) layer.Check {
	e := t.ends[0]
	check := layer.Check{Layer: t.Layer, Name: implementationCheck, Expected: string(wanted), Observed: fmt.Sprintf("%s (%s)", Userspace, e.version)}
	if wanted == Auto {
		check.Expected = "kernel if it has one, otherwise userspace"
	}
	check.Caveat = fmt.Sprintf("%s runs in user space (%s): its CPU time does not predict the kernel's", t.Name, t.Program)
	if e.kernel {
		check.Observed = fmt.Sprintf("%s (%s)", Kernel, e.version)
		check.Caveat = t.Protocol.Kernel + " encrypts in threads of the kernel: only the CPU time of the whole machine includes its cost"
	}
	check.OK = wanted == Auto || strings.HasPrefix(check.Observed, string(wanted))
	if t.sidecars != nil {
		check.Caveat += "; " + podCaveat
	}
	return check
}

// proveKeys shows that markers arrive with the right key, and none from a client whose key is unknown. It makes the
// handshakes, so that no trial waits for one.
func (t *Tunnels) proveKeys(ctx context.Context) error {
	client := t.ends[0]
	stranger, err := t.Keys(1)
	if err != nil {
		return fmt.Errorf("generate a wrong key: %w", err)
	}
	fromClient := slices.DeleteFunc(t.ways(absence), func(w way) bool { return w.from != testbed.ClientPod })
	for _, try := range []struct {
		name    string
		key     Key
		ways    []way
		arrives bool
	}{
		{"marker from a peer with a wrong key", stranger[0], fromClient, false},
		{"marker from the peer with the right key", client.key, t.ways(arrival), true},
	} {
		if err := client.rekey(ctx, try.key); err != nil {
			return err
		}
		if err := client.ask(ctx, request{Connect: &struct{}{}}, nil); err != nil && try.arrives { // with a wrong key, Connect may fail
			return err
		}
		m, err := t.sendMarkers(ctx, try.ways)
		if err != nil {
			return fmt.Errorf("prove that only the right key is accepted: %w", err)
		}
		t.proofs = append(t.proofs, m.checkArrival(t.Layer, try.name, try.arrives))
	}
	return nil
}

// prove shows that markers arrive through the tunnels, and are not readable between the nodes. It keeps the tunnels'
// counters for the check after the trial.
func (t *Tunnels) prove(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
	idle, err := t.traffic(ctx)
	if err != nil {
		return nil, err
	}
	m, err := t.sendMarkers(ctx, t.ways(arrival))
	if err != nil {
		return nil, fmt.Errorf("prove that the tunnel is on: %w", err)
	}
	if t.before, err = t.traffic(ctx); err != nil {
		return nil, err
	}
	checks := []layer.Check{
		m.checkArrival(t.Layer, "marker from pod to pod", true),
		m.checkWire(t.Layer, "marker on the wire", false),
	}
	if t.sidecars != nil && t.ends[0].opened.Device != "" {
		checks = append(checks, m.check(t.Layer, "marker on the tunnel's interface", "in at least 1 frame", func(one markerOutcome) (string, bool) {
			return fmt.Sprintf("in %d frames", one.inside), one.inside > 0
		}))
	}
	return append(checks, checkTraffic(t.Layer, "marker through the tunnel", idle, t.before, m.carried(t.Protocol))), nil
}

// through shows that the tunnels' counters grew by at least the bytes that the trial sent. Without a number of sent
// bytes, there is no check.
func (t *Tunnels) through(ctx context.Context, did layer.Did) ([]layer.Check, error) {
	if did.Sent == 0 {
		return nil, nil
	}
	now, err := t.traffic(ctx)
	if err != nil {
		return nil, err
	}
	return []layer.Check{checkTraffic(t.Layer, "trial through the tunnel", t.before, now, did.Sent)}, nil
}

func (t *Tunnels) traffic(ctx context.Context) (sum Traffic, err error) {
	for _, e := range t.ends {
		var one Traffic
		if err := e.ask(ctx, request{Traffic: &struct{}{}}, &one); err != nil {
			return Traffic{}, err
		}
		sum.Sent += one.Sent
		sum.Received += one.Received
	}
	return sum, nil
}

// checkTraffic compares two readings of the tunnels' counters. At least size bytes must have entered, and at least size
// bytes must have left.
func checkTraffic(kind, name string, from, to Traffic, size uint64) layer.Check {
	in, out := to.Sent-from.Sent, to.Received-from.Received
	return layer.Check{
		Layer: kind, Name: name,
		Expected: "at least as many bytes in and out as were sent",
		Observed: fmt.Sprintf("%d bytes in, %d bytes out, %d sent", in, out, size),
		OK:       to.Sent >= from.Sent && to.Received >= from.Received && in >= size && out >= size,
	}
}

// Probe tries the layer at a temporary site of the local testbed, with each implementation.
func (p *Protocol) Probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{p.find(ctx, Kernel), p.find(ctx, Userspace)}
}

func (p *Protocol) find(ctx context.Context, which Implementation) testbed.Finding {
	f := testbed.Finding{Name: string(which), Status: testbed.Works}
	t := &Tunnels{Protocol: p}
	checks, err := layer.Try(ctx, p.Declare().Needs, func(ctx context.Context, s *layer.Session) (*layer.Active, error) {
		t, err := p.onNodes(ctx, s.Site, which)
		if err != nil {
			return nil, err
		}
		return t.active(), nil
	})
	for _, c := range checks {
		if c.Name == implementationCheck {
			f.Detail = c.Observed
		}
	}
	f.Hint = t.hint(err)
	return f.Tried(err)
}

// way is the path of a marker from one pod to another. The two pods are behind different ends of the tunnels.
type way struct {
	from, to testbed.Place
	limit    time.Duration // timeout of the marker
}

// ways returns one route between every two ends. The earlier end in the list is the sender, since it starts the
// handshakes (Peer.Connect).
func (t *Tunnels) ways(limit time.Duration) (all []way) {
	for i, from := range t.ends {
		for _, to := range t.ends[i+1:] {
			all = append(all, way{from.pod, to.pod, limit})
		}
	}
	return all
}

type markerOutcome struct {
	way     way
	size    int // size of the marker in bytes
	arrived bool
	clear   int // number of frames on the wire that show the marker in clear
	inside  int // number of frames on the tunnel's interface in the pod that show the marker
}

func (t *Tunnels) sendMarker(ctx context.Context, w way) (markerOutcome, error) {
	marker := []byte(evidence.Marker())
	m, err := t.send(ctx, w, marker)
	if err != nil {
		return markerOutcome{}, err
	}
	m.way, m.size = w, len(marker)
	return m, nil
}

type markerOutcomes []markerOutcome

const atATime = 32 // markers sent at the same time, since the watch for each takes some ten ms to end

func (t *Tunnels) sendMarkers(ctx context.Context, all []way) (markerOutcomes, error) {
	seen, errs := make(markerOutcomes, len(all)), make([]error, len(all))
	var wait sync.WaitGroup
	free := make(chan struct{}, atATime)
	for i, w := range all {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			seen[i], errs[i] = t.sendMarker(ctx, w)
		})
	}
	wait.Wait()
	return seen, errors.Join(errs...)
}

// carried returns the least number of bytes by which the protocol's counters must have grown if all markers went
// through the tunnels.
func (m markerOutcomes) carried(p *Protocol) (bytes uint64) {
	for _, one := range m {
		bytes += p.Carried(one.size)
	}
	return bytes
}

// checkArrival checks the arrival of markers. With want = true, every marker must have arrived; with want = false,
// none.
func (m markerOutcomes) checkArrival(kind, name string, want bool) layer.Check {
	say := map[bool]string{true: "arrives", false: "does not arrive"}
	return m.check(kind, name, say[want], func(one markerOutcome) (string, bool) { return say[one.arrived], one.arrived == want })
}

// checkWire checks that every marker arrived, and that the wire showed every marker unencrypted (clear = true) or none
// (clear = false).
func (m markerOutcomes) checkWire(kind, name string, clear bool) layer.Check {
	say := map[bool]string{true: "in clear in at least 1 frame", false: "in clear in 0 frames"}
	return m.check(kind, name, say[clear], func(one markerOutcome) (string, bool) {
		return fmt.Sprintf("in clear in %d frames", one.clear), one.arrived && (one.clear > 0) == clear
	})
}

// check compares each marker's outcome with the expected one. With several markers, it counts the expected outcomes and
// names at most 3 unexpected ones.
func (m markerOutcomes) check(kind, name, expected string, look func(markerOutcome) (observed string, ok bool)) layer.Check {
	const most = 3 // number of unexpected outcomes that are named
	c := layer.Check{Layer: kind, Name: name, Expected: expected}
	if len(m) == 1 {
		c.Observed, c.OK = look(m[0])
		return c
	}
	var other []string
	for _, one := range m {
		if observed, ok := look(one); !ok {
			other = append(other, fmt.Sprintf("%s from %s to %s", observed, one.way.from, one.way.to))
		}
	}
	c.OK = len(m) > 0 && len(other) == 0
	c.Expected += fmt.Sprintf(", between all %d pairs", len(m))
	c.Observed = fmt.Sprintf("so between %d of %d", len(m)-len(other), len(m))
	if more := len(other) - most; more > 0 {
		other = append(other[:most], fmt.Sprintf("and %d more", more))
	}
	if len(other) > 0 {
		c.Observed += ": " + strings.Join(other, ", ")
	}
	return c
}
