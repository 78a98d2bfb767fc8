// Package network wires the machines of a test cluster: a bridge on the control
// plane's machine with one cable to each node, and one cable to the host, so
// that the API can be reached from there.
//
//	host ── 198.19.240.(4·slot)/30 ── control plane ── br0, 10.99.0.1/24
//	                                                    ├── node1 10.99.0.11, pods 10.244.1.0/24
//	                                                    └── node2 10.99.0.12, pods 10.244.2.0/24
//
// Only the cable to the host has a name and an address there, and both go when
// the control plane's machine does. Clusters differ in their slot; all other
// addresses are inside their own namespaces and the same in each.
package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Slots is how many clusters fit on one host.
const Slots = 64

// ControlPlane is the control plane's address on the bridge.
var ControlPlane = netip.MustParseAddr("10.99.0.1")

// Pods is the range of all pods' addresses, Services that of Services. The API
// is the first of the latter; names are asked for at DNSService.
var (
	Pods       = netip.MustParsePrefix("10.244.0.0/16")
	Services   = netip.MustParsePrefix("10.96.0.0/16")
	APIService = netip.MustParseAddr("10.96.0.1")
	DNSService = netip.MustParseAddr("10.96.0.10")
)

// goneLimit is how long the kernel may take to delete the interfaces of a
// namespace that nobody uses any more.
const goneLimit = 30 * time.Second

// Node is the address of node n, counted from 1.
func Node(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 99, 0, byte(10 + n)}) }

// NodePods is the range of addresses of the pods on node n.
func NodePods(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(n), 0}), 24)
}

// Host is the host's end of the cable to the cluster in a slot.
func Host(slot int) netip.Addr { return slotAddress(slot, 1) }

// API is the address at which the host reaches the API.
func API(slot int) netip.Addr { return slotAddress(slot, 2) }

// slotAddress is the nth address of a slot's /30 in 198.19.240.0/24, part of
// what RFC 2544 sets aside for benchmarks: nobody's real network.
func slotAddress(slot, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 19, 240, byte(slot*4 + n)})
}

// HostInterface is the name of the host's end of the cable.
func HostInterface(slot int) string { return fmt.Sprintf("tarecluster%d", slot) }

// Connect wires machines, given by the process ids of their inits.
func Connect(slot, controlPlane int, nodes []int) error {
	cp, err := enter(controlPlane)
	if err != nil {
		return err
	}
	defer cp.leave()
	bridge := &netlink.Bridge{LinkAttrs: named("br0")}
	if err := cp.LinkAdd(bridge); err != nil {
		return fmt.Errorf("add bridge br0: %w", err)
	}
	if err := bringUp(cp.Handle, "lo"); err != nil {
		return err
	}
	if err := bringUp(cp.Handle, "br0", netip.PrefixFrom(ControlPlane, 24)); err != nil {
		return err
	}
	if err := connectHost(slot, cp); err != nil {
		return err
	}
	for i, pid := range nodes {
		if err := connectNode(i+1, len(nodes), pid, cp, bridge.Index); err != nil {
			return err
		}
	}
	return nil
}

// connectHost lays the cable between the control plane and the host.
func connectHost(slot int, cp namespace) error {
	host, err := netns.Get()
	if err != nil {
		return err
	}
	defer func() { _ = host.Close() }()
	cable := &netlink.Veth{LinkAttrs: named("host"), PeerName: HostInterface(slot), PeerNamespace: netlink.NsFd(host)}
	if err := cp.LinkAdd(cable); err != nil {
		return fmt.Errorf("add the cable to the host, %s: %w", HostInterface(slot), err)
	}
	if err := bringUp(cp.Handle, "host", netip.PrefixFrom(API(slot), 30)); err != nil {
		return err
	}
	return bringUp(&netlink.Handle{}, HostInterface(slot), netip.PrefixFrom(Host(slot), 30))
}

// connectNode lays the cable between node n and the bridge, and routes between
// its pods and all others.
func connectNode(n, nodes, pid int, cp namespace, bridge int) error {
	node, err := enter(pid)
	if err != nil {
		return err
	}
	defer node.leave()
	attrs := named(fmt.Sprintf("node%d", n))
	attrs.MasterIndex = bridge
	if err := cp.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(node.fd)}); err != nil {
		return fmt.Errorf("add the cable to %s: %w", attrs.Name, err)
	}
	if err := bringUp(cp.Handle, attrs.Name); err != nil {
		return err
	}
	if err := bringUp(node.Handle, "lo"); err != nil {
		return err
	}
	if err := bringUp(node.Handle, "eth0", netip.PrefixFrom(Node(n), 24)); err != nil {
		return err
	}
	if err := route(cp.Handle, NodePods(n), Node(n)); err != nil {
		return err
	}
	if err := route(node.Handle, netip.MustParsePrefix("0.0.0.0/0"), ControlPlane); err != nil {
		return err
	}
	for other := 1; other <= nodes; other++ {
		if other == n {
			continue
		}
		if err := route(node.Handle, NodePods(other), Node(other)); err != nil {
			return err
		}
	}
	return nil
}

// namespace is netlink in a machine's network namespace.
type namespace struct {
	*netlink.Handle
	fd netns.NsHandle
}

func enter(pid int) (namespace, error) {
	fd, err := netns.GetFromPid(pid)
	if err != nil {
		return namespace{}, fmt.Errorf("network namespace of process %d: %w", pid, err)
	}
	handle, err := netlink.NewHandleAt(fd)
	if err != nil {
		_ = fd.Close()
		return namespace{}, fmt.Errorf("netlink in the namespace of process %d: %w", pid, err)
	}
	return namespace{handle, fd}, nil
}

func (n namespace) leave() {
	n.Close()
	_ = n.fd.Close()
}

// Used reports whether the host has something at a slot's addresses.
func Used(slot int) (bool, error) {
	addresses, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return false, fmt.Errorf("list the host's addresses: %w", err)
	}
	for _, a := range addresses {
		if a.Contains(Host(slot).AsSlice()) {
			return true, nil
		}
	}
	_, err = netlink.LinkByName(HostInterface(slot))
	return err == nil, nil
}

// Disconnect removes the cable to the host, if the kernel has not done so yet,
// and waits until it is gone.
func Disconnect(ctx context.Context, slot int) error {
	name := HostInterface(slot)
	for deadline := time.Now().Add(goneLimit); ; {
		link, err := netlink.LinkByName(name)
		var gone netlink.LinkNotFoundError
		if errors.As(err, &gone) {
			return nil
		}
		if err == nil {
			err = netlink.LinkDel(link)
		}
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove interface %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove interface %s: %w", name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func named(name string) netlink.LinkAttrs {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	return attrs
}

func bringUp(h *netlink.Handle, name string, addresses ...netip.Prefix) error {
	link, err := h.LinkByName(name)
	if err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	for _, a := range addresses {
		if err := h.AddrAdd(link, &netlink.Addr{IPNet: ipNet(a)}); err != nil {
			return fmt.Errorf("address %s on %s: %w", a, name, err)
		}
	}
	if err := h.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring up %s: %w", name, err)
	}
	return nil
}

func route(h *netlink.Handle, to netip.Prefix, via netip.Addr) error {
	if err := h.RouteAdd(&netlink.Route{Dst: ipNet(to), Gw: via.AsSlice()}); err != nil {
		return fmt.Errorf("route to %s by %s: %w", to, via, err)
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
