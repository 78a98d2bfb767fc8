package local

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/testbed"
)

// node is one of the nodes of a site.
type node struct {
	*netNamespace
	network *network
	index   int // 0: the client's
	place   testbed.Place
	pods    []*pod
}

// Place is the place of commands on this node.
func (n *node) Place() testbed.Place { return n.place }

// Address is the node's address on the wire.
func (n *node) Address() netip.Addr { return nodeAddress(n.index) }

// PodNetwork is the network of the node's pods.
func (n *node) PodNetwork() netip.Prefix { return podNetwork(n.index) }

// Pods returns the places of the node's pods.
func (n *node) Pods() []testbed.Place {
	var places []testbed.Place
	for _, p := range n.pods {
		places = append(places, p.place)
	}
	return places
}

// MTU is the present MTU of the wire, in bytes.
func (n *node) MTU() int { return n.network.mtu }

// Do runs f inside the node's network namespace.
func (n *node) Do(f func() error) error { return n.thread.do(f) }

// RouteVia routes the node's traffic to the pods of another node over one of its interfaces, and limits its
// pods' packets there to mtu. On the client's node it also limits packets to the service, since they end in
// the server's pod network. If dev is "", it restores the route over the wire and the pods' full MTU.
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
	return fmt.Errorf("route %s: no node has this pod network", prefix)
}

// limit limits the packets from the node's pods to some networks to mtu bytes.
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
