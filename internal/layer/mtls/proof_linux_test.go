package mtls

import (
	"os"
	"strings"
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/testbed"
)

// The proofs must be able to fail.
func TestProofsFail(t *testing.T) {
	ctx := t.Context()
	site := openSite(t, Envoy)
	a := up(t, site, nil)
	// has asserts that these checks fail, with this text.
	has := func(what string, checks []layer.Check, err error, want ...string) {
		t.Helper()
		got := outcome(t, checks, err)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s:\n%swant:\n%s", what, got, w)
			}
		}
	}

	checks, err := config(nil).ProveOff(ctx, new(layer.Run).At(site))
	has("off, while it is on", checks, err,
		"redirection in the client-pod: false: expected 0 rules, observed 20 rules\n",
		"redirection in the server-pod: false: expected 0 rules, observed 10 rules\n",
		"marker from pod to pod: false: expected arrives by the connection that it was sent on, observed arrives by another connection than the one it was sent on\n",
		"marker on the wire: false: ")

	if _, err := a.prove(ctx, site); err != nil {
		t.Fatal(err)
	}
	checks, err = a.through(ctx, layer.Did{Sent: 1e9})
	has("a gigabyte that was not sent", checks, err, "trial through the proxies: false: expected 1000000000 bytes or more through each, observed client-proxy: 0 bytes, ")

	// The proxies do not encrypt although they should.
	plain := up2(t, a, site, plaintext)
	plain.Mode, plain.ids = factor.Of(mutual), a.ids
	checks, err = plain.prove(ctx, site)
	has("plaintext in place of TLS", checks, err,
		"marker on the wire: false: expected in clear in 0 frames, observed in clear in 4 frames\n",
		"peer that the server's proxy saw: false: expected spiffe://tare/ns/site/sa/client TLSv1.3, observed - - -\n",
		"client without TLS: false: expected refused, observed let in\n",
		"client with its certificate: false: expected let in, observed refused (",
		"handshakes so far: false: expected all of TLSv1.3, at least 1, observed 0 of 0, 0 of them resumed\n")

	// The proxies encrypt although they should not.
	a = up2(t, plain, site, mutual)
	a.Mode = factor.Of(plaintext)
	checks, err = a.prove(ctx, site)
	has("TLS in place of plaintext", checks, err,
		"marker on the wire: false: ", "peer that the server's proxy saw: false: expected no TLS, observed spiffe://tare/ns/site/sa/client TLSv1.3",
		"client without TLS: false: expected let in, observed refused", "handshakes so far: false: expected none, observed ")
	a.Mode = factor.Of(mutual)

	// The TLS version is not the one that was set.
	a.Version = factor.Of(tls12)
	checks, err = a.prove(ctx, site)
	has("another version", checks, err, "peer that the server's proxy saw: false: ", "server that the client sees: false: ", "handshakes so far: false: expected all of TLSv1.2, at least 1, observed 0 of ")
	a.Version = factor.Of(tls13)

	// A stranger has tried to connect meanwhile.
	if _, err := a.prove(ctx, site); err != nil {
		t.Fatal(err)
	}
	a.before[serverSide].Strangers--
	checks, err = a.through(ctx, layer.Did{})
	has("a stranger in the trial", checks, err, "handshakes of the trial: false: ", ", and 1 strangers were refused\n")

	// The proxies do not parse HTTP although they should.
	a.Protocol = factor.Of(HTTP)
	checks, err = a.prove(ctx, site)
	has("tcp in place of http", checks, err, "marker taken for: false: expected http, observed client-proxy: tcp; server-proxy: tcp\n", "peer identity that the proxy reports to the program: false: ")
	a.Protocol = factor.Of(tcp)

	// The rules are gone.
	restore := func(where testbed.Place) {
		t.Helper()
		if err := a.helpers[where].Ask(ctx, request{Restore: &struct{}{}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	restore(testbed.ClientPod)
	checks, err = a.prove(ctx, site)
	has("without the client's rules", checks, err, "redirection in the client-pod: false: expected 20 rules, observed 0 rules\n", "marker from pod to pod: false: ", "observed does not arrive: ", "marker through the proxies: false: ")
	restore(testbed.ServerPod)
	checks, err = a.prove(ctx, site)
	has("without rules", checks, err, "observed arrives by the connection that it was sent on\n", "marker on the wire: false: ", "marker through the proxies: false: ", "client without a certificate: true", "client with its certificate: false: ")
	checks, err = a.through(ctx, transfer(t, site, testbed.PodToPod, tcp, 2))
	has("a trial without rules", checks, err, "trial through the proxies: false: expected 2097152 bytes or more through each, observed client-proxy: 0 bytes, connections: 0; server-proxy: 0 bytes, connections: 0\n")

	// The error names a proxy that has ended.
	if err := a.proxies[serverSide].process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.proxies[serverSide].ended
	for what, f := range map[string]func() ([]layer.Check, error){
		"before": func() ([]layer.Check, error) { return a.prove(ctx, site) },
		"after":  func() ([]layer.Check, error) { return a.through(ctx, layer.Did{}) },
	} {
		if checks, err := f(); err == nil || !strings.HasPrefix(err.Error(), "server-proxy: ") || !strings.HasSuffix(err.Error(), "signal: killed") {
			t.Errorf("%s a trial with a dead proxy: %v, %v", what, checks, err)
		}
	}
	if err := a.down(ctx); err != nil {
		t.Error(err)
	}
}

// up2 puts the layer up again, in another mode.
func up2(t *testing.T, before *active, site testbed.Site, m mode) *active {
	t.Helper()
	if err := before.down(t.Context()); err != nil {
		t.Fatal(err)
	}
	return up(t, site, func(c *Config) { c.Mode = factor.Of(m) })
}

// Only the owner can read the files with keys.
func TestFilesAreTheOwnersAlone(t *testing.T) {
	ids, err := issue(p256)
	if err != nil {
		t.Fatal(err)
	}
	a := &active{Config: *newLayer().(*Config), ids: ids}
	files, err := a.files(plan{Config: a.Config, Side: serverSide, Mark: mark, Listen: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := (becomeRequest{Files: files}).write(dir); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadDir(dir)
	if err != nil || len(written) != len(files) || len(files) != 5 {
		t.Fatal(written, err)
	}
	for _, f := range written {
		info, err := f.Info()
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
}
