package local

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"

	"tare/internal/testbed"
)

// Mend finds and names damage to a site from outside before a trial. Interfaces, routes and rate limits of layers are
// no damage.
func TestBrokenNetwork(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(n *network) error
		want   string // "": no damage
	}{
		{"nothing", func(*network) error { return nil }, ""},
		{"a layer's work", func(n *network) error {
			tunnel := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "wg0"}}
			return errors.Join(n.nodes[0].LinkAdd(tunnel), n.nodes[0].LinkSetUp(tunnel), n.nodes[0].RouteVia(podNetwork(1), "wg0", 1400), n.Shape(testbed.Shape{Rate: 1e8, MTU: 1400}))
		}, ""},
		{"interface deleted", func(n *network) error {
			link, err := n.pods[0].link(ethernet)
			return errors.Join(err, n.pods[0].LinkDel(link))
		}, "default route of the client-pod: gone, and was 198.18.11.1"},
		{"interface off", func(n *network) error {
			link, err := n.wire.link("node2")
			return errors.Join(err, n.wire.LinkSetDown(link))
		}, "interface node2 of the wire: "},
		{"address deleted", func(n *network) error {
			link, err := n.nodes[1].link("pod0")
			if err != nil {
				return err
			}
			list, err := n.nodes[1].AddrList(link, netlink.FAMILY_V4)
			return errors.Join(err, n.nodes[1].AddrDel(link, &list[0]))
		}, "interface pod0 of the server-node: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := openSite(t, 1e9, 1500)
			must(t, c.damage(n))
			err := n.Mend(t.Context())
			var broken *testbed.Broken
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%v; want nothing", err)
			case c.want != "" && (!errors.As(err, &broken) || len(broken.What) < len(c.want) || broken.What[:len(c.want)] != c.want):
				t.Errorf("%v; want %s", err, c.want)
			}
			for range 2 {
				if err := n.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
