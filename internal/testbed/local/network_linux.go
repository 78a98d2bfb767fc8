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

	"tare/internal/experiment/quantity"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/process"
)

// The addresses are from the range for benchmarks (RFC 2544). Node 0 is the client's, node 1 the server's, and later
// nodes have further members. Node n is 198.18.0.(n+1) on the wire. Its pods' network is 198.18.(n+11).0/24: the node
// is .1, the pods are .2, .3 and so on.
var serviceAddress = netip.MustParseAddr("198.19.0.10")

func nodeAddress(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, 0, byte(n + 1)}) }

func podNetwork(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(n + 11), 0}), 24)
}

func podGateway(n int) netip.Addr { return podNetwork(n).Addr().Next() }

// podAddress returns the address of a pod on node n. Nodes and the pods of a node are counted from 0.
func podAddress(n, pod int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 18, byte(n + 11), byte(pod + 2)})
}

const maxMembers = 64

// These are names of interfaces. Each pod has an eth0 to its node, and each node one to the wire. pod0 is the node's
// end of its first pod's eth0.
const (
	ethernet  = "eth0"
	podEnds   = "pod%d"
	wireName  = "wire"
	wirePorts = "node%d"
)

// network is a site with its namespaces:
//
//	client pod --- client node === wire === server node --- server pod
//	                                 ||
//	                                 ====== server node 2 --- server pod 2
//
// The wire is a bridge in its own namespace, where frames can be observed.
type network struct {
	*site
	unshaped testbed.Shape // properties that the testbed has set for the wire
	mtu      int           // present MTU of the wire
	wire     *netNamespace
	nodes    []*node           // the client's node, then the members' nodes
	pods     []*pod            // the client's pod, then the members' pods
	built    map[string]string // description of each part when it was built; the method Mend compares with it

	volumes []string // directories of the members' volumes; nil if not requested
}

type netNamespace struct {
	name   string
	thread *thread
	ns     netns.NsHandle
	*netlink.Handle
}

const (
	minMTU = 576   // size in bytes up to which every IPv4 host must accept packets
	maxMTU = 65535 // the kernel's largest MTU of a virtual cable
)

// openNetwork makes the namespaces of a site and connects them. The members are spread in turn over the nodes. nodes =
// 0 gives each member its own node.
func openNetwork(s *site, rate quantity.Rate, mtu, members, nodes int) (*network, error) {
	if mtu < minMTU || mtu > maxMTU {
		return nil, fmt.Errorf("link MTU %d: must be %d to %d bytes", mtu, minMTU, maxMTU)
	}
	if members > maxMembers {
		return nil, fmt.Errorf("a service of %d members: there are at most %d", members, maxMembers)
	}
	n := &network{site: s, unshaped: testbed.Shape{Rate: float64(rate), MTU: mtu}, mtu: mtu}
	if err := n.build(testbed.Spread(members, nodes)); err != nil {
		n.close()
		return nil, explain(err)
	}
	s.network = n
	return n, nil
}

// build makes and connects the namespaces. The list spread holds the number of each member's node, counted from 1.
func (n *network) build(spread []int) error {
	var err error
	if n.wire, err = openSpace("wire"); err != nil {
		return err
	}
	if err := n.buildWire(); err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	nodes, pods := []testbed.Place{testbed.ClientNode}, []testbed.Place{testbed.ClientPod}
	for i := range slices.Max(spread) {
		nodes = append(nodes, testbed.MemberNode(i+1))
	}
	for i := range spread {
		pods = append(pods, testbed.Member(i+1))
	}
	for _, place := range nodes {
		if err := n.buildNode(place); err != nil {
			return err
		}
	}
	for i, on := range append([]int{0}, spread...) {
		if err := n.buildPod(n.nodes[on], pods[i]); err != nil {
			return err
		}
	}
	if err := n.route(); err != nil {
		return err
	}
	err = n.nodes[0].Do(addService)
	if err == nil { // route for the node's packets to the service: their address changes when they leave
		err = n.nodes[0].routeVia(netip.PrefixFrom(serviceAddress, 32), nodeAddress(1), 0)
	}
	if err != nil {
		return fmt.Errorf("%s: service: %w", n.nodes[0].place, err)
	}
	if err := n.Shape(n.unshaped); err != nil {
		return err
	}
	n.built, err = n.describe()
	return err
}

// openSpace makes a network namespace with a loopback interface. IPv6 is off: the kernel would send router
// solicitations.
func openSpace(name string) (*netNamespace, error) {
	s := &netNamespace{name: name, ns: netns.None()}
	var err error
	s.thread, err = startThread(func() error {
		ns, err := netns.New()
		if err != nil {
			return fmt.Errorf("make a network namespace for the %s: %w", name, err)
		}
		s.ns = ns
		// The handle must be opened here, in the new namespace. NewHandleAt would return to the original namespace,
		// which an ordinary user may not enter.
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
		if err == nil {
			err = s.sysctl("ipv6/conf/"+setting+"/disable_ipv6", "1")
		}
		if os.IsNotExist(err) {
			err = nil
		}
	}
	if err == nil {
		err = s.up("lo")
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func (s *netNamespace) close() {
	if s.Handle != nil {
		s.Close()
	}
	s.thread.stop()
	_ = s.ns.Close()
}

// sysctl sets a kernel parameter in the namespace. If /proc/sys is read-only, it sets the parameter through a new mount
// of /proc.
func (s *netNamespace) sysctl(name, value string) error {
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

func (s *netNamespace) link(name string) (netlink.Link, error) {
	link, err := s.LinkByName(name)
	if err != nil {
		err = fmt.Errorf("interface %s: %w", name, err)
	}
	return link, err
}

func (s *netNamespace) up(name string) error {
	link, err := s.link(name)
	if err != nil {
		return err
	}
	if err := s.LinkSetUp(link); err != nil {
		return fmt.Errorf("switch on interface %s: %w", name, err)
	}
	return nil
}

func (n *network) close() {
	for _, s := range n.namespaces() {
		s.close()
	}
	if n.wire != nil {
		n.wire.close()
	}
}

func (n *network) namespaces() []*netNamespace {
	nodes := lists.Map(n.nodes, func(node *node) *netNamespace { return node.netNamespace })
	return append(nodes, lists.Map(n.pods, func(p *pod) *netNamespace { return p.netNamespace })...)
}

func (n *network) Address(p testbed.Path) netip.Addr {
	switch p {
	case testbed.NodeToNode:
		return nodeAddress(1)
	case testbed.PodToService:
		return serviceAddress
	}
	return n.pods[1].address
}

func (n *network) Members() []netip.Addr {
	return lists.Map(n.pods[1:], func(p *pod) netip.Addr { return p.address })
}

func (n *network) Ports() []uint16 { return testbed.ServicePorts() }

// LinkRate returns the rate that the testbed has set for the wire, in bit/s. Shape does not change the result.
func (n *network) LinkRate() float64 { return n.unshaped.Rate }

func (n *network) Nodes() []testbed.Node {
	return lists.Map(n.nodes, func(node *node) testbed.Node { return node })
}

func (n *network) pod(where testbed.Place) (*pod, error) {
	for _, p := range n.pods {
		if p.place == where {
			return p, nil
		}
	}
	return nil, fmt.Errorf("site %s has no pod %s", n.name, where)
}

// DeliverBetween sends one datagram between any two pods. Its port is random, and none of the ports that the service
// forwards.
func (n *network) DeliverBetween(ctx context.Context, from, to testbed.Place, payload []byte, limit time.Duration) (bool, error) {
	var sockets [2]*net.UDPConn
	for i, where := range []testbed.Place{from, to} {
		p, err := n.pod(where)
		if err == nil {
			sockets[i], err = p.listen(p.address)
		}
		if err != nil {
			return false, fmt.Errorf("deliver: %w", err)
		}
		defer func() { _ = sockets[i].Close() }()
	}
	sender, receiver := sockets[0], sockets[1]
	defer context.AfterFunc(ctx, func() { _ = receiver.SetReadDeadline(time.Unix(1, 0)) })()
	err := receiver.SetReadDeadline(time.Now().Add(limit))
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

func (s *netNamespace) listen(address netip.Addr) (socket *net.UDPConn, err error) {
	err = s.thread.do(func() (err error) {
		socket, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, 0)))
		return err
	})
	return socket, err
}
