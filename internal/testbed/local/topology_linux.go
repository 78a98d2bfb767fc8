package local

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/lists"
	"tare/internal/testbed"
)

func (n *network) buildWire() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = wireName, n.mtu
	snooping := false
	if err := n.wire.LinkAdd(&netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping}); err != nil {
		return fmt.Errorf("add a bridge: %w", err)
	}
	// With br_netfilter, the kernel sends bridged frames through iptables, which makes the wire slower. The loop turns
	// this off.
	for _, family := range []string{"iptables", "ip6tables", "arptables"} {
		if err := n.wire.sysctl("bridge/bridge-nf-call-"+family, "0"); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return n.wire.up(wireName)
}

func (n *network) buildNode(place testbed.Place) error {
	s, err := openSpace(string(place))
	if err != nil {
		return err
	}
	made := &node{netNamespace: s, network: n, index: len(n.nodes), place: place}
	n.nodes = append(n.nodes, made)
	n.places[place] = s.thread
	if err := made.build(); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	return nil
}

func (n *node) build() error {
	// A namespace may inherit reverse path filters from the host. They are turned off, so that the result is the same
	// on all hosts.
	for name, value := range map[string]string{"ip_forward": "1", "conf/all/rp_filter": "0", "conf/default/rp_filter": "0"} {
		if err := n.sysctl("ipv4/"+name, value); err != nil {
			return err
		}
	}
	port := fmt.Sprintf(wirePorts, n.index+1)
	if err := cable(n.netNamespace, ethernet, n.network.wire, port, n.network.mtu); err != nil {
		return err
	}
	if err := n.network.plugIn(port); err != nil {
		return err
	}
	return n.addAddress(ethernet, netip.PrefixFrom(n.Address(), 24))
}

type pod struct {
	*netNamespace
	place   testbed.Place
	node    *node
	number  int // number of the pod on its node, counted from 0
	address netip.Addr
}

func (n *network) buildPod(on *node, place testbed.Place) error {
	s, err := openSpace(string(place))
	if err != nil {
		return err
	}
	made := &pod{netNamespace: s, place: place, node: on, number: len(on.pods), address: podAddress(on.index, len(on.pods))}
	on.pods, n.pods = append(on.pods, made), append(n.pods, made)
	n.places[place] = s.thread
	if err := made.build(); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	return nil
}

// build connects the pod to its node. The node's first pod is in one network with it; further pods are alone on their
// cables, with routes through the node.
func (p *pod) build() error {
	network, gateway, name := podNetwork(p.node.index), podGateway(p.node.index), fmt.Sprintf(podEnds, p.number)
	if err := cable(p.netNamespace, ethernet, p.node.netNamespace, name, p.node.network.mtu); err != nil {
		return err
	}
	bits := network.Bits()
	if p.number > 0 {
		bits = gateway.BitLen()
	}
	if err := p.node.addAddress(name, netip.PrefixFrom(gateway, bits)); err != nil {
		return err
	}
	if err := p.addAddress(ethernet, netip.PrefixFrom(p.address, bits)); err != nil {
		return err
	}
	if p.number > 0 { // only pod 0 shares a network with its node; other pods need routes
		own := netip.PrefixFrom(p.address, p.address.BitLen())
		err := p.routeOver(netip.PrefixFrom(gateway, gateway.BitLen()), ethernet)
		if err == nil {
			err = p.node.routeOver(own, name)
		}
		if err == nil {
			err = p.node.pods[0].routeVia(own, gateway, 0)
		}
		if err != nil {
			return err
		}
	}
	return p.routeVia(netip.PrefixFrom(netip.IPv4Unspecified(), 0), gateway, 0)
}

func (n *network) route() (err error) {
	for _, from := range n.nodes {
		for _, to := range n.nodes {
			if from != to && err == nil {
				err = from.RouteVia(to.PodNetwork(), "", 0)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from.place, err)
		}
	}
	return nil
}

func cable(a *netNamespace, aName string, b *netNamespace, bName string, mtu int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = aName, mtu
	pair := netlink.NewVeth(attrs)
	pair.PeerName, pair.PeerNamespace, pair.PeerMTU = bName, netlink.NsFd(int(b.ns)), uint32(mtu)
	if err := a.LinkAdd(pair); err != nil {
		return fmt.Errorf("add the cable from %s to %s with MTU %d: %w", a.name, b.name, mtu, err)
	}
	if err := b.up(bName); err != nil {
		return err
	}
	return a.up(aName)
}

func (n *network) plugIn(port string) error {
	bridge, err1 := n.wire.link(wireName)
	link, err2 := n.wire.link(port)
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	if err := n.wire.LinkSetMaster(link, bridge); err != nil {
		return fmt.Errorf("plug %s into the wire: %w", port, err)
	}
	return nil
}

func (s *netNamespace) addAddress(name string, address netip.Prefix) error {
	link, err := s.link(name)
	if err != nil {
		return err
	}
	network := ipNet(address)
	network.IP = address.Addr().AsSlice()
	if err := s.AddrAdd(link, &netlink.Addr{IPNet: network}); err != nil {
		return fmt.Errorf("give %s the address %s: %w", name, address, err)
	}
	return nil
}

// routeVia routes packets for prefix through a neighbour. If mtu is 0, the interface's MTU applies.
func (s *netNamespace) routeVia(prefix netip.Prefix, neighbour netip.Addr, mtu int) error {
	route := netlink.Route{Dst: ipNet(prefix), Gw: neighbour.AsSlice(), MTU: mtu}
	if err := s.RouteReplace(&route); err != nil {
		return fmt.Errorf("route %s via %s: %w", prefix, neighbour, err)
	}
	return nil
}

func (s *netNamespace) routeOver(prefix netip.Prefix, dev string) error {
	link, err := s.link(dev)
	if err != nil {
		return err
	}
	route := netlink.Route{Dst: ipNet(prefix), LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK}
	if err := s.RouteReplace(&route); err != nil {
		return fmt.Errorf("route %s over %s: %w", prefix, dev, err)
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Masked().Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

const serviceTable = "service"

// addService makes the service's address work on the client's node. Destination NAT leads packets to the server pod, as
// with kube-proxy.
func addService() error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	table := conn.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: serviceTable})
	for name, hook := range map[string]*nftables.ChainHook{"prerouting": nftables.ChainHookPrerouting, "output": nftables.ChainHookOutput} {
		chain := conn.AddChain(&nftables.Chain{
			Name: name, Table: table, Type: nftables.ChainTypeNAT, Hooknum: hook, Priority: nftables.ChainPriorityNATDest,
		})
		for _, protocol := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
			conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: redirect(protocol)})
		}
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("nftables destination NAT (does the kernel have nf_tables and nft_nat?): %w", err)
	}
	return nil
}

// redirect returns the nftables rule "ip daddr SERVICE PROTOCOL dport FIRST-LAST dnat to SERVER".
func redirect(protocol byte) []expr.Any {
	const (
		destinationOffset = 16 // offset of the destination address in the IPv4 header
		portOffset        = 2  // offset of the destination port in the TCP and UDP headers
	)
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: destinationOffset, Len: 4},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: serviceAddress.AsSlice()},
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{protocol}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: portOffset, Len: 2},
		&expr.Cmp{Op: expr.CmpOpGte, Register: 1, Data: binaryutil.BigEndian.PutUint16(testbed.FirstPort)},
		&expr.Cmp{Op: expr.CmpOpLte, Register: 1, Data: binaryutil.BigEndian.PutUint16(testbed.LastPort)},
		&expr.Immediate{Register: 1, Data: podAddress(1, 0).AsSlice()},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: 1},
	}
}

type node struct {
	*netNamespace
	network *network
	index   int // number of the node; the client's node is 0
	place   testbed.Place
	pods    []*pod
}

func (n *node) Place() testbed.Place { return n.place }

func (n *node) Address() netip.Addr { return nodeAddress(n.index) }

func (n *node) PodNetwork() netip.Prefix { return podNetwork(n.index) }

func (n *node) Pods() []testbed.Place {
	return lists.Map(n.pods, func(p *pod) testbed.Place { return p.place })
}

func (n *node) MTU() int { return n.network.mtu }

func (n *node) Do(f func() error) error { return n.thread.do(f) }

// RouteVia routes the node's traffic to the pods in prefix over the interface dev; "": over the wire. With dev, packets
// of the node's pods to the pods in prefix, or to the service, have at most mtu bytes.
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

// limit makes mtu bytes the largest size of the pod's packets to a network. With limited = false, it removes this
// limit.
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
