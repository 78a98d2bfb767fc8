// Package tunnel holds the common part of layers that encrypt the traffic of pods by tunnels between the nodes of a
// network, like the transparent encryption of Cilium and Calico. Each layer describes its Protocol.
//
// Each node is one end of the tunnels, with a helper. The kernel encrypts, or a program in user space does: the helper
// or a separate daemon. The CPU time of the helper and the daemon is the layer's cost.
//
// The wire shows that the layer is on. For each two nodes, a random marker is sent from pod to pod. The marker arrives,
// the tunnel counts it, and it is not in clear between the nodes. Without the layer it is in clear there.
//
// # On a cluster
//
// Tare does not control the nodes of a cluster. There the tunnels are between the pods of clients and the pods of the
// service's members. Each of these pods has a sidecar (testbed.Sidecars) with a helper. Routes, routing rules and an
// nftables rule lead packets for these pods and the service into the tunnel (direct_linux.go). Markers are watched on
// the interfaces of the sending pod. In arms without the layer, no pod has a sidecar that could watch. There the proof
// shows only that the pods have no tunnel and reach each other.
package tunnel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/lists"
	"tare/internal/testbed"
)

// Implementation names the part that encrypts: the kernel, or a program in user space.
type Implementation string

const (
	Auto      Implementation = "auto" // the kernel if it can encrypt, otherwise a program in user space
	Kernel    Implementation = "kernel"
	Userspace Implementation = "userspace"
)

// Key is the secret of an end: its private key, or a key that all ends share.
type Key [32]byte

// Peer is what an end of a tunnel knows about another end.
type Peer struct {
	Key     Key            `json:"key"` // part of the peer's key that other ends know (Protocol.Public)
	Address netip.Addr     `json:"address"`
	Behind  []netip.Prefix `json:"behind"`  // addresses that are reached through the peer
	Connect bool           `json:"connect"` // set if this end, and not the peer, starts the handshake
}

// Endpoint combines the peer's address with a port.
func (p Peer) Endpoint(port uint16) netip.AddrPort { return netip.AddrPortFrom(p.Address, port) }

// Traffic counts the bytes that have gone through the tunnels of an end.
type Traffic struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

// Engine is one end of a tunnel after it has been opened, in the helper's network namespace.
type Engine interface {
	// Rekey sets the end's key and its peers. It drops the session keys that were agreed on with earlier peers.
	Rekey(own Key, peers []Peer) error
	// Connect makes handshakes with the peers that have Peer.Connect set. It does nothing for a protocol whose first
	// packets start the handshakes.
	Connect() error
	// Traffic returns the counters, summed over all peers.
	Traffic() (Traffic, error)
	// Ready waits for the end's daemon, if there is one. It returns name and version of the program that encrypts.
	Ready() (program string, err error)
	Close() error
}

// Opening holds the parameters for opening an end.
type Opening struct {
	Kernel bool `json:"kernel,omitempty"`
	MTU    int  `json:"mtu,omitempty"` // MTU of the tunnel; 0: the MTU of the pod's interface minus Protocol.Overhead
	// Own holds the addresses of the end's pod; empty: the end is on a node. The tunnel's interface gets the pod's
	// addresses as source addresses.
	Own     []netip.Addr   `json:"own,omitempty"`
	Address netip.Addr     `json:"address"` // address by which the peers reach this end
	Behind  []netip.Prefix `json:"behind"`  // addresses that peers reach through this end
}

// Opened describes one end of a tunnel after it was set up: its interface, MTU and daemon.
type Opened struct {
	// Device is the tunnel's interface. It is "" if the kernel encrypts by policy, which needs no interface.
	Device string `json:"device"`
	MTU    int    `json:"mtu"` // largest packet that may enter the tunnel, in bytes
	// Daemon is the command line of a program in user space that must run at the end's place; nil if there is no such
	// program.
	Daemon []string `json:"daemon,omitempty"`
	Env    []string `json:"env,omitempty"` // variables of the daemon
}

// Protocol describes one kind of tunnel.
type Protocol struct {
	Layer    string // the layer's name in the experiment file
	Name     string // name of the protocol, such as "WireGuard"
	Kernel   string // name of the kernel's implementation in messages: "the kernel's WireGuard"
	Program  string // the implementation in user space, such as "wireguard-go"
	Device   string // name of the tunnel's interface
	Ports    []int  // UDP ports, at both ends, of the tunnel's packets
	Overhead int    // largest number of bytes that the tunnel adds to a packet
	Image    string // image of the sidecars on a cluster; "": Tare's own
	// Carried returns by how many bytes, at least, the counters grow for a UDP packet with size bytes of payload.
	Carried func(size int) uint64
	// Keys generates n keys, one for each end of the tunnels.
	Keys   func(n int) ([]Key, error)
	Public func(Key) Key // returns the part of an end's key that its peers know
	// Hint returns advice on how to meet missing requirements. The argument lacks is ErrNoKernel or errUserspace.
	// The argument pods is true on a cluster.
	Hint func(lacks error, pods bool) string

	// The functions from here on run in the process of the helper.

	// Lacks returns the reason why the kernel cannot encrypt in the helper's network namespace; nil if it can.
	Lacks func() error
	// Open opens an end. The end has no key and no peers yet.
	Open func(Opening) (Engine, Opened, error)
}

// These errors mean that an implementation cannot work on this system.
var (
	ErrNoKernel  = errors.New("not in this kernel")
	errUserspace = errors.New("works on a TUN interface")
)

// Declare declares what the layer needs: a network, and on a cluster pods that may have the capability NET_ADMIN.
func (p *Protocol) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs: experiment.Needs{Network: true, PodSecurity: []experiment.PodSecurity{
			{Level: "privileged", Why: "capability NET_ADMIN, to make a tunnel in the pods (layer " + p.Layer + ")"}}},
		OwnProves: true,
	}
}

// Tunnels holds the tunnels between all ends of a site.
type Tunnels struct {
	*Protocol
	site   testbed.Site
	nodes  []testbed.Node // nil if the ends are in pods
	ends   []*end
	proofs []layer.Check
	before Traffic // counters at the beginning of the trial
	// send sends a marker. It reports whether the marker arrived, and where it was seen.
	send func(ctx context.Context, w way, marker []byte) (markerOutcome, error)

	// The fields below are only for tunnels between the pods of a cluster.

	sidecars testbed.Sidecars // nil if the ends are on nodes
	watches  bool             // set if the helpers have the right to watch interfaces
	present  atomic.Int32     // number of pods that had the tunnel's interface when their helpers started to answer
}

// Up puts tunnels around the site. For a site of pods it only requests sidecars, and Settle creates the tunnels.
func (p *Protocol) Up(ctx context.Context, s *layer.Session, wanted Implementation) (*layer.Active, error) {
	if sidecars, ok := testbed.As[testbed.Sidecars](s.Site); ok {
		t, err := p.askForSidecars(s.Site, sidecars)
		if err != nil {
			return nil, err
		}
		active := t.active()
		active.Settle = func(ctx context.Context) ([]layer.Check, error) {
			err := t.settle(ctx, wanted)
			return t.proofs, t.hinted(err)
		}
		return active, nil
	}
	t, err := p.onNodes(ctx, s.Site, wanted)
	if err != nil {
		return nil, (&Tunnels{Protocol: p}).hinted(err)
	}
	return t.active(), nil
}

func (t *Tunnels) active() *layer.Active {
	return &layer.Active{Proofs: t.proofs, Before: t.prove, Costs: t.costs, After: t.through, Down: t.down}
}

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

// betweenNodes returns tunnels between the nodes of a site. The ends of the tunnels are not open yet.
func (p *Protocol) betweenNodes(site testbed.Site) (*Tunnels, error) {
	courier, ok1 := testbed.As[testbed.Datagrams](site)
	wire, ok2 := testbed.As[testbed.Wire](site)
	nodes, ok3 := testbed.As[testbed.Nodes](site)
	if !ok1 || !ok2 || !ok3 {
		return nil, errors.New("this testbed has no nodes for a tunnel")
	}
	t := &Tunnels{Protocol: p, site: site, nodes: nodes.Nodes()}
	for _, n := range t.nodes {
		t.ends = append(t.ends, &end{at: n.Place(), place: n.Place(), pod: n.Pods()[0], mtu: n.MTU() - p.Overhead,
			peer: Peer{Address: n.Address(), Behind: []netip.Prefix{n.PodNetwork()}}})
	}
	t.send = func(ctx context.Context, w way, marker []byte) (m markerOutcome, err error) {
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

// raise opens all ends, leads packets into the tunnels, and then makes the proofs of the set-up.
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
		e.key, e.peers = keys[i], nil
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

// each runs a function for all ends of tunnels in parallel. It returns only one error, since all ends usually have the
// same error.
func (t *Tunnels) each(do func(e *end) error) error {
	errs := make([]error, len(t.ends))
	var wait sync.WaitGroup
	for i, e := range t.ends {
		wait.Go(func() { errs[i] = do(e) })
	}
	wait.Wait()
	return cmp.Or(errs...)
}

// choose reports whether the kernel encrypts: the kernels of all ends can, and the user did not set userspace. If the
// user set kernel and an end cannot, choose returns an error.
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

// lead routes packets between the pods: with on = true into the tunnels, with on = false past them.
func (t *Tunnels) lead(ctx context.Context, on bool) error {
	if t.sidecars != nil {
		return t.leadInPods(ctx, on)
	}
	var errs []error
	for _, node := range t.nodes {
		via := Opened{} // the empty value names no interface: packets go over the wire
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

// costs returns the CPU time and memory of each end's processes. An end whose kernel encrypts has no processes.
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

// down routes the pods' packets over the wire again, and removes the tunnels.
func (t *Tunnels) down(ctx context.Context) error {
	return errors.Join(t.lead(ctx, false), errors.Join(lists.Map(t.ends, func(e *end) error { return e.close(ctx) })...))
}

// hinted adds advice to an error of a missing requirement, such as a kernel module: how to meet it.
func (t *Tunnels) hinted(err error) error {
	if hint := t.hint(err); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	return err
}

func (t *Tunnels) hint(err error) string {
	for _, lacks := range []error{ErrNoKernel, errUserspace} {
		if errors.Is(err, lacks) {
			return t.Hint(lacks, t.sidecars != nil)
		}
	}
	return ""
}

// HintTUN returns a hint on what TUN interfaces need.
func HintTUN(pods bool) string {
	if pods {
		return "the nodes need the module tun, and a container runtime that lets a container with the capability MKNOD use " +
			"/dev/net/tun: runc does, except 1.2.0 to 1.2.3"
	}
	return "as root: modprobe tun; chmod 0666 /dev/net/tun"
}
