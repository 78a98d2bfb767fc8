package mtls

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/test/slow"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

// trafficVariable makes this test program a server or a client instead of running its tests:
// "serve tcp ADDRESS", "send tcp ADDRESS COUNT".
const trafficVariable = "TARE_MTLS_TEST"

func TestMain(m *testing.M) {
	what := os.Getenv(trafficVariable)
	if what == "" || testbed.HelperName() != "" {
		layertest.Main(m, Kind)
	}
	if err := traffic(strings.Fields(what)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// openSite opens a site at which the program can run, or skips the test.
func openSite(t *testing.T, p program) testbed.Site {
	t.Helper()
	slow.Test(t)
	if _, err := p.implementation().find(); err != nil {
		t.Skipf("%v: %s", err, p.implementation().hint)
	}
	return localtest.Network(t, 0, 1500)
}

// config returns the layer with changed defaults.
func config(change func(*Config)) *Config {
	c := newLayer().(*Config)
	if change != nil {
		change(c)
	}
	return c
}

func up(t *testing.T, site testbed.Site, change func(*Config)) *active {
	t.Helper()
	a, err := config(change).up(t.Context(), site)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.down(context.Background()) })
	return a
}

// outcome describes checks: "name: true", one per line. It adds what failed checks expected and observed.
func outcome(t *testing.T, checks []layer.Check, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range checks {
		if c.Layer != "mtls" || c.Expected == "" || c.Observed == "" {
			t.Errorf("%+v", c)
		}
		fmt.Fprintf(&b, "%s: %v", c.Name, c.OK)
		if !c.OK {
			fmt.Fprintf(&b, ": expected %s, observed %s", c.Expected, c.Observed)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func assert(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%swant:\n%s", what, got, want)
	}
}

const off = `redirection in the client-pod: true
redirection in the server-pod: true
marker from pod to pod: true
marker on the wire: true
`

func TestLayer(t *testing.T) {
	cases := map[string]func(*Config){
		"mtls":               nil,
		"plaintext":          func(c *Config) { c.Mode = factor.Of(plaintext) },
		"http":               func(c *Config) { c.Protocol, c.RequestsPerConnection = factor.Of(HTTP), factor.Of(2) },
		"plaintext http":     func(c *Config) { c.Protocol, c.Mode = factor.Of(HTTP), factor.Of(plaintext) },
		"node":               func(c *Config) { c.Placement, c.Workers = factor.Of(node), factor.Of(1) },
		"plaintext node":     func(c *Config) { c.Placement, c.Mode = factor.Of(node), factor.Of(plaintext) },
		"keys and ciphers":   func(c *Config) { c.Key, c.Version, c.Cipher = factor.Of(rsa2048), factor.Of(tls12), factor.Of(chaCha) },
		"without resumption": func(c *Config) { c.Key, c.Resumption = factor.Of(p384), factor.Of(false) },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) { works(t, openSite(t, Envoy), change) })
	}
	for name, change := range map[string]func(*Config){
		"mtls":               nil,
		"plaintext":          func(c *Config) { c.Mode = factor.Of(plaintext) },
		"http":               func(c *Config) { c.Protocol, c.RequestsPerConnection = factor.Of(HTTP), factor.Of(1) },
		"node":               func(c *Config) { c.Placement, c.Cipher = factor.Of(node), factor.Of(chaCha) },
		"without resumption": func(c *Config) { c.Version, c.Resumption = factor.Of(tls12), factor.Of(false) },
	} {
		t.Run("haproxy "+name, func(t *testing.T) {
			works(t, openSite(t, haProxy), func(c *Config) {
				if c.Proxy = factor.Of(haProxy); change != nil {
					change(c)
				}
			})
		})
	}
}

// works tests the layer at a site from Up to Down.
func works(t *testing.T, site testbed.Site, change func(*Config)) {
	t.Setenv("TMPDIR", t.TempDir()) // other tests may put the layer up at the same time
	ctx := t.Context()
	c := config(change)
	checks, err := c.ProveOff(ctx, new(layer.Run).At(site))
	assert(t, "before", outcome(t, checks, err), off)

	a := up(t, site, change)
	assert(t, "proofs", outcome(t, a.proofs, nil), "client-proxy: true\nserver-proxy: true\n")
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "tare-mtls-*")); len(left) > 0 {
		t.Errorf("files are left while the proxies run: %v", left)
	}
	for _, path := range []testbed.Path{testbed.PodToPod, testbed.PodToService} {
		checks, err = a.prove(ctx, site)
		got := outcome(t, checks, err)
		if strings.Contains(got, ": false") || strings.Count(got, "\n") < 7 {
			t.Errorf("before a trial:\n%s", got)
		}
		first, err := a.costs()
		if err != nil {
			t.Fatal(err)
		}
		checks, err = a.through(ctx, transfer(t, site, path, a.Protocol.One(), 6))
		if got := outcome(t, checks, err); strings.Contains(got, ": false") || !strings.Contains(got, "trial through the proxies: true") {
			t.Errorf("after a trial:\n%s", got)
		}
		then, err := a.costs()
		var parts []string
		for i, c := range then {
			parts = append(parts, c.Part)
			if c.CPU <= first[i].CPU || c.Memory < 1<<20 {
				t.Errorf("after a trial %+v, before %+v", c, first[i])
			}
		}
		if err != nil || !slices.Equal(parts, []string{"client-proxy", "server-proxy"}) {
			t.Errorf("costs of %v, %v", parts, err)
		}
	}
	if err := a.down(ctx); err != nil {
		t.Fatal(err)
	}
	if err := a.down(ctx); err != nil {
		t.Errorf("down again: %v", err)
	}
	checks, err = c.ProveOff(ctx, new(layer.Run).At(site))
	assert(t, "after", outcome(t, checks, err), off)
}

// HTTP/2 passes through the proxies unchanged.
func TestHTTP2(t *testing.T) {
	site := openSite(t, Envoy)
	a := up(t, site, func(c *Config) { c.Protocol = factor.Of(HTTP) })
	if _, err := a.prove(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	checks, err := a.through(t.Context(), transfer(t, site, testbed.PodToService, http2, 6))
	if got := outcome(t, checks, err); got != "handshakes of the trial: true\ntrial through the proxies: true\n" {
		t.Error(got)
	}
}

// If some ports of the service are taken, a probe finds another one. If all are taken, the error names them.
func TestPortsInUse(t *testing.T) {
	h := &helper{}
	defer h.unlisten()
	l, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := uint16(l.Addr().(*net.TCPAddr).Port)
	if _, err := h.listen([]uint16{taken}); err == nil || err.Error() != fmt.Sprintf("no port is free for a probe: the ports [%d] are all in use", taken) {
		t.Error(err)
	}
	if port, err := h.listen([]uint16{0, taken}); err != nil || port != 0 {
		t.Error(port, err)
	}
}

// The error contains a proxy's complaint about its configuration, and nothing is left behind.
func TestFailedUpLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	site := openSite(t, Envoy)
	for name, change := range map[string]func(*Config){
		"requests": func(c *Config) { c.Protocol, c.RequestsPerConnection = factor.Of(HTTP), factor.Of(-1) },
	} {
		_, err := config(change).up(t.Context(), site)
		if err == nil || !strings.HasPrefix(err.Error(), "client-proxy: ") || !strings.Contains(err.Error(), "exit status 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := config(nil).up(ended, site); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "tare-mtls-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	checks, err := config(nil).ProveOff(t.Context(), new(layer.Run).At(site))
	assert(t, "afterwards", outcome(t, checks, err), off)
}

func TestWithoutPods(t *testing.T) {
	const want = "this testbed has no pods whose connections can be redirected to proxies and captured"
	site := localtest.Host(t)
	if _, err := newLayer().Up(t.Context(), new(layer.Run).At(site)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := newLayer().ProveOff(t.Context(), new(layer.Run).At(site)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestProbe(t *testing.T) {
	openSite(t, Envoy)
	findings := Kind.Probe(t.Context())
	if len(findings) != 2 || findings[0].Name != "envoy" || findings[1].Name != "haproxy" {
		t.Fatalf("%+v", findings)
	}
	if f := findings[0]; f.Status != testbed.Works || !strings.HasPrefix(f.Detail, "envoy 1.") {
		t.Errorf("%+v", f)
	}
	if f := findings[1]; f.Status != testbed.Works && f.Hint != "apt-get install haproxy" {
		t.Errorf("%+v", f)
	}
}
