package local

import (
	"errors"
	"fmt"
	"math"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/testbed"
)

// node is one of the nodes of a site.
type node struct {
	*space
	network *network
	index   int // 0: the client's
	place   testbed.Place
	pods    []*pod
}

// Place is where commands on this node run.
func (n *node) Place() testbed.Place { return n.place }

// Address is the node's address on the wire.
func (n *node) Address() netip.Addr { return nodeAddress(n.index) }

// PodNetwork is the network of the node's pods.
func (n *node) PodNetwork() netip.Prefix { return podNetwork(n.index) }

// Pods are the places of the node's pods.
func (n *node) Pods() []testbed.Place {
	var places []testbed.Place
	for _, p := range n.pods {
		places = append(places, p.place)
	}
	return places
}

// MTU is the wire's, in bytes.
func (n *node) MTU() int { return n.network.mtu }

// Do runs f inside the node's network namespace.
func (n *node) Do(f func() error) error { return n.thread.do(f) }

// RouteVia sends what the node forwards to the pods of another node over one of its
// interfaces and limits its pods' packets there to mtu; on the client's node those to the
// service too, since they end up in the server's pod network. With dev "" the
// route over the wire and the pods' full MTU are restored.
func (n *node) RouteVia(prefix netip.Prefix, dev string, mtu int) error {
	limited := []netip.Prefix{prefix}
	if n.index == 0 && prefix == podNetwork(1) {
		limited = append(limited, netip.PrefixFrom(serviceAddress, 32))
	}
	if dev != "" {
		if err := n.routeOver(prefix, dev); err != nil {
			return err
		}
		return n.limit(limited, mtu)
	}
	for _, other := range n.network.nodes {
		if other.PodNetwork() != prefix {
			continue
		}
		if err := n.routeVia(prefix, other.Address(), 0); err != nil {
			return err
		}
		return n.unlimit(limited)
	}
	return fmt.Errorf("route %s: it is the pod network of no node", prefix)
}

// limit limits what the node's pods send to some networks to packets of mtu bytes.
func (n *node) limit(networks []netip.Prefix, mtu int) error {
	for _, pod := range n.pods {
		for _, to := range networks {
			if err := pod.routeVia(to, podGateway(n.index), mtu); err != nil {
				return fmt.Errorf("%s: %w", pod.name, err)
			}
		}
	}
	return nil
}

// unlimit takes such limits away, where there are any.
func (n *node) unlimit(networks []netip.Prefix) error {
	for _, pod := range n.pods {
		for _, to := range networks {
			err := pod.RouteDel(&netlink.Route{Dst: ipNet(to), Gw: podGateway(n.index).AsSlice()})
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("%s: remove the route to %s: %w", pod.name, to, err)
			}
		}
	}
	return nil
}

// Token bucket parameters. A bucket of 1 MiB and a queue of 20 ms have been seen
// to hold 1 and 10 Gbit/s; a bucket of a fixed size would be seconds of traffic
// on a slow link and microseconds on a fast one, so it follows the rate there.
const (
	queueSeconds     = 0.020
	bucketBytes      = 1 << 20
	maxBucketSeconds = 0.010 // below about 840 Mbit/s the bucket shrinks
	minBucketSeconds = 0.0008
	minBucketFrames  = 4
)

// bucket is the burst that a rate in byte/s allows at once, in bytes.
func bucket(rate float64, mtu int) float64 {
	const ethernetHeader = 14
	size := math.Min(bucketBytes, rate*maxBucketSeconds)
	size = math.Max(size, rate*minBucketSeconds)
	return math.Max(size, minBucketFrames*float64(mtu+ethernetHeader))
}

// Shape sets the rate of all directions of the wire with a token bucket filter
// on what each node sends; 0 takes it away. Rates are kept in whole bytes per
// second.
func (n *network) Shape(rate float64) error {
	for _, node := range n.nodes {
		if err := node.shape(rate); err != nil {
			return fmt.Errorf("%s: %w", node.name, err)
		}
	}
	return nil
}

func (n *node) shape(rate float64) error {
	link, current, err := n.filter()
	if err != nil {
		return err
	}
	if rate <= 0 {
		if current == nil {
			return nil
		}
		if err := n.QdiscDel(current); err != nil {
			return fmt.Errorf("remove the rate limit: %w", err)
		}
		return nil
	}
	bytesPerSecond := uint64(math.Round(rate / 8))
	if bytesPerSecond == 0 {
		return fmt.Errorf("limit the rate to %g bit/s: less than one byte a second", rate)
	}
	size := bucket(float64(bytesPerSecond), n.MTU())
	limit := float64(bytesPerSecond)*queueSeconds + size
	err = n.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: link.Attrs().Index,
			Handle:    netlink.MakeHandle(1, 0),
			Parent:    netlink.HANDLE_ROOT,
		},
		Rate:   bytesPerSecond,
		Limit:  uint32(math.Min(limit, math.MaxUint32)),
		Buffer: netlink.Xmittime(bytesPerSecond, uint32(size)),
	})
	if err != nil {
		return fmt.Errorf("limit the rate to %g bit/s (does the kernel have the tbf scheduler?): %w", rate, err)
	}
	return nil
}

// Shaped reads the rate in force from the kernel, in bit/s; 0: no limit.
func (n *network) Shaped() (float64, error) {
	var rates []float64
	for _, node := range n.nodes {
		_, filter, err := node.filter()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", node.name, err)
		}
		rate := 0.0
		if filter != nil {
			rate = float64(filter.Rate) * 8
		}
		rates = append(rates, rate)
		if rate != rates[0] {
			return 0, fmt.Errorf("the directions of the wire have different rates: %g and %g bit/s", rates[0], rate)
		}
	}
	return rates[0], nil
}

// filter finds the interface to the wire and its token bucket filter; nil if it has none.
func (n *node) filter() (netlink.Link, *netlink.Tbf, error) {
	link, err := n.link(outside)
	if err != nil {
		return nil, nil, err
	}
	disciplines, err := n.QdiscList(link)
	if err != nil {
		return nil, nil, fmt.Errorf("read the queueing disciplines of %s: %w", outside, err)
	}
	for _, d := range disciplines {
		if tbf, ok := d.(*netlink.Tbf); ok {
			return link, tbf, nil
		}
	}
	return link, nil, nil
}
