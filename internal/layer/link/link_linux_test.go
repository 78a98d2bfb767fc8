package link

import (
	"context"
	"testing"

	"github.com/vishvananda/netlink"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

// The rate applies to every node, and a single node with another rate is detected.
func TestMembers(t *testing.T) {
	ctx := context.Background()
	site := localtest.Members(t, 3, 1e9, 1500)
	c := &config{Rate: factor.Of[quantity.Rate](1e8)}
	up := layertest.Up(t, c, site)
	assert(t, "on", layertest.Before(t, up, site), "rate of the wire: 100Mbit, 100Mbit: true\n")
	nodes, _ := testbed.As[testbed.Nodes](site)
	last := nodes.Nodes()[3]
	err := last.Do(func() error {
		link, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		return netlink.QdiscDel(&netlink.Tbf{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(2, 0), Parent: netlink.HANDLE_ROOT}})
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "read the wire's properties: the directions of the wire differ: {Rate:1e+08 MTU:1500 Delay:0s Loss:0} and {Rate:0 MTU:1500 Delay:0s Loss:0}"
	if _, err := up.Before(ctx, site); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := up.Down(ctx); err != nil {
		t.Fatal(err)
	}
	assert(t, "off", layertest.Off(t, c, site), "rate of the wire: 1Gbit, 1Gbit: true\n")
}
