package local

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"tare/experiment/quantity"
	"tare/testbed"
)

// The addresses are from the range that RFC 2544 reserves for benchmarks, so
// they collide with nothing even if they should ever leave the namespaces.
// Index 0 is the client's side, 1 the server's.
var (
	nodeAddress = [2]netip.Addr{netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2")}
	podNetwork  = [2]netip.Prefix{netip.MustParsePrefix("198.18.11.0/24"), netip.MustParsePrefix("198.18.12.0/24")}
	podGateway  = [2]netip.Addr{netip.MustParseAddr("198.18.11.1"), netip.MustParseAddr("198.18.12.1")}
	podAddress  = [2]netip.Addr{netip.MustParseAddr("198.18.11.2"), netip.MustParseAddr("198.18.12.2")}

	serviceAddress = netip.MustParseAddr("198.19.0.10")
)

// The service forwards these ports to the server pod.
const (
	firstPort = 5201
	lastPort  = 5210
)

// The names of interfaces: each pod and each node has one eth0, to its node
// and to the wire; a node's other end of its pod's cable is pod0.
const (
	outside   = "eth0"
	podCable  = "pod0"
	wireName  = "wire"
	wirePorts = "node%d"
)

// network is a site with its namespaces:
//
//	client pod --- client node === wire === server node --- server pod
//
// The wire is a bridge in a namespace of its own, where it can be watched.
type network struct {
	*site
	own   testbed.Shape // of the wire, as the testbed has it
	mtu   int           // of the wire, as it is
	wire  *space
	nodes [2]*node
	pods  [2]*space
	built map[string]string // what Mend compares with: what was there when it was built, by name
}

// space is one network namespace with the thread that lives in it.
type space struct {
	name   string
	thread *thread
	ns     netns.NsHandle
	*netlink.Handle
}

// The kernel takes no larger packet on a virtual cable, and IPv4 demands that
// hosts take 576 bytes.
const (
	minMTU = 576
	maxMTU = 65535
)

// openNetwork makes the namespaces of a site and joins them.
func openNetwork(s *site, rate quantity.Rate, mtu int) (*network, error) {
	if mtu < minMTU || mtu > maxMTU {
		return nil, fmt.Errorf("link MTU %d: must be %d to %d bytes", mtu, minMTU, maxMTU)
	}
	n := &network{site: s, own: testbed.Shape{Rate: float64(rate), MTU: mtu}, mtu: mtu}
	if err := n.build(); err != nil {
		n.close()
		return nil, explain(err)
	}
	s.network = n
	return n, nil
}

func (n *network) build() error {
	var err error
	if n.wire, err = openSpace("wire"); err != nil {
		return err
	}
	if err := n.buildWire(); err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	nodes := [2]testbed.Place{testbed.ClientNode, testbed.ServerNode}
	pods := [2]testbed.Place{testbed.ClientPod, testbed.ServerPod}
	for i := range nodes {
		if err := n.buildNode(i, nodes[i], pods[i]); err != nil {
			return fmt.Errorf("%s: %w", nodes[i], err)
		}
	}
	for i := range nodes {
		if err := n.nodes[i].RouteVia(podNetwork[1-i], "", 0); err != nil {
			return fmt.Errorf("%s: %w", nodes[i], err)
		}
	}
	err = addService(n.nodes[0].space)
	if err == nil { // what the node itself sends there is translated on its way out
		err = n.nodes[0].routeVia(netip.PrefixFrom(serviceAddress, 32), nodeAddress[1], 0)
	}
	if err != nil {
		return fmt.Errorf("%s: service: %w", nodes[0], err)
	}
	if err := n.Shape(n.own); err != nil {
		return err
	}
	n.built, err = n.look()
	return err
}

// openSpace makes a network namespace without addresses but with loopback. IPv6
// is off, so that no router solicitations disturb the wire.
func openSpace(name string) (*space, error) {
	s := &space{name: name, ns: netns.None()}
	var err error
	s.thread, err = startThread(func() error {
		ns, err := netns.New()
		if err != nil {
			return fmt.Errorf("make a network namespace for the %s: %w", name, err)
		}
		s.ns = ns
		// Opened here, and not from outside with NewHandleAt: that goes back to the
		// namespace it came from, which an ordinary user may not enter.
		s.Handle, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return fmt.Errorf("%s: netlink: %w", name, err)
		}
		return nil
	})
	if err != nil {
		_ = s.ns.Close()
		return nil, err
	}
	for _, setting := range []string{"all", "default"} {
		if err := s.sysctl("ipv6/conf/"+setting+"/disable_ipv6", "1"); err != nil && !os.IsNotExist(err) {
			s.close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := s.up("lo"); err != nil {
		s.close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// close ends the namespace, once nothing else is in it.
func (s *space) close() {
	if s.Handle != nil {
		s.Close() // the netlink handle's
	}
	s.thread.stop()
	_ = s.ns.Close()
}

// sysctl sets a kernel parameter of the namespace, below /proc/sys/net, which
// shows the namespace of the thread that looks.
func (s *space) sysctl(name, value string) error {
	return s.thread.do(func() error {
		return os.WriteFile("/proc/sys/net/"+name, []byte(value), 0)
	})
}

// link finds an interface.
func (s *space) link(name string) (netlink.Link, error) {
	link, err := s.LinkByName(name)
	if err != nil {
		err = fmt.Errorf("interface %s: %w", name, err)
	}
	return link, err
}

// up switches an interface on.
func (s *space) up(name string) error {
	link, err := s.link(name)
	if err != nil {
		return err
	}
	if err := s.LinkSetUp(link); err != nil {
		return fmt.Errorf("switch on interface %s: %w", name, err)
	}
	return nil
}

// close ends the namespaces. Nothing runs in them any more.
func (n *network) close() {
	for _, s := range n.pods {
		if s != nil {
			s.close()
		}
	}
	for _, s := range n.nodes {
		if s != nil {
			s.close()
		}
	}
	if n.wire != nil {
		n.wire.close()
	}
}

// Address is where the client reaches the server on that path.
func (n *network) Address(p testbed.Path) netip.Addr {
	if p == testbed.NodeToNode {
		return nodeAddress[1]
	}
	if p == testbed.PodToService {
		return serviceAddress
	}
	return podAddress[1]
}

// Ports lists the ports that the service forwards.
func (n *network) Ports() []uint16 {
	var ports []uint16
	for p := uint16(firstPort); p <= lastPort; p++ {
		ports = append(ports, p)
	}
	return ports
}

// LinkRate is the testbed's rate of the wire in bit/s, whatever Shape has set.
func (n *network) LinkRate() float64 { return n.own.Rate }

// Nodes gives the client's node and the server's.
func (n *network) Nodes() [2]testbed.Node { return [2]testbed.Node{n.nodes[0], n.nodes[1]} }

// Deliver sends one datagram from pod to pod, to a port that nobody can have
// guessed and outside of those that the service forwards.
func (n *network) Deliver(ctx context.Context, payload []byte, limit time.Duration) (bool, error) {
	receiver, err := n.pods[1].listen(podAddress[1])
	if err != nil {
		return false, fmt.Errorf("deliver: %w", err)
	}
	defer func() { _ = receiver.Close() }()
	sender, err := n.pods[0].listen(podAddress[0])
	if err != nil {
		return false, fmt.Errorf("deliver: %w", err)
	}
	defer func() { _ = sender.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = receiver.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = receiver.SetReadDeadline(time.Now().Add(limit))
	if err == nil {
		_, err = sender.WriteTo(payload, receiver.LocalAddr())
	}
	got := make([]byte, 1<<16)
	for err == nil {
		var size int
		if size, err = receiver.Read(got); err == nil && string(got[:size]) == string(payload) {
			return true, nil
		}
	}
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case os.IsTimeout(err):
		return false, nil
	}
	return false, fmt.Errorf("deliver: %w", err)
}

// listen opens a UDP socket inside the namespace, on a port that the kernel
// picks at random.
func (s *space) listen(address netip.Addr) (socket *net.UDPConn, err error) {
	err = s.thread.do(func() (err error) {
		socket, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, 0)))
		return err
	})
	return socket, err
}
