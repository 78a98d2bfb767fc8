package local

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/testbed"
)

// node is one of the two nodes of a site.
type node struct {
	*space
	network *network
	index   int // 0: the client's
	place   testbed.Place
}

// Place is where commands on this node run.
func (n *node) Place() testbed.Place { return n.place }

// Address is the node's address on the wire.
func (n *node) Address() netip.Addr { return nodeAddress[n.index] }

// PodNetwork is the network of the node's pods.
func (n *node) PodNetwork() netip.Prefix { return podNetwork[n.index] }

// MTU is the wire's, in bytes, as it was shaped last.
func (n *node) MTU() int { return n.network.mtu }

// Do runs f inside the node's network namespace.
func (n *node) Do(f func() error) error { return n.thread.do(f) }

// RouteVia sends what the node forwards to prefix over one of its interfaces
// and limits its pods' packets there to mtu; on the client's node those to the
// service too, since they end up in the server's pod network. With dev "" the
// route over the wire and the pods' full MTU are restored.
func (n *node) RouteVia(prefix netip.Prefix, dev string, mtu int) error {
	limited := []netip.Prefix{prefix}
	if n.index == 0 && prefix == podNetwork[1] {
		limited = append(limited, netip.PrefixFrom(serviceAddress, 32))
	}
	pod := n.network.pods[n.index]
	if dev == "" {
		if err := n.routeVia(prefix, nodeAddress[1-n.index], 0); err != nil {
			return err
		}
		for _, p := range limited {
			err := pod.RouteDel(&netlink.Route{Dst: ipNet(p), Gw: podGateway[n.index].AsSlice()})
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("%s: remove the route to %s: %w", pod.name, p, err)
			}
		}
		return nil
	}
	link, err := n.link(dev)
	if err != nil {
		return err
	}
	route := netlink.Route{Dst: ipNet(prefix), LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK}
	if err := n.RouteReplace(&route); err != nil {
		return fmt.Errorf("route %s over %s: %w", prefix, dev, err)
	}
	for _, p := range limited {
		if err := pod.routeVia(p, podGateway[n.index], mtu); err != nil {
			return fmt.Errorf("%s: %w", pod.name, err)
		}
	}
	return nil
}
