package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
)

func link(rate quantity.Rate, mtu int) *experiment.Local {
	return &experiment.Local{Link: experiment.Link{Rate: factor.Of(rate), MTU: factor.Of(mtu)}}
}

// openSite opens a site with a network, or skips the test if this is impossible.
func openSite(t *testing.T, rate quantity.Rate, mtu int) *network {
	t.Helper()
	if NeedsUserNamespace() {
		t.Skip("needs root, or to be run inside a user namespace (unshare -Ur)")
	}
	_, site := opened(t, experiment.Needs{Network: true}, link(rate, mtu))
	return site.(*network)
}

func TestTraffic(t *testing.T) {
	n := openSite(t, 1e9, 1500)
	for _, path := range []testbed.Path{testbed.PodToPod, testbed.PodToService} {
		for _, port := range []uint16{n.Ports()[0], n.Ports()[len(n.Ports())-1]} {
			t.Run(fmt.Sprintf("tcp %s %d", path, port), func(t *testing.T) { transferTCP(t, n, path, port) })
			t.Run(fmt.Sprintf("udp %s %d", path, port), func(t *testing.T) { exchangeUDP(t, n, path, port) })
		}
	}
}

// transferTCP sends a megabyte from the client pod to the server pod.
func transferTCP(t *testing.T, n *network, path testbed.Path, port uint16) {
	var listener net.Listener
	err := n.pods[1].thread.do(func() (err error) {
		listener, err = net.Listen("tcp4", netip.AddrPortFrom(podAddress(1, 0), port).String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	type result struct {
		got []byte
		err error
	}
	received := make(chan result, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			received <- result{nil, err}
			return
		}
		defer func() { _ = conn.Close() }()
		got, err := io.ReadAll(conn)
		received <- result{got, err}
	}()
	var conn net.Conn
	err = n.pods[0].thread.do(func() (err error) {
		conn, err = net.DialTimeout("tcp4", netip.AddrPortFrom(n.Address(path), port).String(), 5*time.Second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sent := make([]byte, 1<<20)
	_, _ = rand.Read(sent)
	if _, err := conn.Write(sent); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	r := <-received
	if r.err != nil || !bytes.Equal(r.got, sent) {
		t.Errorf("%d bytes arrived of %d: %v", len(r.got), len(sent), r.err)
	}
}

// exchangeUDP sends a datagram to the server and one back.
func exchangeUDP(t *testing.T, n *network, path testbed.Path, port uint16) {
	var server *net.UDPConn
	err := n.pods[1].thread.do(func() (err error) {
		server, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(podAddress(1, 0), port)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	client, err := n.pods[0].listen(podAddress(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	to := netip.AddrPortFrom(n.Address(path), port)
	if _, err := client.WriteToUDPAddrPort([]byte("ping"), to); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	size, from, err := server.ReadFromUDPAddrPort(buffer)
	if err != nil || string(buffer[:size]) != "ping" {
		t.Fatalf("server got %q, %v", buffer[:size], err)
	}
	if _, err := server.WriteToUDPAddrPort([]byte("pong"), from); err != nil {
		t.Fatal(err)
	}
	size, from, err = client.ReadFromUDPAddrPort(buffer)
	if err != nil || string(buffer[:size]) != "pong" || from != to {
		t.Errorf("client got %q from %s, want pong from %s: %v", buffer[:size], from, to, err)
	}
}

func TestDeliver(t *testing.T) {
	n := openSite(t, 1e9, 1500)
	arrived, err := n.DeliverBetween(context.Background(), testbed.ClientPod, testbed.ServerPod, []byte("hello"), time.Hour)
	if err != nil || !arrived {
		t.Fatalf("arrived %v, %v", arrived, err)
	}
	// The client's node sends packets for the server pod's network back to the pod.
	must(t, n.nodes[0].RouteVia(podNetwork(1), "lo", 1000))
	arrived, err = n.DeliverBetween(context.Background(), testbed.ClientPod, testbed.ServerPod, []byte("hello"), 50*time.Millisecond)
	if err != nil || arrived {
		t.Errorf("without a route: arrived %v, %v", arrived, err)
	}
	must(t, n.nodes[0].RouteVia(podNetwork(1), "", 0))
	arrived, err = n.DeliverBetween(context.Background(), testbed.ClientPod, testbed.ServerPod, []byte("hello"), time.Hour)
	if err != nil || !arrived {
		t.Errorf("route restored: arrived %v, %v", arrived, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := n.DeliverBetween(ctx, testbed.ClientPod, testbed.ServerPod, []byte("hello"), time.Hour); !errors.Is(err, context.Canceled) && err != nil {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestWatchCountsThePattern(t *testing.T) {
	n := openSite(t, 1e9, 1500)
	pattern := []byte("a pattern to look for")
	stop, err := n.Watch(context.Background(), pattern)
	if err != nil {
		t.Fatal(err)
	}
	const datagrams = 20
	for i := range 2 * datagrams {
		payload := fmt.Appendf(nil, "datagram %d", i)
		if i%2 == 0 {
			payload = append(payload, pattern...)
		}
		if arrived, err := n.DeliverBetween(context.Background(), testbed.ClientPod, testbed.ServerPod, payload, 5*time.Second); err != nil || !arrived {
			t.Fatalf("arrived %v, %v", arrived, err)
		}
	}
	frames, err := stop()
	if err != nil || frames < datagrams || frames%datagrams != 0 {
		t.Errorf("%d frames seen of %d datagrams: %v", frames, datagrams, err)
	}
	if _, err := n.Watch(context.Background(), nil); err == nil {
		t.Error("a watch for nothing was started")
	}
}

func TestShape(t *testing.T) {
	n := openSite(t, 0, 1500)
	for _, want := range []testbed.Shape{
		{MTU: 1500}, {Rate: 1e9, MTU: 1500}, {Rate: 999e6, MTU: 1450}, {Rate: 1051e6, MTU: 8896}, {Rate: 10e9, MTU: maxMTU},
		{Rate: 100e9, MTU: minMTU}, {Rate: 1e6, MTU: 1500}, {Rate: 1e9, MTU: 1500}, {MTU: 1500},
	} {
		must(t, n.Shape(want))
		if got, err := n.Shaped(); err != nil || got != want {
			t.Errorf("shaped to %+v, kernel says %+v, %v", want, got, err)
		}
		if err := n.Mend(t.Context()); err != nil {
			t.Errorf("%+v is taken for damage: %v", want, err)
		}
		for size, fine := range map[int]bool{want.MTU - 28: true, want.MTU - 27: false} {
			if fits := sendsUnfragmented(t, n, podAddress(1, 0), size); fits != fine {
				t.Errorf("MTU %d: a datagram of %d bytes passes unfragmented: %v, want %v", want.MTU, size, fits, fine)
			}
		}
	}
	if n.LinkRate() != 0 || n.Unshaped() != (testbed.Shape{MTU: 1500}) {
		t.Errorf("the testbed's own changed to %+v", n.Unshaped())
	}
	if err := n.Shape(testbed.Shape{MTU: minMTU - 1}); err == nil || err.Error() != "MTU 575: must be 576 to 65535 bytes" {
		t.Error(err)
	}
	must(t, n.nodes[0].shape(testbed.Shape{Rate: 1e6, MTU: 1500}))
	_, err := n.Shaped()
	if want := "the directions of the wire differ: {Rate:1e+06 MTU:1500 Delay:0s Loss:0} and {Rate:0 MTU:1500 Delay:0s Loss:0}"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	must(t, n.Shape(n.Unshaped()))
	link, err := n.pods[1].link(ethernet)
	if err == nil {
		err = n.pods[1].LinkSetMTU(link, 1400)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Shaped()
	if want := "eth0 of the server-pod has an MTU of 1400, and the wire one of 1500"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestDelayAndLoss(t *testing.T) {
	if f := ProbeDelays(); f.Status != testbed.Works {
		t.Skip(f.Detail)
	}
	n := openSite(t, 1e9, 1500)
	for _, want := range []testbed.Shape{
		{Rate: 1e9, MTU: 1500, Delay: 20 * time.Millisecond}, {MTU: 1500, Loss: 0.25}, {Rate: 1e8, MTU: 1500, Delay: 1500 * time.Microsecond, Loss: 0.001}, {Rate: 1e9, MTU: 1500},
	} {
		must(t, n.Shape(want))
		got, err := n.Shaped()
		if err != nil || math.Abs(got.Loss-want.Loss) > 1e-6 {
			t.Errorf("shaped to %+v, kernel says %+v, %v", want, got, err)
		}
		if got.Loss = want.Loss; got != want {
			t.Errorf("shaped to %+v, kernel says %+v", want, got)
		}
	}
	must(t, n.Shape(testbed.Shape{MTU: 1500, Loss: 1}))
	if arrived, err := n.DeliverBetween(t.Context(), testbed.ClientPod, testbed.ServerPod, []byte("x"), 100*time.Millisecond); arrived || err != nil {
		t.Errorf("a datagram arrives over a wire that loses all: %v, %v", arrived, err)
	}
}

func TestBucket(t *testing.T) {
	cases := []struct {
		rate float64 // byte/s
		mtu  int
		want float64 // bytes
	}{
		{1e9 / 8, 1500, 1 << 20},
		{10e9 / 8, 8896, 1 << 20},
		{100e9 / 8, 1500, 1e7},
		{100e6 / 8, 1500, 125000},
		{1e6 / 8, 1500, 6056},
	}
	for _, c := range cases {
		if got := bucket(c.rate, c.mtu); got != c.want {
			t.Errorf("bucket(%g, %d) = %g, want %g", c.rate, c.mtu, got, c.want)
		}
	}
}

func TestMTU(t *testing.T) {
	for _, mtu := range []int{minMTU, 1450, 1500, 8896, maxMTU} {
		n := openSite(t, 0, mtu)
		if got := n.nodes[0].MTU(); got != mtu {
			t.Errorf("MTU %d, want %d", got, mtu)
		}
		for size, want := range map[int]bool{mtu - 28: true, mtu - 27: false} {
			if fits := sendsUnfragmented(t, n, podAddress(1, 0), size); fits != want {
				t.Errorf("MTU %d: a datagram of %d bytes passes unfragmented: %v, want %v", mtu, size, fits, want)
			}
		}
	}
}

// A route through a tunnel limits the size of the pods' packets to the other pods and to the service.
func TestRouteViaLimitsThePods(t *testing.T) {
	const limit = 1000
	n := openSite(t, 0, 1500)
	check := func(want bool) {
		t.Helper()
		for _, to := range []netip.Addr{podAddress(1, 0), serviceAddress} {
			if fits := sendsUnfragmented(t, n, to, limit-27); fits != want {
				t.Errorf("one byte more than the limit to %s passes: %v, want %v", to, fits, want)
			}
			if !sendsUnfragmented(t, n, to, limit-28) {
				t.Errorf("the limit itself does not pass to %s", to)
			}
		}
	}
	check(true)
	for range 2 { // also when it is set twice, and taken away twice
		must(t, n.nodes[0].RouteVia(podNetwork(1), ethernet, limit))
	}
	check(false)
	for range 2 {
		must(t, n.nodes[0].RouteVia(podNetwork(1), "", 0))
	}
	check(true)
	err := n.nodes[0].RouteVia(podNetwork(1), "no-such", limit)
	if err == nil || err.Error() != "interface no-such: Link not found" {
		t.Errorf("%v", err)
	}
}

// sendsUnfragmented reports whether the client pod may send this many bytes in one packet.
func sendsUnfragmented(t *testing.T, n *network, to netip.Addr, size int) bool {
	t.Helper()
	socket, err := n.pods[0].listen(podAddress(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	raw, err := socket.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = socket.WriteToUDPAddrPort(make([]byte, size), netip.AddrPortFrom(to, 9))
	if err != nil && !errors.Is(err, unix.EMSGSIZE) {
		t.Fatal(err)
	}
	return err == nil
}

// Sites have equal addresses, and do not affect each other.
func TestManySites(t *testing.T) {
	var sites []*network
	for range 12 {
		sites = append(sites, openSite(t, 1e9, 1500))
	}
	stop, err := sites[0].Watch(context.Background(), []byte("marker"))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range sites[1:] {
		if arrived, err := n.DeliverBetween(context.Background(), testbed.ClientPod, testbed.ServerPod, []byte("marker"), 5*time.Second); err != nil || !arrived {
			t.Errorf("site %d: arrived %v, %v", i+1, arrived, err)
		}
	}
	if frames, err := stop(); err != nil || frames != 0 {
		t.Errorf("%d frames of other sites seen on the wire: %v", frames, err)
	}
}

func TestOpenErrors(t *testing.T) {
	if NeedsUserNamespace() {
		t.Skip("needs root, or to be run inside a user namespace (unshare -Ur)")
	}
	bed, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bed.Close() }()
	cases := []struct {
		level any
		want  string
	}{
		{nil, "site s: a local network needs the parameters of a local testbed, not <nil>"},
		{3, "site s: a local network needs the parameters of a local testbed, not int"},
		{link(1e9, 10), "site s: link MTU 10: must be 576 to 65535 bytes"},
	}
	for _, c := range cases {
		if _, err := bed.Open(context.Background(), testbed.Request{Name: "s", Needs: experiment.Needs{Network: true}, Level: c.level}); err == nil || err.Error() != c.want {
			t.Errorf("level %v: error %q, want %q", c.level, err, c.want)
		}
	}
}
