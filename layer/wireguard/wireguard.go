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
	Summary: "encryption between the nodes: a WireGuard tunnel of the kernel or of wireguard-go",
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

// Declare says that the layer needs nodes.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs:        experiment.Needs{Network: true, Only: experiment.TestbedLocal},
		Elsewhere:    "its nodes' encryption is the network plugin's: write its layers, as in kubernetes/cilium-wireguard.yaml, kubernetes/cilium-ipsec.yaml or kubernetes/calico-wireguard.yaml (tare list examples NAME prints one)",
		ProvesBeside: true,
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
	testbed.Courier
	testbed.Wire
	testbed.Nodes
}

func surround(site testbed.Site) (surroundings, error) {
	courier, ok1 := testbed.As[testbed.Courier](site)
	wire, ok2 := testbed.As[testbed.Wire](site)
	nodes, ok3 := testbed.As[testbed.Nodes](site)
	if !ok1 || !ok2 || !ok3 {
		return surroundings{}, errors.New("this testbed has no nodes between which a tunnel could be put and watched")
	}
	return surroundings{site, courier, wire, nodes}, nil
}

// active is the tunnels between the nodes of a site.
type active struct {
	site    surroundings
	tunnels []tunnel // ends, by node; nil: not opened
	proofs  []layer.Check
	before  traffic // of the tunnel when the trial began
}

// Up puts the tunnels between the nodes and shows once that markers cross
// the wire in clear without them, and that with a wrong key none arrives.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	a, err := c.up(ctx, s.Site)
	if hint := hint(err); hint != "" {
		return nil, fmt.Errorf("%w (%s)", err, hint)
	}
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
	open, err := choose(wanted, a.site)
	if err != nil {
		return err
	}
	ends, err := makeEnds(a.site.Nodes.Nodes())
	if err != nil {
		return err
	}
	if err := a.open(ctx, open, ends); err != nil {
		return err
	}
	if err := a.route(device); err != nil {
		return err
	}
	a.proofs = append(a.proofs, a.implementation(wanted))
	return a.proveKeys(ctx, ends[0])
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

// costs is what the processes of the tunnels' ends have used, by node; the kernel's
// tunnels have none.
func (a *active) costs() ([]layer.Cost, error) {
	var costs []layer.Cost
	for i, t := range a.tunnels {
		used, own, err := t.cpu()
		if err != nil {
			return nil, err
		}
		if own {
			costs = append(costs, layer.Cost{Part: string(a.site.Nodes.Nodes()[i].Place()), CPU: used})
		}
	}
	return costs, nil
}

// down sends traffic over the wire again and takes the tunnels away.
func (a *active) down(ctx context.Context) error {
	errs := []error{a.route("")}
	for _, t := range a.tunnels {
		if t != nil {
			errs = append(errs, t.close(ctx))
		}
	}
	return errors.Join(errs...)
}

// tunnel is a node's end of its tunnels to all other nodes.
type tunnel interface {
	// describe names the implementation: "userspace (wireguard-go …)".
	describe() string
	// rekey gives the end another private key and makes it forget what it has
	// agreed with its peers, so that the next packet to one begins a new handshake.
	rekey(ctx context.Context, private wgtypes.Key) error
	// traffic reads the counters of the end, of all peers together.
	traffic(ctx context.Context) (traffic, error)
	// cpu is the CPU time used by a process of the end's own, if it has one.
	cpu() (used time.Duration, own bool, err error)
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

// end is the configuration of a node's end of its tunnels.
type end struct {
	node    testbed.Node
	private wgtypes.Key
	peers   []peer
}

// peer is another end as this end knows it.
type peer struct {
	Public   wgtypes.Key    `json:"public"`
	Endpoint netip.AddrPort `json:"endpoint"`
	Allowed  netip.Prefix   `json:"allowed"` // addresses behind it
}

// makeEnds gives nodes fresh keys and makes each a peer of all others.
// Keepalives stay off, so that an idle tunnel sends nothing.
func makeEnds(nodes []testbed.Node) ([]end, error) {
	ends := make([]end, len(nodes))
	for i, node := range nodes {
		private, err := wgtypes.GeneratePrivateKey()
		if err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
		ends[i] = end{node: node, private: private}
	}
	for i := range ends {
		for j, other := range ends {
			if i == j {
				continue
			}
			ends[i].peers = append(ends[i].peers, peer{
				Public:   other.private.PublicKey(),
				Endpoint: netip.AddrPortFrom(other.node.Address(), listenPort),
				Allowed:  other.node.PodNetwork(),
			})
		}
	}
	return ends, nil
}
