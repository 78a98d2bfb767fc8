// Package wireguard is the layer that encrypts what the nodes of a network send
// each other for their pods, with WireGuard tunnels between the nodes, as
// Cilium's and Calico's transparent encryption do. Each node has one interface, whose
// peers are all other nodes.
//
// There are two implementations of the tunnel. The kernel's is used where the
// kernel has it. Otherwise wireguard-go does it, in a process of its own on each
// node (this program started again, see Helper), so that its CPU time is
// accounted to the layer. Which of the two a figure belongs to is recorded: they
// differ several times over.
//
// The evidence that the layer is on is gathered on the wire itself: a random
// marker sent from pod to pod arrives, passes through the tunnel's counters, and
// is not seen in clear between the nodes; without the layer it is seen. Between each two
// nodes it is another marker.
//
// # On a cluster
//
// The nodes of a cluster are its own: there the tunnels are between the pods of clients and of
// the service's members, each of which has a sidecar of Tare's (testbed.Sidecars) with a helper that runs
// either implementation (pods.go). In a pod, what goes to the other pods' addresses is led into
// the tunnel by routes and routing rules, and so is what goes to the service's address, by a
// rule of nftables (direct_linux.go). Markers are looked for where they leave the pod, before the
// tunnels are made and before every trial. The pods of arms without the layer have nothing that
// may watch: they are seen to have no tunnel.
package wireguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
)

// kind is the layer's name in the file.
const kind = "wireguard"

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    kind,
	Summary: "encryption between the nodes, on a cluster between the pods: a WireGuard tunnel of the kernel or of wireguard-go",
	New:     func() layer.Layer { return &Config{Implementation: Auto} },
	Probe:   probe,
	Helper:  Helper,
}

// Implementation says whose WireGuard is used.
type Implementation string

// The implementations.
const (
	Auto      Implementation = "auto" // the kernel's where it has one
	Kernel    Implementation = "kernel"
	Userspace Implementation = "userspace" // wireguard-go
)

// Config is the layer's parameters.
type Config struct {
	Implementation Implementation `yaml:"implementation" json:"implementation" enum:"auto,kernel,userspace" doc:"whose WireGuard: the kernel's, wireguard-go's (userspace), or the kernel's where it has one (auto)"`
}

// Declare says that the layer needs nodes, or pods that may have containers of its own.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs: experiment.Needs{Network: true, PodSecurity: []experiment.PodSecurity{
			{Level: "privileged", Why: "capability NET_ADMIN, to make a tunnel in the pods (layer " + kind + ")"}}},
		OwnProves: true,
	}
}

const (
	device     = "wg0" // name of the tunnel's interface on each node
	listenPort = 51820
	// overhead is what WireGuard adds to a packet at most, in bytes: 40 for IPv6
	// (20 for IPv4), 8 for UDP and 32 of its own. wg-quick(8) takes it off the
	// MTU in the same way.
	overhead = 80
)

// surroundings is what the layer needs of a site.
type surroundings struct {
	testbed.Site
	testbed.Nodes // nil in pods
	spots         []spot
	// send sends a marker and says whether it arrived, and where it was seen.
	send func(ctx context.Context, w way, marker []byte, limit time.Duration) (sighting, error)
}

// spot is where an end of the tunnels is: on a node, or in a pod.
type spot struct {
	place   testbed.Place // as messages name it
	pod     testbed.Place // one behind it
	address netip.Addr    // by which the other ends reach it
	behind  []netip.Prefix
	mtu     int          // of the wire, in bytes; 0: the end finds it
	node    testbed.Node // nil in a pod
}

func surround(site testbed.Site) (surroundings, error) {
	courier, ok1 := testbed.As[testbed.Courier](site)
	wire, ok2 := testbed.As[testbed.Wire](site)
	nodes, ok3 := testbed.As[testbed.Nodes](site)
	if !ok1 || !ok2 || !ok3 {
		return surroundings{}, errors.New("this testbed has no nodes between which a tunnel could be put and watched")
	}
	s := surroundings{Site: site, Nodes: nodes}
	for _, n := range nodes.Nodes() {
		s.spots = append(s.spots, spot{place: n.Place(), pod: n.Pods()[0], address: n.Address(),
			behind: []netip.Prefix{n.PodNetwork()}, mtu: n.MTU(), node: n})
	}
	s.send = func(ctx context.Context, w way, marker []byte, limit time.Duration) (m sighting, err error) {
		stop, err := wire.Watch(ctx, marker)
		if err != nil {
			return m, err
		}
		m.arrived, err = courier.DeliverBetween(ctx, w.from, w.to, marker, limit)
		var watched error
		m.clear, watched = stop()
		return m, cmp.Or(err, watched)
	}
	return s, nil
}

// active is the tunnels between the nodes of a site, or between its pods.
type active struct {
	site    surroundings
	beside  *inPods  // nil on nodes
	tunnels []tunnel // ends, by spot; nil: not opened
	proofs  []layer.Check
	before  traffic // of the tunnel when the trial began
}

// Up puts the tunnels between the nodes and shows once that markers cross
// the wire in clear without them, and that with a wrong key none arrives.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	if sidecars, ok := testbed.As[testbed.Sidecars](s.Site); ok {
		return c.upBeside(s.Site, sidecars)
	}
	up, err := c.onNodes(ctx, s)
	return up, withHint(err, hint(err))
}

// onNodes puts them between the nodes of this machine.
func (c *Config) onNodes(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	a, err := c.up(ctx, s.Site)
	if err != nil {
		return nil, err
	}
	return &layer.Active{Proofs: a.proofs, Before: a.prove, Costs: a.costs, After: a.through, Down: a.down}, nil
}

// What a system may lack.
var (
	errNoKernel = errors.New("this kernel has no WireGuard")
	errNoTUN    = errors.New("wireguard-go works on a TUN interface") // the helper got none
)

func withHint(err error, hint string) error {
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, hint)
}

// hint says what to do about an error that means that this system lacks
// something.
func hint(err error) string {
	switch {
	case errors.Is(err, errNoKernel):
		return "modprobe wireguard; or use wireguard-go with implementation: userspace"
	case errors.Is(err, errNoTUN):
		return "as root: modprobe tun; chmod 0666 /dev/net/tun"
	}
	return ""
}

func (c *Config) up(ctx context.Context, site testbed.Site) (*active, error) {
	s, err := surround(site)
	if err != nil {
		return nil, err
	}
	a := &active{site: s}
	if a.proofs, err = proveClear(ctx, s, "without the tunnel: "); err != nil {
		return nil, err
	}
	if err := a.raise(ctx, c.Implementation); err != nil {
		return nil, errors.Join(err, a.down(context.WithoutCancel(ctx)))
	}
	return a, nil
}

// raise opens all ends, proves what is proved once, and leaves the tunnels on.
func (a *active) raise(ctx context.Context, wanted Implementation) error {
	open, err := a.choose(ctx, wanted)
	if err != nil {
		return err
	}
	ends, err := makeEnds(a.site.spots)
	if err != nil {
		return err
	}
	if err := a.open(ctx, open, ends); err != nil {
		return err
	}
	if err := a.lead(ctx, true); err != nil {
		return err
	}
	a.proofs = append(a.proofs, a.implementation(wanted))
	return a.proveKeys(ctx, ends[0])
}

func (a *active) choose(ctx context.Context, wanted Implementation) (opener, error) {
	if a.beside != nil {
		return a.beside.choose(ctx, wanted)
	}
	return choose(wanted, a.site)
}

// open opens all ends at the same time.
func (a *active) open(ctx context.Context, open opener, ends []end) error {
	a.tunnels = make([]tunnel, len(ends))
	errs := make([]error, len(ends))
	var wait sync.WaitGroup
	for i, e := range ends {
		wait.Go(func() { a.tunnels[i], errs[i] = open(ctx, a.site, e) })
	}
	wait.Wait()
	return cmp.Or(errs...) // all would say the same
}

// lead sends what the pods send each other through the tunnels, or over the wire.
func (a *active) lead(ctx context.Context, on bool) error {
	switch {
	case a.beside != nil:
		return a.beside.direct(ctx, on)
	case on:
		return a.route(device)
	default:
		return a.route("")
	}
}

// route sends what the pods of different nodes send each other through the tunnels, or
// with dev "" over the wire.
func (a *active) route(dev string) error {
	var errs []error
	for _, node := range a.site.Nodes.Nodes() {
		for _, other := range a.site.Nodes.Nodes() {
			if other.Place() == node.Place() {
				continue
			}
			if err := node.RouteVia(other.PodNetwork(), dev, node.MTU()-overhead); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", node.Place(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// costs is what the processes of the tunnels' ends have used, by node or pod; the kernel's
// tunnels have none.
func (a *active) costs() ([]layer.Cost, error) {
	var costs []layer.Cost
	for i, t := range a.tunnels {
		c, own, err := t.cost()
		if err != nil {
			return nil, err
		}
		if own {
			c.Part = string(a.site.spots[i].place)
			costs = append(costs, c)
		}
	}
	return costs, nil
}

// down sends traffic over the wire again and takes the tunnels away.
func (a *active) down(ctx context.Context) error {
	errs := []error{a.lead(ctx, false)}
	for _, t := range a.tunnels {
		if t != nil {
			errs = append(errs, t.close(ctx))
		}
	}
	if a.beside != nil {
		errs, a.tunnels = append(errs, a.beside.close(ctx)), nil
	}
	return errors.Join(errs...)
}

// tunnel is a spot's end of its tunnels to all others.
type tunnel interface {
	// describe names the implementation: "userspace (wireguard-go …)".
	describe() string
	// rekey gives the end another private key and makes it forget what it has
	// agreed with its peers, so that the next packet to one begins a new handshake.
	rekey(ctx context.Context, private wgtypes.Key) error
	// traffic reads the counters of the end, of all peers together.
	traffic(ctx context.Context) (traffic, error)
	// cost is what a process of the end's own has used, if it has one.
	cost() (c layer.Cost, own bool, err error)
	// close takes the end away.
	close(ctx context.Context) error
}

// opener opens one end.
type opener func(ctx context.Context, site testbed.Site, e end) (tunnel, error)

// traffic is what went through a tunnel, in bytes with WireGuard's own headers.
type traffic struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

// end is the configuration of a spot's end of its tunnels.
type end struct {
	spot
	private wgtypes.Key
	peers   []peer
}

// peer is another end as this end knows it.
type peer struct {
	Public   wgtypes.Key    `json:"public"`
	Endpoint netip.AddrPort `json:"endpoint"`
	Allowed  []netip.Prefix `json:"allowed"` // addresses behind it
}

// makeEnds gives spots fresh keys and makes each a peer of all others.
// Keepalives stay off, so that an idle tunnel sends nothing.
func makeEnds(spots []spot) ([]end, error) {
	ends := make([]end, len(spots))
	for i, one := range spots {
		private, err := wgtypes.GeneratePrivateKey()
		if err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
		ends[i] = end{spot: one, private: private}
	}
	for i := range ends {
		for j, other := range ends {
			if i == j {
				continue
			}
			ends[i].peers = append(ends[i].peers, peer{
				Public:   other.private.PublicKey(),
				Endpoint: netip.AddrPortFrom(other.address, listenPort),
				Allowed:  other.behind,
			})
		}
	}
	return ends, nil
}
