package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"tare/experiment/quantity"
	"tare/testbed"
	"tare/testbed/process"
)

// The addresses are from the range that RFC 2544 reserves for benchmarks, so
// they collide with nothing even if they should ever leave the namespaces. Node 0 is
// the client's, node 1 the server's, and the others are those of further members: node
// n is 198.18.0.(n+1) on the wire, and its pods are in 198.18.(n+11).0/24, where it is
// .1 itself, and its pods are .2, .3 and so on.
var serviceAddress = netip.MustParseAddr("198.19.0.10")

func nodeAddress(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, 0, byte(n + 1)}) }

func podNetwork(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(n + 11), 0}), 24)
}

func podGateway(n int) netip.Addr { return podNetwork(n).Addr().Next() }

// podAddress is the address of a node's pod, counted from 0.
func podAddress(n, pod int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 18, byte(n + 11), byte(pod + 2)})
}

// maxMembers is the most server pods that a site has.
const maxMembers = 64

// The service forwards these ports to the server pod.
const (
	firstPort = 5201
	lastPort  = 5210
)

// The names of interfaces: each pod and each node has one eth0, to its node
// and to the wire; a node's other end of its first pod's cable is pod0.
const (
	outside   = "eth0"
	podCables = "pod%d"
	wireName  = "wire"
	wirePorts = "node%d"
)

// network is a site with its namespaces:
//
//	client pod --- client node === wire === server node --- server pod
//	                                 ||
//	                                 ====== server node 2 --- server pod 2
//
// The wire is a bridge in a namespace of its own, where it can be watched.
type network struct {
	*site
	own   testbed.Shape // of the wire, as the testbed has it
	mtu   int           // of the wire, as it is
	wire  *space
	nodes []*node           // the client's, then those of the members
	pods  []*pod            // the client's, then the members
	built map[string]string // what Mend compares with: what was there when it was built, by name

	volumes []string // directories of the members; nil: none were asked for
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

// openNetwork makes the namespaces of a site and joins them. Its members go round so many
// nodes; 0: each has one of its own.
func openNetwork(s *site, rate quantity.Rate, mtu, members, nodes int) (*network, error) {
	if mtu < minMTU || mtu > maxMTU {
		return nil, fmt.Errorf("link MTU %d: must be %d to %d bytes", mtu, minMTU, maxMTU)
	}
	if members > maxMembers {
		return nil, fmt.Errorf("a service of %d members: there are at most %d", members, maxMembers)
	}
	n := &network{site: s, own: testbed.Shape{Rate: float64(rate), MTU: mtu}, mtu: mtu}
	if err := n.build(testbed.Spread(members, nodes)); err != nil {
		n.close()
		return nil, explain(err)
	}
	s.network = n
	return n, nil
}

// build makes the namespaces. Of each member it is told the node that it is on, from 1.
func (n *network) build(spread []int) error {
	var err error
	if n.wire, err = openSpace("wire"); err != nil {
		return err
	}
	if err := n.buildWire(); err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	if err := n.buildNode(testbed.ClientNode); err != nil {
		return err
	}
	for i := range slices.Max(spread) {
		if err := n.buildNode(testbed.MemberNode(i + 1)); err != nil {
			return err
		}
	}
	if err := n.buildPod(n.nodes[0], testbed.ClientPod); err != nil {
		return err
	}
	for i, on := range spread {
		if err := n.buildPod(n.nodes[on], testbed.Member(i+1)); err != nil {
			return err
		}
	}
	if err := n.route(); err != nil {
		return err
	}
	err = addService(n.nodes[0].space)
	if err == nil { // what the node itself sends there is translated on its way out
		err = n.nodes[0].routeVia(netip.PrefixFrom(serviceAddress, 32), nodeAddress(1), 0)
	}
	if err != nil {
		return fmt.Errorf("%s: service: %w", n.nodes[0].place, err)
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
// shows the namespace of the thread that looks. In a container it is read-only, and one of Tare's own is written to.
func (s *space) sysctl(name, value string) error {
	return s.thread.do(func() error {
		err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0)
		if !errors.Is(err, unix.EROFS) {
			return err
		}
		own, refused := process.Mounted("proc")
		if refused != nil {
			return err
		}
		defer func() { _ = own.Close() }()
		return os.WriteFile(fmt.Sprintf("/proc/self/fd/%d/sys/net/%s", own.Fd(), name), []byte(value), 0)
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
	for _, pod := range n.pods {
		pod.close()
	}
	for _, node := range n.nodes {
		node.close()
	}
	if n.wire != nil {
		n.wire.close()
	}
}

// Address is where the client reaches the server on that path.
func (n *network) Address(p testbed.Path) netip.Addr {
	if p == testbed.NodeToNode {
		return nodeAddress(1)
	}
	if p == testbed.PodToService {
		return serviceAddress
	}
	return n.pods[1].address
}

// Members are the addresses of the members' pods, from the first.
func (n *network) Members() []netip.Addr {
	var members []netip.Addr
	for _, p := range n.pods[1:] {
		members = append(members, p.address)
	}
	return members
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

// Nodes gives the client's node and those of the members.
func (n *network) Nodes() []testbed.Node {
	var nodes []testbed.Node
	for _, node := range n.nodes {
		nodes = append(nodes, node)
	}
	return nodes
}

// Deliver sends one datagram from the client's pod to the server's, to a port that
// nobody can have guessed and outside of those that the service forwards.
func (n *network) Deliver(ctx context.Context, payload []byte, limit time.Duration) (bool, error) {
	return n.DeliverBetween(ctx, testbed.ClientPod, testbed.ServerPod, payload, limit)
}

// pod finds the pod of a place.
func (n *network) pod(where testbed.Place) (*pod, error) {
	for _, p := range n.pods {
		if p.place == where {
			return p, nil
		}
	}
	return nil, fmt.Errorf("site %s has no pod %s", n.name, where)
}

// DeliverBetween sends one datagram from pod to pod, in the same way.
func (n *network) DeliverBetween(ctx context.Context, from, to testbed.Place, payload []byte, limit time.Duration) (bool, error) {
	source, err := n.pod(from)
	if err != nil {
		return false, fmt.Errorf("deliver: %w", err)
	}
	target, err := n.pod(to)
	if err != nil {
		return false, fmt.Errorf("deliver: %w", err)
	}
	receiver, err := target.listen(target.address)
	if err != nil {
		return false, fmt.Errorf("deliver: %w", err)
	}
	defer func() { _ = receiver.Close() }()
	sender, err := source.listen(source.address)
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
