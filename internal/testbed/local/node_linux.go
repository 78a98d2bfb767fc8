package local

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/testbed"
)

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
	return testbed.Each(n.pods, func(p *pod) testbed.Place { return p.place })
}

// MTU is the present MTU of the wire, in bytes.
func (n *node) MTU() int { return n.network.mtu }

// Do runs f inside the node's network namespace.
func (n *node) Do(f func() error) error { return n.thread.do(f) }

// RouteVia routes the node's traffic to the pods of another node over the interface dev, and limits its pods'
// packets there to mtu. On the client's node it also limits packets to the service, which end in the server's
// pod network. If dev is "", it restores the route over the wire and the pods' full MTU.
func (n *node) RouteVia(prefix netip.Prefix, dev string, mtu int) error {
	limited := []netip.Prefix{prefix}
	if n.index == 0 && prefix == podNetwork(1) {
		limited = append(limited, netip.PrefixFrom(serviceAddress, 32))
	}
	if dev != "" {
		if err := n.routeOver(prefix, dev); err != nil {
			return err
		}
	} else {
		i := slices.IndexFunc(n.network.nodes, func(other *node) bool { return other.PodNetwork() == prefix })
		if i < 0 {
			return fmt.Errorf("route %s: no node has this pod network", prefix)
		}
		if err := n.routeVia(prefix, n.network.nodes[i].Address(), 0); err != nil {
			return err
		}
	}
	for _, pod := range n.pods {
		for _, to := range limited {
			if err := pod.limit(to, dev != "", mtu); err != nil {
				return fmt.Errorf("%s: %w", pod.name, err)
			}
		}
	}
	return nil
}

// limit limits the pod's packets to a network to mtu bytes, or removes this limit.
func (p *pod) limit(to netip.Prefix, limited bool, mtu int) error {
	gateway := podGateway(p.node.index)
	if limited {
		return p.routeVia(to, gateway, mtu)
	}
	err := p.RouteDel(&netlink.Route{Dst: ipNet(to), Gw: gateway.AsSlice()})
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("remove the route to %s: %w", to, err)
	}
	return nil
}
