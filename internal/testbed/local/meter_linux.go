package local

import (
	"context"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"

	"tare/internal/run/machine"
	"tare/internal/testbed"
)

// Meter reads the use of the machine's processors. If the site has a network, it also reads the use of the
// wire, and the TCP counters of pods and nodes.
func (s *site) Meter(context.Context) (list []testbed.Resource, err error) {
	if n := s.network; n != nil {
		for _, node := range n.nodes {
			wire, err := node.sent()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", node.name, err)
			}
			list = append(list, wire)
		}
		for _, in := range n.namespaces() {
			err := in.thread.do(func() error {
				one, err := testbed.ReadNetwork(testbed.ResourceWire)
				list = append(list, one)
				if table := testbed.ReadConnections(); table.Of > 0 {
					list = append(list, table)
				}
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", in.name, err)
			}
		}
	}
	t, err := machine.ReadTotals("/", time.Now)
	return append(list, testbed.Resource{Name: testbed.ResourceMachine, Of: float64(t.CPUs), Used: t.Busy.Seconds()}), err
}

// sent returns the bits that the node has sent to the wire, and the packets that its rate limit has dropped.
// Packets that are lost on purpose (netem) are not counted.
func (n *node) sent() (testbed.Resource, error) {
	link, shape, _, err := n.shaped()
	if err != nil {
		return testbed.Resource{}, err
	}
	r := testbed.Resource{Name: testbed.ResourceWire, Of: shape.Rate}
	disciplines, err := n.QdiscList(link)
	for _, d := range disciplines {
		if s := d.Attrs().Statistics; d.Type() == (&netlink.Tbf{}).Type() && s != nil {
			r.Used, r.Dropped = float64(s.Basic.Bytes)*8, uint64(s.Queue.Drops)
			r.Packets = uint64(s.Basic.Packets) + r.Dropped
		}
	}
	return r, err
}
