package local

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
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

// Meter reads the use of the machine's processors. With a network, it also reads the use of the wire and the TCP
// counters.
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

// sent returns what the node has sent to the wire. Dropped counts packets that the rate limit has dropped, and not
// those that netem has dropped.
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

// Watch counts frames on the wire that contain pattern, in both directions, some more than once. The function ends the
// watch and returns the count, or an error if frames were lost.
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

// Mend checks that interfaces, addresses, default routes and the service are as they were built. Any change is a
// *testbed.Broken.
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
			if c.Table.Name == serviceTable { // other tables belong to layers
				parts["service "+c.Name] = "there"
			}
		}
		return nil
	})
}

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

// Parameters of the token bucket filter. In tests, 1 MiB and a queue of 20 ms carried 1 and 10 Gbit/s. At other rates,
// the bucket's size follows the rate: a fixed one would hold seconds of traffic on a slow link.
const (
	queueSeconds     = 0.020
	bucketBytes      = 1 << 20
	maxBucketSeconds = 0.010 // longest time of traffic that the bucket holds; it applies below about 840 Mbit/s
	minBucketSeconds = 0.0008
	minBucketFrames  = 4
)

// bucket returns the size, in bytes, of the token bucket that limits the wire to a rate in byte/s.
func bucket(rate float64, mtu int) float64 {
	const ethernetHeader = 14
	return max(min(bucketBytes, rate*maxBucketSeconds), rate*minBucketSeconds, minBucketFrames*float64(mtu+ethernetHeader))
}

func (n *network) Unshaped() testbed.Shape { return n.unshaped }

// Shape sets the wire's properties: loss and delay (netem), then the rate, in whole bytes per second. The MTU is for
// all interfaces between pods.
func (n *network) Shape(s testbed.Shape) error {
	if s.MTU < minMTU || s.MTU > maxMTU {
		return fmt.Errorf("MTU %d: must be %d to %d bytes", s.MTU, minMTU, maxMTU)
	}
	for _, node := range n.nodes {
		if err := node.shape(s); err != nil {
			return fmt.Errorf("%s: %w", node.name, err)
		}
	}
	if s.MTU != n.mtu {
		if err := n.resize(s.MTU); err != nil {
			return err
		}
	}
	return nil
}

type cableEnd struct {
	*netNamespace
	interfaceName string
}

func (n *network) ends() []cableEnd {
	ends := []cableEnd{{n.wire, wireName}}
	for _, node := range n.nodes {
		ends = append(ends, cableEnd{n.wire, fmt.Sprintf(wirePorts, node.index+1)}, cableEnd{node.netNamespace, ethernet})
	}
	for _, pod := range n.pods {
		ends = append(ends, cableEnd{pod.netNamespace, ethernet}, cableEnd{pod.node.netNamespace, fmt.Sprintf(podEnds, pod.number)})
	}
	return ends
}

func (n *network) resize(mtu int) error {
	for _, e := range n.ends() {
		link, err := e.link(e.interfaceName)
		if err == nil {
			err = e.LinkSetMTU(link, mtu)
		}
		if err != nil {
			return fmt.Errorf("%s: set the MTU of %s to %d: %w", e.name, e.interfaceName, mtu, err)
		}
	}
	n.mtu = mtu
	found, err := n.describe()
	for name := range n.built {
		if now, there := found[name]; there {
			n.built[name] = now
		}
	}
	return err
}

func (n *node) shape(s testbed.Shape) error {
	link, _, own, err := n.shaped()
	if err != nil {
		return err
	}
	if own != nil {
		if err := n.QdiscDel(own); err != nil {
			return fmt.Errorf("remove the shaping of the wire: %w", err)
		}
	}
	parent := uint32(netlink.HANDLE_ROOT)
	if s.Delay > 0 || s.Loss > 0 {
		attributes := netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: parent}
		err := n.QdiscAdd(netlink.NewNetem(attributes, netlink.NetemQdiscAttrs{
			Latency: uint32(s.Delay.Microseconds()), Loss: float32(s.Loss * 100),
			Limit: 1 << 20, // maximum number of packets that are being delayed: more than any TCP window has
		}))
		if err != nil {
			return fmt.Errorf("delay packets by %v and lose %g of them (does the kernel have the netem scheduler?): %w", s.Delay, s.Loss, err)
		}
		parent = netlink.MakeHandle(1, 1)
	}
	if s.Rate <= 0 {
		return nil
	}
	return n.throttle(link, parent, s)
}

func (n *node) throttle(link netlink.Link, parent uint32, s testbed.Shape) error {
	bytesPerSecond := uint64(math.Round(s.Rate / 8))
	if bytesPerSecond == 0 {
		return fmt.Errorf("limit the rate to %g bit/s: less than one byte a second", s.Rate)
	}
	size := bucket(float64(bytesPerSecond), s.MTU)
	limit := float64(bytesPerSecond)*queueSeconds + size
	err := n.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(2, 0), Parent: parent},
		Rate:       bytesPerSecond,
		Limit:      uint32(min(limit, math.MaxUint32)),
		Buffer:     netlink.Xmittime(bytesPerSecond, uint32(size)),
	})
	if err != nil {
		return fmt.Errorf("limit the rate to %g bit/s (does the kernel have the tbf scheduler?): %w", s.Rate, err)
	}
	return nil
}

func (n *network) Shaped() (testbed.Shape, error) {
	var shape, none testbed.Shape
	for i, node := range n.nodes {
		_, one, _, err := node.shaped()
		if err != nil {
			return none, fmt.Errorf("%s: %w", node.name, err)
		}
		if i > 0 && one != shape {
			return none, fmt.Errorf("the directions of the wire differ: %+v and %+v", shape, one)
		}
		shape = one
	}
	for _, e := range n.ends() {
		link, err := e.link(e.interfaceName)
		if err != nil {
			return none, fmt.Errorf("%s: %w", e.name, err)
		}
		if mtu := link.Attrs().MTU; mtu != shape.MTU {
			return none, fmt.Errorf("%s of the %s has an MTU of %d, and the wire one of %d", e.interfaceName, e.name, mtu, shape.MTU)
		}
	}
	return shape, nil
}

// shaped returns the interface to the wire and the wire's properties, such as its delay. root is the queueing
// discipline that sets these properties; nil: no discipline.
func (n *node) shaped() (link netlink.Link, s testbed.Shape, root netlink.Qdisc, err error) {
	if link, err = n.link(ethernet); err != nil {
		return nil, s, nil, err
	}
	s.MTU = link.Attrs().MTU
	disciplines, err := n.QdiscList(link)
	if err != nil {
		return nil, s, nil, fmt.Errorf("read the queueing disciplines of %s: %w", ethernet, err)
	}
	for _, d := range disciplines {
		switch d := d.(type) {
		case *netlink.Tbf:
			s.Rate = float64(d.Rate) * 8
		case *netlink.Netem:
			delay := math.Round(float64(d.Latency) / netlink.TickInUsec()) // delay in µs; the kernel's unit is ticks
			s.Delay, s.Loss = time.Duration(delay)*time.Microsecond, float64(d.Loss)/math.MaxUint32
		default:
			continue
		}
		if d.Attrs().Parent == netlink.HANDLE_ROOT {
			root = d
		}
	}
	return link, s, root, nil
}
