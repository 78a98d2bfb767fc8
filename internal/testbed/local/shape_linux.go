package local

import (
	"fmt"
	"math"
	"time"

	"github.com/vishvananda/netlink"

	"tare/internal/testbed"
)

// Parameters of the token bucket filter. Tests have shown that a bucket of 1 MiB and a queue of 20 ms hold 1 and
// 10 Gbit/s. At much lower or higher rates, the size of the bucket follows the rate: a fixed size would hold
// seconds of traffic on a slow link, and microseconds on a fast one.
const (
	queueSeconds     = 0.020
	bucketBytes      = 1 << 20
	maxBucketSeconds = 0.010 // below about 840 Mbit/s the bucket shrinks
	minBucketSeconds = 0.0008
	minBucketFrames  = 4
)

// bucket is the size of the burst for a rate in byte/s, in bytes.
func bucket(rate float64, mtu int) float64 {
	const ethernetHeader = 14
	return max(min(bucketBytes, rate*maxBucketSeconds), rate*minBucketSeconds, minBucketFrames*float64(mtu+ethernetHeader))
}

// maxDelayed is the maximum number of delayed packets, larger than any TCP window.
const maxDelayed = 1 << 20

// Unshaped returns the properties that the testbed gives to the wire.
func (n *network) Unshaped() testbed.Shape { return n.unshaped }

// Shape sets the properties of the wire. Packets from each node are first lost or delayed (netem), and then
// limited to the rate by a token bucket filter. The rate is rounded to whole bytes per second. The MTU is set
// on every interface between the pods.
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

func (n *network) ends() map[*netNamespace][]string {
	ends := map[*netNamespace][]string{n.wire: {wireName}}
	for _, node := range n.nodes {
		ends[n.wire] = append(ends[n.wire], fmt.Sprintf(wirePorts, node.index+1))
		ends[node.netNamespace] = []string{ethernet}
	}
	for _, pod := range n.pods {
		ends[pod.netNamespace] = []string{ethernet}
		ends[pod.node.netNamespace] = append(ends[pod.node.netNamespace], fmt.Sprintf(podEnds, pod.number))
	}
	return ends
}

// resize sets the MTU of every interface between the pods, and records it for Mend.
func (n *network) resize(mtu int) error {
	for s, names := range n.ends() {
		for _, name := range names {
			link, err := s.link(name)
			if err == nil {
				err = s.LinkSetMTU(link, mtu)
			}
			if err != nil {
				return fmt.Errorf("%s: set the MTU of %s to %d: %w", s.name, name, mtu, err)
			}
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
			Latency: uint32(s.Delay.Microseconds()), Loss: float32(s.Loss * 100), Limit: maxDelayed,
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

// Shaped reads the present properties of the wire. All interfaces and all directions must agree.
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
	for s, names := range n.ends() {
		for _, name := range names {
			link, err := s.link(name)
			if err != nil {
				return none, fmt.Errorf("%s: %w", s.name, err)
			}
			if mtu := link.Attrs().MTU; mtu != shape.MTU {
				return none, fmt.Errorf("%s of the %s has an MTU of %d, and the wire one of %d", name, s.name, mtu, shape.MTU)
			}
		}
	}
	return shape, nil
}

// shaped returns the interface to the wire and its present properties. root is the queueing discipline that sets
// them; nil: there is none.
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
			delay := math.Round(float64(d.Latency) / netlink.TickInUsec()) // in µs; the kernel's unit is ticks
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
