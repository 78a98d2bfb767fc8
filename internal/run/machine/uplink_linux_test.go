package machine

import (
	"errors"
	"net"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// TestUplink reads the interface of a network namespace: first with the interface's MTU, then with a smaller one of its
// route.
func TestUplink(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread ends with the test, and the namespace with it
	ns, err := netns.New()
	if errors.Is(err, unix.EPERM) {
		t.Skip("this process may not make network namespaces:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ns.Close() }()
	if u := ReadUplink(); u != nil {
		t.Errorf("an empty namespace has %+v", u)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = "pod0", 8896
	link := &netlink.Veth{LinkAttrs: attrs, PeerName: "node0"}
	route := &netlink.Route{Gw: net.IPv4(198, 18, 11, 1)}
	for _, step := range []func() error{
		func() error { return netlink.LinkAdd(link) },
		func() error {
			return netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(198, 18, 11, 2), Mask: net.CIDRMask(24, 32)}})
		},
		func() error { return netlink.LinkSetUp(link) },
		func() error { route.LinkIndex = link.Index; return netlink.RouteAdd(route) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	want := Uplink{Name: "pod0", MTU: 8896, GSO: 65536, Offloads: map[string]bool{"TSO": true, "GSO": true, "GRO": false, "TX checksum offload": true, "RX checksum offload": true}}
	got := ReadUplink()
	if got == nil {
		t.Fatal("no interface is found")
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
	route.MTU = 1450
	if err := netlink.RouteReplace(route); err != nil {
		t.Fatal(err)
	}
	if got := ReadUplink(); got == nil || got.MTU != 1450 {
		t.Errorf("with an MTU of 1450 on the route: %+v", got)
	}
}
