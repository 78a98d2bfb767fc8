package wireguard

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tare/layer"
	"tare/testbed"
	"tare/testbed/orders"
)

// probePort is where helpers in pods answer markers, over UDP.
const probePort = listenPort + 1

// capabilities are those of a sidecar: to make interfaces, routes and rules, to watch, and to
// make the file of TUN interfaces.
var capabilities = []string{"NET_ADMIN", "NET_RAW", "MKNOD"}

// inPods is the layer's helpers in the pods of a cluster: in sidecars, or beside the programs
// of an arm without the layer.
type inPods struct {
	site     testbed.Site
	sidecars testbed.Sidecars
	watches  bool // the helpers have the right to
	pods     []testbed.Place
	helpers  map[testbed.Place]*orders.Helper // by pod
	tunnels  map[testbed.Place]bool           // whether a pod had the interface when its helper was started
}

func newInPods(site testbed.Site, sidecars testbed.Sidecars, watches bool) *inPods {
	return &inPods{site: site, sidecars: sidecars, watches: watches, pods: sidecars.SidecarPods(),
		helpers: map[testbed.Place]*orders.Helper{}, tunnels: map[testbed.Place]bool{}}
}

// upBeside asks for sidecars in the pods, between which the tunnels are made when the pods are
// there.
func (c *Config) upBeside(site testbed.Site, sidecars testbed.Sidecars) (*layer.Active, error) {
	a, at, err := askBeside(site, sidecars)
	if err != nil {
		return nil, err
	}
	settle := func(ctx context.Context) ([]layer.Check, error) {
		err := a.settle(ctx, c.Implementation, at)
		return a.proofs, withHint(err, podHint(err))
	}
	return &layer.Active{Settle: settle, Before: a.prove, Costs: a.costs, After: a.through, Down: a.down}, nil
}

// askBeside asks for the sidecars, and says where they are, by pod.
func askBeside(site testbed.Site, sidecars testbed.Sidecars) (*active, map[testbed.Place]testbed.Place, error) {
	a, at := &active{beside: newInPods(site, sidecars, true)}, map[testbed.Place]testbed.Place{}
	for _, pod := range a.beside.pods {
		place, err := sidecars.AddSidecar(pod, testbed.Sidecar{Name: kind, Capabilities: capabilities})
		if err != nil {
			return nil, nil, err
		}
		at[pod] = place
	}
	return a, at, nil
}

// settle makes the tunnels between pods that are there.
func (a *active) settle(ctx context.Context, wanted Implementation, at map[testbed.Place]testbed.Place) (err error) {
	if err := a.beside.start(ctx, func(pod testbed.Place) testbed.Place { return at[pod] }); err != nil {
		return err
	}
	if a.site, err = a.beside.surroundings(); err != nil {
		return err
	}
	if a.proofs, err = proveClear(ctx, a.site, "without the tunnel: "); err != nil {
		return err
	}
	return a.raise(ctx, wanted)
}

// start starts a helper for each pod, at a place in it, which answers markers from then on.
func (p *inPods) start(ctx context.Context, place func(testbed.Place) testbed.Place) error {
	var mu sync.Mutex
	return p.each(func(pod testbed.Place) error {
		h, err := orders.Start(ctx, p.site, place(pod), kind)
		if err != nil {
			return err
		}
		mu.Lock()
		p.helpers[pod] = h
		mu.Unlock()
		var tunnel bool
		if err := h.Ask(ctx, order{Answer: &struct{}{}}, &tunnel); err != nil {
			return fmt.Errorf("answer markers: %w", err)
		}
		mu.Lock()
		p.tunnels[pod] = tunnel
		mu.Unlock()
		return nil
	})
}

// each does something for all pods at the same time.
func (p *inPods) each(do func(pod testbed.Place) error) error {
	errs := make([]error, len(p.pods))
	var wait sync.WaitGroup
	for i, pod := range p.pods {
		wait.Go(func() {
			if err := do(pod); err != nil {
				errs[i] = fmt.Errorf("%s: %w", pod, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// close ends the helpers.
func (p *inPods) close(ctx context.Context) error {
	var errs []error
	for _, pod := range p.pods {
		if h := p.helpers[pod]; h != nil {
			errs = append(errs, h.Close(ctx))
			delete(p.helpers, pod)
		}
	}
	return errors.Join(errs...)
}

// surroundings are the pods as ends of tunnels.
func (p *inPods) surroundings() (surroundings, error) {
	s := surroundings{Site: p.site, send: p.send}
	for _, pod := range p.pods {
		own := p.sidecars.PodAddresses(pod)
		if len(own) == 0 {
			return s, fmt.Errorf("the %s has no address", pod)
		}
		one := spot{place: pod, pod: pod, address: own[0]}
		for _, a := range own {
			one.behind = append(one.behind, netip.PrefixFrom(a, a.BitLen()))
		}
		s.spots = append(s.spots, one)
	}
	return s, nil
}

// send sends a marker from pod to pod. It is looked for where it leaves.
func (p *inPods) send(ctx context.Context, w way, marker []byte, limit time.Duration) (sighting, error) {
	to := p.sidecars.PodAddresses(w.to)
	if len(to) == 0 {
		return sighting{}, fmt.Errorf("the %s has no address", w.to)
	}
	var s sent
	err := p.helpers[w.from].Ask(ctx, order{Send: &sendOrder{To: to[0], Marker: string(marker), Limit: limit, Watch: p.watches}}, &s)
	if err != nil {
		return sighting{}, fmt.Errorf("%s: %w", w.from, err)
	}
	return sighting{arrived: s.Arrived, clear: s.Wire, inside: s.Tunnel}, nil
}

// choose gives the way to open an end in a pod: by the kernel's WireGuard if that of every pod's
// node has it.
func (p *inPods) choose(ctx context.Context, wanted Implementation) (opener, error) {
	answers := make([]kernelAnswer, len(p.pods))
	kernel := wanted != Userspace
	if kernel {
		err := p.each(func(pod testbed.Place) error {
			return p.helpers[pod].Ask(ctx, order{Kernel: &struct{}{}}, &answers[slices.Index(p.pods, pod)])
		})
		if err != nil {
			return nil, err
		}
	}
	for i, one := range answers {
		if one.Lacks != "" && wanted == Kernel {
			return nil, fmt.Errorf("%w: the node of the %s, whose kernel is Linux %s", errNoKernel, p.pods[i], one.Release)
		}
		kernel = kernel && one.Lacks == ""
	}
	return func(ctx context.Context, _ testbed.Site, e end) (tunnel, error) {
		t := &userspaceTunnel{end: e, helper: p.helpers[e.pod]}
		if kernel {
			t.release = answers[slices.Index(p.pods, e.pod)].Release
		}
		if err := t.open(ctx, openOrder{Kernel: kernel, Port: listenPort, Own: p.sidecars.PodAddresses(e.pod)}); err != nil {
			return nil, errors.Join(err, t.close(context.WithoutCancel(ctx)))
		}
		return t, nil
	}, nil
}

// direct leads what the pods send each other into the tunnels, or past them. What clients send to the
// service goes to the pod that it stands for.
func (p *inPods) direct(ctx context.Context, on bool) error {
	network, _ := testbed.As[testbed.Network](p.site)
	return p.each(func(pod testbed.Place) error {
		h := p.helpers[pod]
		switch {
		case h == nil:
			return nil // it never began
		case !on:
			return h.Ask(ctx, order{Undo: &struct{}{}}, nil)
		}
		var o directOrder
		for _, other := range p.pods {
			if other != pod {
				o.Peers = append(o.Peers, p.sidecars.PodAddresses(other)...)
			}
		}
		if network != nil && !pod.Server() {
			o.Service, o.Server = network.Address(testbed.PodToService), network.Address(testbed.PodToPod)
		}
		return h.Ask(ctx, order{Direct: &o}, nil)
	})
}

// proveOff shows that pods have no interface of the layer's, and that they reach each other. No
// program of pods without sidecars may watch what leaves them: that markers are in clear
// there, the arm with the layer shows before it makes its tunnels.
func (p *inPods) proveOff(ctx context.Context) (checks []layer.Check, err error) {
	defer func() { err = errors.Join(err, p.close(context.WithoutCancel(ctx))) }()
	if err := p.start(ctx, func(pod testbed.Place) testbed.Place { return pod }); err != nil {
		return nil, err
	}
	s, err := p.surroundings()
	if err != nil {
		return nil, err
	}
	m, err := sendMarkers(ctx, s, ways(s), arrival)
	if err != nil {
		return nil, fmt.Errorf("prove that pods reach each other: %w", err)
	}
	n := 0
	for _, there := range p.tunnels {
		if there {
			n++
		}
	}
	say := "in %d of " + fmt.Sprint(len(p.pods)) + " pods"
	return []layer.Check{
		m.checkArrival("marker from pod to pod", true),
		{Layer: kind, Name: "interface " + device, Expected: fmt.Sprintf(say, 0), Observed: fmt.Sprintf(say, n), OK: n == 0},
	}, nil
}

// podCaveat is what a reader must know of tunnels in pods.
const podCaveat = "these are tunnels between the pods, made in them, and not between their nodes: the encryption of a network plugin is priced by kubernetes/cilium-wireguard.yaml and kubernetes/calico-wireguard.yaml (tare list examples NAME prints one)"

// podHint says what a node or a container runtime may lack.
func podHint(err error) string {
	switch {
	case errors.Is(err, errNoKernel):
		return "load the module wireguard on the nodes; or use wireguard-go with implementation: userspace"
	case errors.Is(err, errNoTUN):
		return "the nodes need the module tun, and a container runtime that lets a container with the capability MKNOD have " +
			"/dev/net/tun: runc does, but for 1.2.0 to 1.2.3"
	}
	return ""
}
