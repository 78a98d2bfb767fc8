// Package tunnel is what layers share that encrypt what the nodes of a network send each
// other for their pods: tunnels between the nodes, as the transparent encryption of Cilium and Calico has
// them. A layer describes its Protocol; everything else is here.
//
// Each node is one end of the tunnels, whose peers are all other nodes. A helper (this program
// started again) works at each end. An implementation is the kernel's, or runs in user space, in
// the helper or in a daemon beside it; the CPU time of such processes is the layer's cost.
//
// The evidence that the layer is on is gathered on the wire itself: a random marker that is
// sent from pod to pod arrives, passes through the tunnel's counters, and is not seen in clear
// between the nodes; without the layer it is seen. Each pair of nodes has a marker of its own.
//
// # On a cluster
//
// A cluster's nodes are its own. There the tunnels are between the pods of clients and of the
// service's members, each of which has a sidecar (testbed.Sidecars) with a helper. Routes, routing rules and
// a rule of nftables lead what goes to the other pods' addresses, and to the service's, into the
// tunnel (direct_linux.go). Markers are looked for where they leave the pod. Nothing in the pods of
// arms without the layer may watch: those pods are shown to have no tunnel.
package tunnel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
)

// Implementation says who encrypts.
type Implementation string

// The implementations.
const (
	Auto      Implementation = "auto" // the kernel where it can, else user space
	Kernel    Implementation = "kernel"
	Userspace Implementation = "userspace"
)

// Key is an end's secret: a private key, or one that all ends share.
type Key [32]byte

// Peer is another end, as an end knows it.
type Peer struct {
	Key     Key            `json:"key"` // made by Protocol.Public
	Address netip.Addr     `json:"address"`
	Behind  []netip.Prefix `json:"behind"`  // addresses that are reached through the peer
	Connect bool           `json:"connect"` // this end begins the handshake, and not the peer
}

// Endpoint is the peer's address with a port.
func (p Peer) Endpoint(port uint16) netip.AddrPort { return netip.AddrPortFrom(p.Address, port) }

// Traffic counts what went through an end's tunnels, in bytes.
type Traffic struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

// Engine is one end at work, in the helper's network namespace.
type Engine interface {
	// Rekey gives the end its key and its peers, and makes it forget what it has agreed with them.
	Rekey(own Key, peers []Peer) error
	// Connect makes handshakes with the peers that Peer.Connect names. Protocols whose packets do so leave it empty.
	Connect() error
	// Traffic reads the counters of all peers together.
	Traffic() (Traffic, error)
	// Ready waits until the end's daemon is up, if there is one. It names the program that encrypts, with its version.
	Ready() (program string, err error)
	// Close takes the end away.
	Close() error
}

// Opening says how an end is to be opened.
type Opening struct {
	Kernel bool `json:"kernel,omitempty"`
	MTU    int  `json:"mtu,omitempty"` // of the tunnel; 0: that of the pod's interface less Protocol.Overhead
	// Own are the pod's addresses, which the tunnel's interface gets as well: redirected packets need one. An
	// end on a node has none.
	Own     []netip.Addr   `json:"own,omitempty"`
	Address netip.Addr     `json:"address"` // by which the peers reach this end
	Behind  []netip.Prefix `json:"behind"`  // addresses that peers reach through this end
}

// Opened is an end that is open.
type Opened struct {
	// Device is the tunnel's interface; "" where the kernel encrypts by policy, without an interface.
	Device string `json:"device"`
	MTU    int    `json:"mtu"` // of what enters the tunnel
	// Daemon is a program that has to run at the end's place, in user space; nil for none.
	Daemon []string `json:"daemon,omitempty"`
	Env    []string `json:"env,omitempty"` // of the daemon
}

// Protocol describes one kind of tunnel.
type Protocol struct {
	Layer    string // the layer's name in the file
	Name     string // "WireGuard"
	Kernel   string // the kernel's implementation in messages: "the kernel's WireGuard"
	Program  string // the implementation in user space: "wireguard-go"
	Device   string // name of the tunnel's interface
	Ports    []int  // UDP ports, on both sides, of the packets between two ends
	Overhead int    // most bytes that the tunnel adds to a packet
	Image    string // of the sidecars on a cluster; "": Tare's own
	// Carried is the least by which the counters grow for a UDP packet of so many bytes.
	Carried func(size int) uint64
	// Keys makes fresh keys for n ends.
	Keys func(n int) ([]Key, error)
	// Public makes of an end's key what its peers know of it.
	Public func(Key) Key
	// Hint says what a system needs; ErrNoKernel or ErrUserspace is what it lacks.
	Hint func(lacks error, pods bool) string

	// The rest runs in the helper.

	// Lacks says why the kernel of this network namespace cannot; nil where it can.
	Lacks func() error
	// Open opens an end, without key and peers.
	Open func(Opening) (Engine, Opened, error)
}

// What a system may lack.
var (
	ErrNoKernel  = errors.New("not in this kernel")
	ErrUserspace = errors.New("works on a TUN interface")
)

// Declare says that the layer needs nodes, or pods that may have sidecars.
func (p *Protocol) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs: experiment.Needs{Network: true, PodSecurity: []experiment.PodSecurity{
			{Level: "privileged", Why: "capability NET_ADMIN, to make a tunnel in the pods (layer " + p.Layer + ")"}}},
		OwnProves: true,
	}
}

// Tunnels are those between all ends of a site.
type Tunnels struct {
	*Protocol
	site   testbed.Site
	nodes  []testbed.Node // nil in pods
	pods   *inPods        // nil on nodes
	ends   []*end
	proofs []layer.Check
	before Traffic // when the trial began
	// send sends a marker and says whether it arrived, and where it was seen.
	send func(ctx context.Context, w way, marker []byte) (sighting, error)
}

// Up puts tunnels around the site of a session.
func (p *Protocol) Up(ctx context.Context, s *layer.Session, wanted Implementation) (*layer.Active, error) {
	if sidecars, ok := testbed.As[testbed.Sidecars](s.Site); ok {
		t, err := p.askForSidecars(s.Site, sidecars)
		if err != nil {
			return nil, err
		}
		settle := func(ctx context.Context) ([]layer.Check, error) {
			err := t.settle(ctx, wanted)
			return t.proofs, t.hinted(err)
		}
		active := t.active()
		active.Settle = settle
		return active, nil
	}
	t, err := p.onNodes(ctx, s.Site, wanted)
	if err != nil {
		return nil, (&Tunnels{Protocol: p}).hinted(err)
	}
	return t.active(), nil
}

// active are tunnels that are on.
func (t *Tunnels) active() *layer.Active {
	return &layer.Active{Proofs: t.proofs, Before: t.prove, Costs: t.costs, After: t.through, Down: t.down}
}

// onNodes makes tunnels between the nodes of this machine.
func (p *Protocol) onNodes(ctx context.Context, site testbed.Site, wanted Implementation) (*Tunnels, error) {
	t, err := p.betweenNodes(site)
	if err != nil {
		return nil, err
	}
	if t.proofs, err = t.proveClear(ctx, "without the tunnel: "); err != nil {
		return nil, err
	}
	if err := t.raise(ctx, wanted); err != nil {
		return nil, errors.Join(err, t.down(context.WithoutCancel(ctx)))
	}
	return t, nil
}

// betweenNodes has the nodes of a site as ends, which are not open.
func (p *Protocol) betweenNodes(site testbed.Site) (*Tunnels, error) {
	courier, ok1 := testbed.As[testbed.Courier](site)
	wire, ok2 := testbed.As[testbed.Wire](site)
	nodes, ok3 := testbed.As[testbed.Nodes](site)
	if !ok1 || !ok2 || !ok3 {
		return nil, errors.New("this testbed has no nodes between which a tunnel could be put and watched")
	}
	t := &Tunnels{Protocol: p, site: site, nodes: nodes.Nodes()}
	for _, n := range t.nodes {
		t.ends = append(t.ends, &end{at: n.Place(), place: n.Place(), pod: n.Pods()[0], mtu: n.MTU() - p.Overhead,
			peer: Peer{Address: n.Address(), Behind: []netip.Prefix{n.PodNetwork()}}})
	}
	t.send = func(ctx context.Context, w way, marker []byte) (m sighting, err error) {
		stop, err := wire.Watch(ctx, marker)
		if err != nil {
			return m, err
		}
		m.arrived, err = courier.DeliverBetween(ctx, w.from, w.to, marker, w.limit)
		var watched error
		m.clear, watched = stop()
		return m, cmp.Or(err, watched)
	}
	return t, nil
}

// raise opens all ends, proves what is proved once, and leaves the tunnels on.
func (t *Tunnels) raise(ctx context.Context, wanted Implementation) error {
	if err := t.each(func(e *end) error { return e.start(ctx, t) }); err != nil {
		return err
	}
	kernel, err := t.choose(ctx, wanted)
	if err != nil {
		return err
	}
	keys, err := t.Keys(len(t.ends))
	if err != nil {
		return fmt.Errorf("make keys: %w", err)
	}
	for i, e := range t.ends {
		e.key = keys[i]
		e.peers = nil
		for k, other := range t.ends {
			if i != k {
				peer := other.peer
				peer.Key, peer.Connect = t.Public(keys[k]), i < k
				e.peers = append(e.peers, peer)
			}
		}
	}
	if err := t.each(func(e *end) error { return e.open(ctx, t, kernel) }); err != nil {
		return err
	}
	if err := t.each(func(e *end) error { return e.ask(ctx, request{Connect: &struct{}{}}, nil) }); err != nil {
		return err
	}
	if err := t.lead(ctx, true); err != nil {
		return err
	}
	t.proofs = append(t.proofs, t.implementation(wanted))
	return t.proveKeys(ctx)
}

// each does something at all ends at the same time, and gives one of the errors: all would say the same.
func (t *Tunnels) each(do func(e *end) error) error {
	errs := make([]error, len(t.ends))
	var wait sync.WaitGroup
	for i, e := range t.ends {
		wait.Go(func() { errs[i] = do(e) })
	}
	wait.Wait()
	return cmp.Or(errs...)
}

// choose reports whether the kernel encrypts: where the kernels of all ends can, unless user space is wanted.
func (t *Tunnels) choose(ctx context.Context, wanted Implementation) (kernel bool, err error) {
	if wanted == Userspace {
		return false, nil
	}
	kernel = true
	err = t.each(func(e *end) error { return e.ask(ctx, request{Kernel: &struct{}{}}, &e.lacks) })
	for _, e := range t.ends {
		if err == nil && e.lacks != "" && wanted == Kernel {
			return false, fmt.Errorf("%s is %w: %s: %s", t.Name, ErrNoKernel, e.place, e.lacks)
		}
		kernel = kernel && e.lacks == ""
	}
	return kernel, err
}

// lead sends what the pods send each other through the tunnels, or past them.
func (t *Tunnels) lead(ctx context.Context, on bool) error {
	if t.pods != nil {
		return t.pods.lead(ctx, t, on)
	}
	var errs []error
	for _, node := range t.nodes {
		via := Opened{} // over the wire
		if on {
			via = t.ends[0].opened
		}
		for _, other := range t.nodes {
			if other.Place() == node.Place() {
				continue
			}
			if err := node.RouteVia(other.PodNetwork(), via.Device, via.MTU); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", node.Place(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// costs is what the processes of the ends have used, by node or pod. A kernel's tunnel has none.
func (t *Tunnels) costs() ([]layer.Cost, error) {
	var costs []layer.Cost
	for _, e := range t.ends {
		if e.kernel {
			continue
		}
		c, err := e.cost()
		if err != nil {
			return nil, err
		}
		costs = append(costs, c)
	}
	return costs, nil
}

// down sends traffic over the wire again and takes the tunnels away.
func (t *Tunnels) down(ctx context.Context) error {
	errs := []error{t.lead(ctx, false)}
	for _, e := range t.ends {
		errs = append(errs, e.close(ctx))
	}
	return errors.Join(errs...)
}

// hinted adds what a system needs to an error that says what it lacks.
func (t *Tunnels) hinted(err error) error {
	if hint := t.hint(err); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	return err
}

func (t *Tunnels) hint(err error) string {
	for _, lacks := range []error{ErrNoKernel, ErrUserspace} {
		if errors.Is(err, lacks) {
			return t.Hint(lacks, t.pods != nil)
		}
	}
	return ""
}

// HintTUN says what makes TUN interfaces possible.
func HintTUN(pods bool) string {
	if pods {
		return "the nodes need the module tun, and a container runtime that lets a container with the capability MKNOD have " +
			"/dev/net/tun: runc does, but for 1.2.0 to 1.2.3"
	}
	return "as root: modprobe tun; chmod 0666 /dev/net/tun"
}
