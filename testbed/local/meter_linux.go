package local

import (
	"context"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"

	"tare/machine"
	"tare/machine/proc"
	"tare/testbed"
)

var _ testbed.Metered = (*site)(nil)

// Meter reads the machine's processors and, with a network, the wire and what TCP has counted in pods and on nodes.
func (s *site) Meter(context.Context) (testbed.Meter, error) {
	m := testbed.NewMeter()
	if n := s.network; n != nil {
		spaces := []*space{}
		for _, node := range n.nodes {
			rate, queue, err := node.queue()
			if err != nil {
				return m, fmt.Errorf("%s: %w", node.name, err)
			}
			m.Rate, m.RateKnown, m.Queues = rate, true, append(m.Queues, queue)
			spaces = append(spaces, node.space)
		}
		for _, pod := range n.pods {
			spaces = append(spaces, pod.space)
		}
		for _, in := range spaces {
			err := in.thread.do(func() error {
				one, err := proc.ReadNetwork()
				m.Network = m.Network.With(one)
				return err
			})
			if err != nil {
				return m, fmt.Errorf("%s: %w", in.name, err)
			}
		}
	}
	totals, err := machine.ReadTotals("/", time.Now)
	m.Machines["this"] = testbed.Machine{Totals: totals, Client: true, Server: true}
	return m, err
}

// queue reads what the node has sent to the wire, and what the filter that holds it to the rate has dropped. What
// is lost on purpose (netem) is not counted.
func (n *node) queue() (rate float64, q testbed.Queue, err error) {
	link, shape, _, err := n.shaped()
	if err != nil {
		return 0, q, err
	}
	disciplines, err := n.QdiscList(link)
	if err != nil {
		return 0, q, fmt.Errorf("read the queueing disciplines of %s: %w", outside, err)
	}
	if s := link.Attrs().Statistics; s != nil {
		q.Bytes, q.Packets = s.TxBytes, s.TxPackets
	}
	for _, d := range disciplines {
		if s := d.Attrs().Statistics; d.Type() == (&netlink.Tbf{}).Type() && s != nil && s.Basic != nil && s.Queue != nil {
			q = testbed.Queue{Bytes: s.Basic.Bytes, Packets: uint64(s.Basic.Packets), Dropped: uint64(s.Queue.Drops)}
		}
	}
	return shape.Rate, q, nil
}
