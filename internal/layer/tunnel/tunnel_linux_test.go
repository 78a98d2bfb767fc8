package tunnel_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"tare/internal/layer"
	"tare/internal/layer/ipsec"
	"tare/internal/layer/layertest"
	"tare/internal/layer/tunnel"
	"tare/internal/layer/wireguard"
	"tare/internal/test/slow"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

// subject is a layer with tunnels.
type subject struct {
	*tunnel.Protocol
	kind layer.Kind
	with func(tunnel.Implementation) layer.Layer
}

var subjects = []subject{
	{wireguard.Protocol, wireguard.Kind, func(i tunnel.Implementation) layer.Layer { return &wireguard.Config{Implementation: i} }},
	{ipsec.Protocol, ipsec.Kind, func(i tunnel.Implementation) layer.Layer { return &ipsec.Config{Implementation: i} }},
}

// forEach runs a test for each layer whose programs are installed.
func forEach(t *testing.T, do func(t *testing.T, s subject)) {
	for _, s := range subjects {
		t.Run(s.Layer, func(t *testing.T) {
			if _, err := os.Stat("/usr/sbin/charon-systemd"); s.Layer == "ipsec" && err != nil {
				t.Skipf("no strongSwan: %v", err)
			}
			do(t, s)
		})
	}
}

// streamVariable makes this test program move a stream of bytes instead of
// running its tests: "serve ADDRESS" or "send ADDRESS".
const streamVariable = "TARE_TUNNEL_TEST"

func TestMain(m *testing.M) {
	what := os.Getenv(streamVariable)
	if what == "" || testbed.HelperName() != "" {
		layertest.Main(m, wireguard.Kind, ipsec.Kind)
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

// openSite opens a site whose network has the given MTU and allows tunnels.
func openSite(t *testing.T, mtu int) testbed.Site {
	t.Helper()
	slow.Test(t)
	file, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("%v: %s", err, tunnel.HintTUN(false))
	}
	file.Close()
	return localtest.Network(t, 1e9, mtu)
}

// up puts the layer around a site. The test takes it down.
func (s subject) up(t *testing.T, site testbed.Site, which tunnel.Implementation) *tunnel.Tunnels {
	t.Helper()
	a, err := s.OnNodes(context.Background(), site, which)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// off makes the proofs of a site without the layer.
func (s subject) off(t *testing.T, site testbed.Site) string {
	t.Helper()
	checks, err := s.with(tunnel.Userspace).ProveOff(context.Background(), new(layer.Run).At(site))
	return s.text(t, checks, err)
}

// text returns the results of checks, one per line.
func (s subject) text(t *testing.T, checks []layer.Check, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range checks {
		if c.Layer != s.Layer {
			t.Errorf("layer %q in %+v", c.Layer, c)
		}
		if _, sent, ok := strings.Cut(c.Observed, " bytes out, "); ok && !c.OK { // IPv6 announces itself on a new interface, which adds bytes
			c.Observed = "fewer than " + sent
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
	forEach(t, func(t *testing.T, s subject) {
		for _, mtu := range []int{1450, 1500, 8896} {
			t.Run(fmt.Sprint(mtu), func(t *testing.T) { s.works(t, openSite(t, mtu), tunnel.Userspace) })
		}
	})
}

func TestKernelTunnel(t *testing.T) {
	refused := map[string]string{
		"wireguard": "WireGuard is not in this kernel: client-node: add an interface of type wireguard: operation not supported (Linux ",
		"ipsec":     "IPsec is not in this kernel: client-node: add a security association of ESP: ",
	}
	forEach(t, func(t *testing.T, s subject) {
		site := openSite(t, 1500)
		if f := s.Find(context.Background(), tunnel.Kernel); f.Status != testbed.Works {
			if !strings.HasPrefix(f.Detail, refused[s.Layer]) {
				t.Errorf("refused for a reason that this test does not know: %s", f.Detail)
			}
			t.Skip(f.Detail)
		}
		s.works(t, site, tunnel.Kernel)
	})
}

// works tests the layer at a site from Up to Down.
func (s subject) works(t *testing.T, site testbed.Site, which tunnel.Implementation) {
	ctx := context.Background()
	assert(t, "before", s.off(t, site), inClear)

	a := s.up(t, site, which)
	assert(t, "proofs", s.text(t, a.Proofs(), nil), `without the tunnel: marker from pod to pod: expected arrives, observed arrives: true
without the tunnel: marker on the wire: expected in clear in at least 1 frame, observed in clear in 2 frames: true
implementation: expected `+string(which)+", observed "+string(which)+" ("+a.Version()+`): true
marker from a peer with a wrong key: expected does not arrive, observed does not arrive: true
marker from the peer with the right key: expected arrives, observed arrives: true
`)
	first, err := a.Costs()
	var parts []string
	for _, c := range first {
		parts = append(parts, c.Part)
		if c.CPU <= 0 {
			t.Errorf("no CPU time: %+v", c)
		}
	}
	want := map[tunnel.Implementation][]string{tunnel.Userspace: {"client-node", "server-node"}}[which]
	if err != nil || !slices.Equal(parts, want) {
		t.Errorf("costs of %v, %v; want %v", parts, err, want)
	}
	for _, path := range []testbed.Path{testbed.PodToPod, testbed.PodToService} {
		checks, err := a.Prove(ctx)
		got := s.text(t, checks, err)
		if !strings.HasPrefix(got, encrypted) || strings.Contains(got, ": false") {
			t.Errorf("before a trial:\n%s", got)
		}
		transfer(t, site, path)
		checks, err = a.Through(ctx, layer.Did{Sent: streamSize})
		if len(checks) != 1 || err != nil || !checks[0].OK {
			t.Errorf("after a trial: %+v, %v", checks, err)
		}
	}
	then, err := a.Costs()
	if err != nil {
		t.Error(err)
	}
	for i, c := range then {
		if c.CPU <= first[i].CPU {
			t.Errorf("after a trial %+v, before %+v", c, first[i])
		}
	}
	if err := a.Down(ctx); err != nil {
		t.Fatal(err)
	}
	assert(t, "after", s.off(t, site), inClear)
	s.leftNothing(t, site)
}

// leftNothing checks that no interface is left on a node, and no limit of the MTU.
func (s subject) leftNothing(t *testing.T, site testbed.Site) {
	t.Helper()
	nodes, _ := testbed.As[testbed.Nodes](site)
	for _, node := range nodes.Nodes() {
		_ = node.Do(func() error {
			if _, err := netlink.LinkByName(s.Device); err == nil {
				t.Errorf("%s still has %s", node.Place(), s.Device)
			}
			return nil
		})
	}
	transfer(t, site, testbed.PodToPod)
}

func TestAutoTakesTheKernelsWhereThereIsOne(t *testing.T) {
	forEach(t, func(t *testing.T, s subject) {
		site := openSite(t, 1500)
		want := "userspace ("
		if s.Find(context.Background(), tunnel.Kernel).Status == testbed.Works {
			want = "kernel (Linux "
		}
		a, err := s.kind.New().Up(context.Background(), new(layer.Run).At(site))
		if err != nil {
			t.Fatal(err)
		}
		for _, proof := range a.Proofs {
			if proof.Name == "implementation" && (!strings.HasPrefix(proof.Observed, want) ||
				proof.Expected != "kernel if it has one, otherwise userspace") {
				t.Errorf("%+v, want %s…", proof, want)
			}
		}
		if err := a.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// The proofs must be able to fail.
func TestProofsFail(t *testing.T) {
	forEach(t, func(t *testing.T, s subject) {
		ctx := context.Background()
		site := openSite(t, 1500)
		a := s.up(t, site, tunnel.Userspace)

		assert(t, "off, while it is on", s.off(t, site), `marker from pod to pod: expected arrives, observed arrives: true
marker on the wire: expected in clear in at least 1 frame, observed in clear in 0 frames: false
`)
		if _, err := a.Prove(ctx); err != nil {
			t.Fatal(err)
		}
		checks, err := a.Through(ctx, layer.Did{Sent: 1e9})
		if len(checks) != 1 || err != nil || checks[0].OK {
			t.Errorf("a gigabyte that was not sent through the tunnel: %+v, %v", checks, err)
		}

		if err := a.Lead(ctx, false); err != nil {
			t.Fatal(err)
		}
		size := fmt.Sprint(s.Carried(64))
		checks, err = a.Prove(ctx)
		assert(t, "on, while traffic goes past it", s.text(t, checks, err), `marker from pod to pod: expected arrives, observed arrives: true
marker on the wire: expected in clear in 0 frames, observed in clear in 2 frames: false
marker through the tunnel: expected at least as many bytes in and out as were sent, observed fewer than `+size+` sent: false
`)
		transfer(t, site, testbed.PodToPod)
		checks, err = a.Through(ctx, layer.Did{Sent: streamSize})
		assert(t, "after, past it", s.text(t, checks, err),
			"trial through the tunnel: expected at least as many bytes in and out as were sent, observed fewer than 4194304 sent: false\n")

		if err := a.Down(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// If the layer's process dies, the result is an error with the reason, and not a proof.
func TestDeadProcess(t *testing.T) {
	forEach(t, func(t *testing.T, s subject) {
		ctx := context.Background()
		site := openSite(t, 1500)
		a := s.up(t, site, tunnel.Userspace)
		if err := a.KillHelper(1); err != nil {
			t.Fatal(err)
		}
		before := "server-node: " + s.Program + ": "
		if _, err := a.Prove(ctx); err == nil || err.Error() != before+"read the counters: /proc/self/exe: signal: killed" {
			t.Errorf("%v", err)
		}
		if err := a.Down(ctx); err == nil || err.Error() != before+"/proc/self/exe: signal: killed" {
			t.Errorf("down: %v", err)
		}
		assert(t, "afterwards", s.off(t, site), inClear)
	})
}

// The proof before a trial fails if the daemon has died: whether packets then leave in clear is up to the routes.
func TestDeadDaemon(t *testing.T) {
	forEach(t, func(t *testing.T, s subject) {
		if s.Layer != "ipsec" {
			t.Skip("no daemon")
		}
		site := openSite(t, 1500)
		a := s.up(t, site, tunnel.Userspace)
		if err := a.KillDaemon(0); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Prove(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "client-node: "+s.Program+": read the counters: ") {
			t.Errorf("%v", err)
		}
		if err := a.Down(context.Background()); err != nil {
			t.Error(err)
		}
		s.leftNothing(t, site)
	})
}

func TestFailedUpLeavesNothing(t *testing.T) {
	forEach(t, func(t *testing.T, s subject) {
		site := openSite(t, 1500)
		nodes, _ := testbed.As[testbed.Nodes](site)
		server := nodes.Nodes()[1]
		// The name of the interface is taken on one node.
		err := server.Do(func() error {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = s.Device
			return netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs})
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.with(tunnel.Userspace).Up(context.Background(), new(layer.Run).At(site))
		if err == nil || !strings.HasPrefix(err.Error(), s.Program+" works on a TUN interface: server-node: "+s.Program+": open: make the interface "+s.Device+": ") {
			t.Errorf("%v", err)
		}
		_ = server.Do(func() error {
			link, err := netlink.LinkByName(s.Device)
			if err == nil {
				err = netlink.LinkDel(link)
			}
			return err
		})
		s.leftNothing(t, site)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.with(tunnel.Userspace).Up(ended, new(layer.Run).At(site)); err == nil {
			t.Error("put up under an ended context")
		}
		s.leftNothing(t, site)
	})
}

func TestWithoutNodes(t *testing.T) {
	const want = "this testbed has no nodes for a tunnel"
	site := localtest.Host(t)
	if _, err := wireguard.Kind.New().Up(context.Background(), new(layer.Run).At(site)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := wireguard.Kind.New().ProveOff(context.Background(), new(layer.Run).At(site)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestProbe(t *testing.T) {
	forEach(t, func(t *testing.T, s subject) {
		openSite(t, 1500) // skips the test if tunnels do not work here
		findings := s.kind.Probe(context.Background())
		if len(findings) != 2 || findings[0].Name != "kernel" || findings[1].Name != "userspace" {
			t.Fatalf("%+v", findings)
		}
		if f := findings[1]; f.Status != testbed.Works || !strings.HasPrefix(f.Detail, "userspace (") {
			t.Errorf("%+v", f)
		}
		if f := findings[0]; f.Status != testbed.Works && (f.Detail == "" || !strings.HasPrefix(f.Hint, "modprobe ")) {
			t.Errorf("%+v", f)
		}
	})
}

// Keys appear neither in arguments and variables of processes nor in files.
func TestKeysStayInside(t *testing.T) {
	forEach(t, func(t *testing.T, s subject) {
		site := openSite(t, 1500)
		a := s.up(t, site, tunnel.Userspace)
		for i := range a.Ends() {
			key := a.Key(i)
			for _, secret := range []string{base64.StdEncoding.EncodeToString(key[:]), fmt.Sprintf("%x", key[:])} {
				for _, file := range processFiles(t) {
					if bytes.Contains(file, []byte(secret)) {
						t.Errorf("a key in the arguments or variables of a process, or in a file")
					}
				}
			}
		}
		if err := a.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// processFiles returns the arguments and variables of all processes, and the temporary files of daemons.
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
	files, _ := filepath.Glob(filepath.Join(os.TempDir(), "tare-ipsec-*", "*"))
	for _, name := range files {
		if file, err := os.ReadFile(name); err == nil {
			all = append(all, file)
		}
	}
	return all
}
