package tunnel

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"tare/internal/layer"
	"tare/internal/lists"
	"tare/internal/testbed"
)

// inPods returns tunnels between the pods of a site, whose ends are not open yet. The helpers run in sidecars, or
// without the layer beside the programs.
func (p *Protocol) inPods(site testbed.Site, sidecars testbed.Sidecars, watches bool) *Tunnels {
	ends := lists.Map(sidecars.SidecarPods(), func(pod testbed.Place) *end { return &end{at: pod, place: pod, pod: pod} })
	t := &Tunnels{Protocol: p, site: site, ends: ends, sidecars: sidecars, watches: watches}
	t.send = t.sendFromPod
	return t
}

// askForSidecars requests a sidecar in each pod, for tunnels that are created when the pods run.
func (p *Protocol) askForSidecars(site testbed.Site, sidecars testbed.Sidecars) (*Tunnels, error) {
	// NET_ADMIN is for interfaces, routes and rules, NET_RAW for watching interfaces, MKNOD for the TUN device file,
	// NET_BIND_SERVICE for ports below 1024.
	want := testbed.Sidecar{Name: p.Layer, Image: p.Image, Capabilities: []string{"NET_ADMIN", "NET_RAW", "MKNOD"}}
	if slices.Min(p.Ports) < 1024 {
		want.Capabilities = append(want.Capabilities, "NET_BIND_SERVICE")
	}
	t := p.inPods(site, sidecars, true)
	for _, e := range t.ends {
		var err error
		if e.at, err = sidecars.AddSidecar(e.pod, want); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Tunnels) settle(ctx context.Context, wanted Implementation) (err error) {
	if err := t.meet(ctx); err != nil {
		return err
	}
	if t.proofs, err = t.proveClear(ctx, "without the tunnel: "); err != nil {
		return err
	}
	return t.raise(ctx, wanted)
}

// meet finds the pods' addresses, and starts a helper for each pod. The helpers answer markers until the site is taken
// down.
func (t *Tunnels) meet(ctx context.Context) error {
	return t.each(func(e *end) error {
		e.own = t.sidecars.PodAddresses(e.pod)
		if len(e.own) == 0 {
			return fmt.Errorf("the %s has no address", e.pod)
		}
		behind := lists.Map(e.own, func(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) })
		e.peer = Peer{Address: e.own[0], Behind: behind}
		if err := e.start(ctx, t); err != nil {
			return err
		}
		var present bool
		err := e.ask(ctx, request{Answer: &struct{}{}}, &present)
		if present {
			t.present.Add(1)
		}
		return err
	})
}

// sendFromPod sends a marker from pod to pod and looks for it on the interfaces of the sending pod.
func (t *Tunnels) sendFromPod(ctx context.Context, w way, marker []byte) (markerOutcome, error) {
	var from, to *end
	for _, e := range t.ends {
		switch e.pod {
		case w.from:
			from = e
		case w.to:
			to = e
		}
	}
	var s sent
	err := from.ask(ctx, request{Send: &sending{To: to.own[0], Marker: string(marker), Limit: w.limit, Watch: t.watches}}, &s)
	return markerOutcome{arrived: s.Arrived, clear: s.Wire, inside: s.Tunnel}, err
}

// leadInPods routes packets between the pods into the tunnels (on) or past them (off). While on, the clients' packets
// for the service go to the server's pod.
func (t *Tunnels) leadInPods(ctx context.Context, on bool) error {
	network, _ := testbed.As[testbed.Network](t.site)
	return t.each(func(e *end) error {
		switch {
		case e.helper == nil:
			return nil // without a helper, nothing has changed the routes
		case !on:
			return e.ask(ctx, request{Undo: &struct{}{}}, nil)
		}
		d := direction{Device: e.opened.Device}
		for _, other := range t.ends {
			if other != e {
				d.Peers = append(d.Peers, other.own...)
			}
		}
		if network != nil && !e.pod.Server() {
			d.Service, d.Server = network.Address(testbed.PodToService), network.Address(testbed.PodToPod)
		}
		return e.ask(ctx, request{Direct: &d}, nil)
	})
}

// proveOff shows that the pods reach each other without a tunnel. No program may watch the interfaces of pods without
// sidecars, so no marker is shown in clear.
func (t *Tunnels) proveOff(ctx context.Context) (checks []layer.Check, err error) {
	defer func() {
		for _, e := range t.ends {
			if e.helper != nil {
				err = errors.Join(err, e.helper.Close(context.WithoutCancel(ctx)))
			}
		}
	}()
	if err := t.meet(ctx); err != nil {
		return nil, err
	}
	m, err := t.sendMarkers(ctx, t.ways(arrival))
	if err != nil {
		return nil, fmt.Errorf("prove that pods reach each other: %w", err)
	}
	n, say := int(t.present.Load()), fmt.Sprintf("in %%d of %d pods", len(t.ends))
	return []layer.Check{
		m.checkArrival(t.Layer, "marker from pod to pod", true),
		{Layer: t.Layer, Name: "interface " + t.Device, Expected: fmt.Sprintf(say, 0), Observed: fmt.Sprintf(say, n), OK: n == 0},
	}, nil
}

const podCaveat = "these tunnels are between the pods, and not between their nodes: to measure the encryption of a network plugin, use kubernetes/cilium-wireguard.yaml and kubernetes/calico-wireguard.yaml (tare list examples NAME prints one)"
