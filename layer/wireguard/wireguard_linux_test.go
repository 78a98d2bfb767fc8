package wireguard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"tare/layer"
	"tare/layer/layertest"
	"tare/testbed"
	"tare/testbed/local/localtest"
)

// streamVariable makes this test program move a stream of bytes instead of
// running its tests: "serve ADDRESS" or "send ADDRESS".
const streamVariable = "TARE_WIREGUARD_TEST"

func TestMain(m *testing.M) {
	what := os.Getenv(streamVariable)
	if what == "" || testbed.HelperName() != "" {
		layertest.Main(m, Kind)
	}
	if err := stream(what); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stream is one side of a transfer of some megabytes.
func stream(what string) error {
	side, address, _ := strings.Cut(what, " ")
	if side == "send" {
		conn, err := net.DialTimeout("tcp4", address, 5*time.Second)
		if err != nil {
			return err
		}
		if _, err := conn.Write(make([]byte, streamSize)); err != nil {
			return err
		}
		return conn.Close()
	}
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, conn)
	if err == nil && n != streamSize {
		err = fmt.Errorf("%d bytes arrived of %d", n, streamSize)
	}
	return err
}

const streamSize = 4 << 20

// transfer moves streamSize bytes from the client pod to the server pod.
func transfer(t *testing.T, site testbed.Site, path testbed.Path) {
	t.Helper()
	network, _ := testbed.As[testbed.Network](site)
	port := network.Ports()[0]
	self := testbed.Command{Args: []string{"/proc/self/exe"}}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	self.Env = []string{fmt.Sprintf("%s=serve 0.0.0.0:%d", streamVariable, port)}
	self.Stdout = w
	server, err := site.Start(context.Background(), testbed.ServerPod, self)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	self.Env = []string{streamVariable + "=send " + netip.AddrPortFrom(network.Address(path), port).String()}
	self.Stdout = nil
	client, err := site.Start(context.Background(), testbed.ClientPod, self)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Wait(); err != nil {
		t.Fatal(err)
	}
}

// openSite opens a site with a network of that MTU on which a tunnel can be made.
func openSite(t *testing.T, mtu int) testbed.Site {
	t.Helper()
	file, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("%v: %s", err, hint(errNoTUN))
	}
	file.Close()
	return localtest.Network(t, 1e9, mtu)
}

// up puts the layer around a site, to be taken down with the test.
func up(t *testing.T, site testbed.Site, which Implementation) *active {
	t.Helper()
	a, err := (&Config{Implementation: which}).up(context.Background(), site)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// text is the outcome of checks, one a line.
func text(t *testing.T, checks []layer.Check, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range checks {
		if c.Layer != "wireguard" {
			t.Errorf("layer %q in %+v", c.Layer, c)
		}
		fmt.Fprintf(&b, "%s: expected %s, observed %s: %v\n", c.Name, c.Expected, c.Observed, c.OK)
	}
	return b.String()
}

func assert(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%swant:\n%s", what, got, want)
	}
}

const (
	inClear = `marker from pod to pod: expected arrives, observed arrives: true
marker on the wire: expected in clear in at least 1 frame, observed in clear in 2 frames: true
`
	encrypted = `marker from pod to pod: expected arrives, observed arrives: true
marker on the wire: expected in clear in 0 frames, observed in clear in 0 frames: true
`
)

func TestUserspaceTunnel(t *testing.T) {
	for _, mtu := range []int{1450, 1500, 8896} {
		t.Run(fmt.Sprint(mtu), func(t *testing.T) { tunnelWorks(t, openSite(t, mtu), Userspace) })
	}
}

func TestKernelTunnel(t *testing.T) {
	site := openSite(t, 1500)
	if f := find(context.Background(), Kernel); f.Status != testbed.Works {
		if f.Detail != "this kernel has no WireGuard: add an interface of type wireguard: operation not supported" {
			t.Errorf("refused for a reason that this test does not know: %s", f.Detail)
		}
		t.Skip(f.Detail)
	}
	tunnelWorks(t, site, Kernel)
}

// tunnelWorks goes through the life of the layer at a site.
func tunnelWorks(t *testing.T, site testbed.Site, which Implementation) {
	ctx := context.Background()
	c := &Config{Implementation: which}
	checks, err := c.ProveOff(ctx, new(layer.Run).At(site))
	assert(t, "before", text(t, checks, err), inClear)

	a := up(t, site, which)
	assert(t, "proofs", text(t, a.proofs, nil), `without the tunnel: marker from pod to pod: expected arrives, observed arrives: true
without the tunnel: marker on the wire: expected in clear in at least 1 frame, observed in clear in 2 frames: true
implementation: expected `+string(which)+", observed "+a.tunnels[0].describe()+`: true
marker from a peer with a wrong key: expected does not arrive, observed does not arrive: true
marker from the peer with the right key: expected arrives, observed arrives: true
`)
	first, err := a.costs()
	var parts []string
	for _, c := range first {
		parts = append(parts, c.Part)
		if c.CPU <= 0 {
			t.Errorf("no CPU time: %+v", c)
		}
	}
	want := map[Implementation][]string{Userspace: {"client-node", "server-node"}}[which]
	if err != nil || !slices.Equal(parts, want) {
		t.Errorf("costs of %v, %v; want %v", parts, err, want)
	}
	for _, path := range []testbed.Path{testbed.PodToPod, testbed.PodToService} {
		checks, err = a.prove(ctx, site)
		got := text(t, checks, err)
		if !strings.HasPrefix(got, encrypted) || strings.Contains(got, ": false") {
			t.Errorf("before a trial:\n%s", got)
		}
		transfer(t, site, path)
		checks, err = a.through(ctx, layer.Did{Sent: streamSize})
		if len(checks) != 1 || err != nil || !checks[0].OK {
			t.Errorf("after a trial: %+v, %v", checks, err)
		}
	}
	then, err := a.costs()
	if err != nil {
		t.Error(err)
	}
	for i, c := range then {
		if c.CPU <= first[i].CPU {
			t.Errorf("after a trial %+v, before %+v", c, first[i])
		}
	}
	if err := a.down(ctx); err != nil {
		t.Fatal(err)
	}
	checks, err = c.ProveOff(ctx, new(layer.Run).At(site))
	assert(t, "after", text(t, checks, err), inClear)
	leftNothing(t, site)
}

// leftNothing says whether an interface remains on a node, or a limit of the MTU.
func leftNothing(t *testing.T, site testbed.Site) {
	t.Helper()
	nodes, _ := testbed.As[testbed.Nodes](site)
	for _, node := range nodes.Nodes() {
		_ = node.Do(func() error {
			if _, err := netlink.LinkByName(device); err == nil {
				t.Errorf("%s still has %s", node.Place(), device)
			}
			return nil
		})
	}
	transfer(t, site, testbed.PodToPod)
}

func TestAutoTakesTheKernelsWhereThereIsOne(t *testing.T) {
	site := openSite(t, 1500)
	want := "userspace (wireguard-go "
	nodes, _ := testbed.As[testbed.Nodes](site)
	if kernelHas(nodes.Nodes()[0].Do) == nil {
		want = "kernel (Linux "
	}
	a, err := Kind.New().Up(context.Background(), new(layer.Run).At(site))
	if err != nil {
		t.Fatal(err)
	}
	for _, proof := range a.Proofs {
		if proof.Name == implementationCheck && (!strings.HasPrefix(proof.Observed, want) ||
			proof.Expected != "kernel where it has one, else userspace") {
			t.Errorf("%+v, want %s…", proof, want)
		}
	}
	if err := a.Down(context.Background()); err != nil {
		t.Error(err)
	}
}

// What a proof is worth shows where it must fail.
func TestProofsFail(t *testing.T) {
	ctx := context.Background()
	site := openSite(t, 1500)
	a := up(t, site, Userspace)

	checks, err := (&Config{}).ProveOff(ctx, new(layer.Run).At(site))
	assert(t, "off, while it is on", text(t, checks, err), `marker from pod to pod: expected arrives, observed arrives: true
marker on the wire: expected in clear in at least 1 frame, observed in clear in 0 frames: false
`)
	if _, err := a.prove(ctx, site); err != nil {
		t.Fatal(err)
	}
	checks, err = a.through(ctx, layer.Did{Sent: 1e9})
	if len(checks) != 1 || err != nil || checks[0].OK {
		t.Errorf("a gigabyte that was not sent through the tunnel: %+v, %v", checks, err)
	}

	if err := a.route(""); err != nil {
		t.Fatal(err)
	}
	checks, err = a.prove(ctx, site)
	assert(t, "on, while traffic goes round it", text(t, checks, err), `marker from pod to pod: expected arrives, observed arrives: true
marker on the wire: expected in clear in 0 frames, observed in clear in 2 frames: false
marker through the tunnel: expected as many bytes in and out as were sent, or more, observed 0 bytes in, 0 bytes out, 128 sent: false
`)
	transfer(t, site, testbed.PodToPod)
	checks, err = a.through(ctx, layer.Did{Sent: streamSize})
	assert(t, "after, round it", text(t, checks, err),
		"trial through the tunnel: expected as many bytes in and out as were sent, or more, observed 0 bytes in, 0 bytes out, 4194304 sent: false\n")

	if err := a.down(ctx); err != nil {
		t.Fatal(err)
	}
}

// A marker that does not arrive proves nothing about the wire.
func TestASilentWireIsNoProof(t *testing.T) {
	m := sightings{{size: 64}}
	for _, clear := range []bool{true, false} {
		if c := m.checkWire("marker on the wire", clear); c.OK {
			t.Errorf("%+v", c)
		}
	}
	if c := m.checkArrival("marker", true); c.OK {
		t.Errorf("%+v", c)
	}
}

// The layer's process may die; that is an error that says so, not a proof.
func TestDeadProcess(t *testing.T) {
	ctx := context.Background()
	site := openSite(t, 1500)
	a := up(t, site, Userspace)
	if err := a.tunnels[1].(*userspaceTunnel).helper.Kill(); err != nil {
		t.Fatal(err)
	}
	const want = "server-node: wireguard-go: read the counters: /proc/self/exe: signal: killed"
	if _, err := a.prove(ctx, site); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := a.down(ctx); err == nil || err.Error() != "server-node: wireguard-go: /proc/self/exe: signal: killed" {
		t.Errorf("down: %v", err)
	}
	checks, err := (&Config{}).ProveOff(ctx, new(layer.Run).At(site))
	assert(t, "afterwards", text(t, checks, err), inClear)
}

func TestFailedUpLeavesNothing(t *testing.T) {
	site := openSite(t, 1500)
	nodes, _ := testbed.As[testbed.Nodes](site)
	server := nodes.Nodes()[1]
	// The name of the interface is taken on one node.
	err := server.Do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = device
		return netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs})
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&Config{Implementation: Userspace}).Up(context.Background(), new(layer.Run).At(site))
	if err == nil || !strings.HasPrefix(err.Error(), "wireguard-go works on a TUN interface: server-node: wireguard-go: open: make the interface wg0: ") {
		t.Errorf("%v", err)
	}
	_ = server.Do(func() error {
		link, err := netlink.LinkByName(device)
		if err == nil {
			err = netlink.LinkDel(link)
		}
		return err
	})
	leftNothing(t, site)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (&Config{Implementation: Userspace}).Up(ended, new(layer.Run).At(site)); err == nil {
		t.Error("put up under an ended context")
	}
	leftNothing(t, site)
}

func TestWithoutNodes(t *testing.T) {
	const want = "this testbed has no nodes between which a tunnel could be put and watched"
	site := localtest.Host(t)
	if _, err := Kind.New().Up(context.Background(), new(layer.Run).At(site)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := Kind.New().ProveOff(context.Background(), new(layer.Run).At(site)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Either implementation has something that a reader of CPU metrics must know.
func TestCaveats(t *testing.T) {
	for want, end := range map[string]tunnel{
		"the kernel's WireGuard encrypts in threads of the kernel": &kernelTunnel{},
		"WireGuard runs in user space":                             &userspaceTunnel{},
	} {
		a := &active{tunnels: []tunnel{end, end}}
		if check := a.implementation(Auto); !check.OK || !strings.HasPrefix(check.Caveat, want) {
			t.Errorf("%+v, want the caveat %q", check, want)
		}
	}
}

func TestProbe(t *testing.T) {
	openSite(t, 1500) // skips where it can't be tried
	findings := Kind.Probe(context.Background())
	if len(findings) != 2 || findings[0].Name != "kernel" || findings[1].Name != "userspace" {
		t.Fatalf("%+v", findings)
	}
	if f := findings[1]; f.Status != testbed.Works || !strings.HasPrefix(f.Detail, "userspace (wireguard-go ") {
		t.Errorf("%+v", f)
	}
	if f := findings[0]; f.Status != testbed.Works && (f.Detail == "" || !strings.HasPrefix(f.Hint, "modprobe wireguard")) {
		t.Errorf("%+v", f)
	}
}

// Keys are nowhere to be seen: not in what the process was started with.
func TestKeysStayInside(t *testing.T) {
	site := openSite(t, 1500)
	a := up(t, site, Userspace)
	for _, end := range a.tunnels {
		u := end.(*userspaceTunnel)
		for _, secret := range []string{u.end.private.String(), fmt.Sprintf("%x", u.end.private[:])} {
			for _, file := range processFiles(t) {
				if bytes.Contains(file, []byte(secret)) {
					t.Errorf("a key in the arguments or variables of a process")
				}
			}
		}
	}
	if err := a.down(context.Background()); err != nil {
		t.Error(err)
	}
}

// processFiles gives the arguments and variables of all processes.
func processFiles(t *testing.T) [][]byte {
	t.Helper()
	var all [][]byte
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		for _, name := range []string{"cmdline", "environ"} {
			if file, err := os.ReadFile("/proc/" + e.Name() + "/" + name); err == nil {
				all = append(all, file)
			}
		}
	}
	return all
}
