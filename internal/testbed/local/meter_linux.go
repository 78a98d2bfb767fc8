package local

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink"

	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/testbed/sniff"
)

// Meter reads the use of the machine's processors. If the site has a network, it also reads the use of the
// wire, and the TCP counters of pods and nodes.
func (s *site) Meter(context.Context) (list []testbed.Resource, err error) {
	if n := s.network; n != nil {
		for _, node := range n.nodes {
			wire, err := node.sent()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", node.name, err)
			}
			list = append(list, wire)
		}
		for _, in := range n.namespaces() {
			err := in.thread.do(func() error {
				one, err := testbed.ReadNetwork(testbed.ResourceWire)
				list = append(list, one)
				if table := testbed.ReadConnections(); table.Of > 0 {
					list = append(list, table)
				}
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", in.name, err)
			}
		}
	}
	t, err := machine.ReadTotals("/", time.Now)
	return append(list, testbed.Resource{Name: testbed.ResourceMachine, Of: float64(t.CPUs), Used: t.Busy.Seconds()}), err
}

// sent returns the bits that the node has sent to the wire, and the packets that its rate limit has dropped,
// without packets that are lost on purpose (netem).
func (n *node) sent() (testbed.Resource, error) {
	link, shape, _, err := n.shaped()
	if err != nil {
		return testbed.Resource{}, err
	}
	r := testbed.Resource{Name: testbed.ResourceWire, Of: shape.Rate}
	disciplines, err := n.QdiscList(link)
	for _, d := range disciplines {
		if s := d.Attrs().Statistics; d.Type() == (&netlink.Tbf{}).Type() && s != nil {
			r.Used, r.Dropped = float64(s.Basic.Bytes)*8, uint64(s.Queue.Drops)
			r.Packets = uint64(s.Basic.Packets) + r.Dropped
		}
	}
	return r, err
}

// Watch counts the frames on the wire that contain pattern. It counts on all ports of the bridge and in both
// directions, and may count a frame more than once. Lost frames are an error: the count would prove nothing.
func (n *network) Watch(ctx context.Context, pattern []byte) (func() (int, error), error) {
	var w *sniff.Watch
	if err := n.wire.thread.do(func() (err error) { w, err = sniff.Open(pattern); return err }); err != nil {
		return nil, fmt.Errorf("watch the wire: %w", err)
	}
	release := context.AfterFunc(ctx, w.Stop)
	return func() (int, error) {
		release()
		seen, err := w.End()
		if err != nil {
			return seen, fmt.Errorf("watch the wire: %w", err)
		}
		return seen, ctx.Err()
	}, nil
}

// Mend checks that the interfaces, addresses, default routes and the service are still as they were built.
// Layers add interfaces and routes, but change no interface of the site itself.
func (n *network) Mend(context.Context) error {
	found, err := n.describe()
	if err != nil {
		return &testbed.Broken{What: err.Error()}
	}
	for _, name := range slices.Sorted(maps.Keys(n.built)) {
		if found[name] != n.built[name] {
			return &testbed.Broken{What: fmt.Sprintf("%s: %s, and was %s", name, cmp.Or(found[name], "gone"), n.built[name])}
		}
	}
	return nil
}

func (n *network) describe() (map[string]string, error) {
	parts := map[string]string{}
	for _, s := range append(n.namespaces(), n.wire) {
		if err := s.describe(parts); err != nil {
			return nil, err
		}
	}
	return parts, n.nodes[0].thread.do(func() error {
		conn, err := nftables.New()
		if err != nil {
			return fmt.Errorf("nftables: %w", err)
		}
		chains, err := conn.ListChainsOfTableFamily(nftables.TableFamilyIPv4)
		if err != nil {
			return fmt.Errorf("nftables: %w", err)
		}
		for _, c := range chains {
			if c.Table.Name == serviceTable { // layers have their own tables
				parts["service "+c.Name] = "there"
			}
		}
		return nil
	})
}

// describe adds descriptions of the interfaces and the default route to parts, by name.
func (s *netNamespace) describe(parts map[string]string) error {
	links, err := s.LinkList()
	if err != nil {
		return fmt.Errorf("%s: list interfaces: %w", s.name, err)
	}
	for _, link := range links {
		a := link.Attrs()
		addresses, err := s.AddrList(link, netlink.FAMILY_V4)
		if err != nil {
			return fmt.Errorf("%s: addresses of %s: %w", s.name, a.Name, err)
		}
		state := fmt.Sprintf("number %d, MTU %d, master %d, %s", a.Index, a.MTU, a.MasterIndex, a.Flags&net.FlagUp)
		for _, address := range addresses {
			state += ", " + address.IPNet.String()
		}
		parts["interface "+a.Name+" of the "+s.name] = state
	}
	routes, err := s.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("%s: list routes: %w", s.name, err)
	}
	for _, r := range routes {
		if r.Dst == nil || r.Dst.IP.IsUnspecified() {
			parts["default route of the "+s.name] = strings.TrimSpace(r.Gw.String())
		}
	}
	return nil
}
