package mtls

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/test/golden"
)

// The golden files are configurations of the proxies. TestLayer shows that the proxies accept them.
func TestGolden(t *testing.T) {
	with := func(m mode, change func(*Config)) Config {
		c := newLayer().(*Config)
		c.Mode = factor.Of(m)
		change(c)
		return *c
	}
	for name, c := range map[string]Config{
		"plaintext": with(plaintext, func(*Config) {}),
		"mtls":      with(mutual, func(*Config) {}),
		"http": with(mutual, func(c *Config) {
			c.Protocol, c.RequestsPerConnection, c.Resumption = factor.Of(HTTP), factor.Of(10), factor.Of(false)
			c.Key, c.Version, c.Cipher = factor.Of(rsa2048), factor.Of(tls12), factor.Of(chaCha)
		}),
	} {
		for _, side := range []side{clientSide, serverSide} {
			for _, program := range []program{Envoy, haProxy} {
				c.Proxy = factor.Of(program)
				p := plan{Config: c, Side: side, Mark: mark, Listen: side.listen()}
				if side == clientSide && name == "http" {
					p.From = netip.MustParseAddr("198.18.11.1")
				}
				configured(t, fmt.Sprintf("%s-%s-%s", program, name, side), p)
			}
		}
	}
}

func configured(t *testing.T, name string, p plan) {
	t.Helper()
	i := p.implementation()
	var got bytes.Buffer
	if err := i.configure.Execute(&got, p.values()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("testdata", name+filepath.Ext(i.file)), got.Bytes())
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"defaults":            {nil, ""},
		"cipher":              {func(c *Config) { c.Cipher = factor.Of(aes256) }, "cipher: Envoy chooses the cipher of TLSv1.3 itself: set version: TLSv1.2 as well, or leave the cipher out"},
		"cipher of TLS 1.2":   {func(c *Config) { c.Cipher, c.Version = factor.Of(aes256), factor.Of(tls12) }, ""},
		"cipher with HAProxy": {func(c *Config) { c.Cipher, c.Proxy = factor.Of(aes256), factor.Of(haProxy) }, ""},
		"cipher and no TLS": {func(c *Config) {
			c.Cipher, c.Version, c.Mode = factor.Of(aes256), factor.Of(tls12), factor.Of(plaintext)
		}, "cipher: with mode: plaintext-proxies nothing is encrypted"},
		"requests of bytes": {func(c *Config) { c.RequestsPerConnection = factor.Of(1) }, "requestsPerConnection: with protocol: tcp the proxies do not see requests: set protocol: http"},
		"requests":          {func(c *Config) { c.RequestsPerConnection, c.Protocol = factor.Of(1, 10), factor.Of(HTTP) }, ""},
		"requests and HAProxy": {func(c *Config) {
			c.RequestsPerConnection, c.Protocol, c.Proxy = factor.Of(1, 10), factor.Of(HTTP), factor.Of(haProxy)
		}, "requestsPerConnection: 10: HAProxy supports only 1 or, without this parameter, an unlimited number"},
		"both modes": {func(c *Config) {
			c.Mode, c.Cipher, c.Version = factor.Of(plaintext, mutual), factor.Of(aes128), factor.Of(tls12)
		}, ""},
	} {
		got := newLayer().(*Config)
		if c.change != nil {
			c.change(got)
		}
		var lines []string
		for _, e := range got.Declare().Validate() {
			lines = append(lines, e.Field+": "+e.Message)
		}
		if text := strings.Join(lines, "\n"); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

// Client and server trust the authority of their own set-up, and no other.
func TestIdentities(t *testing.T) {
	for _, k := range []key{p256, p384, rsa2048} {
		ids, err := issue(k)
		if err != nil {
			t.Fatal(err)
		}
		others, err := issue(k)
		if err != nil {
			t.Fatal(err)
		}
		for id, who := range map[string]identity{clientIdentity: ids.client, serverIdentity: ids.server, strangerIdentity: ids.stranger} {
			pair, err := tls.X509KeyPair([]byte(who.Certificate), []byte(who.Key))
			if err != nil {
				t.Fatal(err)
			}
			leaf := pair.Leaf
			if len(leaf.URIs) != 1 || leaf.URIs[0].String() != id || keyOf(leaf) != string(k) || leaf.IsCA {
				t.Errorf("%s: %v, %s", id, leaf.URIs, keyOf(leaf))
			}
			for authority, fine := range map[string]bool{ids.authority: true, others.authority: false} {
				roots := x509.NewCertPool()
				roots.AppendCertsFromPEM([]byte(authority))
				_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
				if (err == nil) != fine {
					t.Errorf("%s: %v", id, err)
				}
			}
		}
		block, _ := pem.Decode([]byte(ids.authority))
		if block == nil || block.Type != "CERTIFICATE" || bytes.Contains([]byte(ids.authority), []byte("PRIVATE")) {
			t.Errorf("the authority is %v", block)
		}
	}
	if _, err := issue("dsa"); err == nil || !strings.HasSuffix(err.Error(), `no key is called "dsa"`) {
		t.Error(err)
	}
}

func TestParseStats(t *testing.T) {
	got, err := parseStats("cluster.outbound.upstream_cx_total: 3\n\nlistener.inbound.ssl.versions.TLSv1.3: 7\ncluster.x.y: P0(nan,1) P25(nan,1)\n")
	want := map[string]uint64{"cluster.outbound.upstream_cx_total": 3, "listener.inbound.ssl.versions.TLSv1.3": 7}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if d := cmp.Diff(map[string]uint64{"TLSv1.3": 7}, withPrefix(got, "listener.inbound.ssl.versions.")); d != "" {
		t.Error(d)
	}
	if _, err := parseStats("upstream connect error"); err == nil || err.Error() != `envoy's stats: "upstream connect error" is not NAME: VALUE` {
		t.Error(err)
	}
}

func FuzzParseStats(f *testing.F) {
	f.Add("a.b: 1\nc: No recorded values\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := parseStats(text); err != nil && got != nil {
			t.Errorf("%v with %v", got, err)
		}
	})
}

func TestParseServerInfo(t *testing.T) {
	what, workers, err := parseServerInfo(`{"version": "9e55/1.40.0/Clean/RELEASE/BoringSSL", "command_line_options": {"concurrency": 2}}`)
	if what != "envoy 1.40.0, BoringSSL" || workers != 2 || err != nil {
		t.Error(what, workers, err)
	}
	for _, text := range []string{"", "{}", `{"version": "1.40.0", "command_line_options": {"concurrency": 2}}`} {
		if _, _, err := parseServerInfo(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzParseServerInfo(f *testing.F) {
	f.Add(`{"version": "a/b/c/d/e", "command_line_options": {"concurrency": 2}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if what, workers, err := parseServerInfo(text); err == nil && (what == "" || workers == 0) {
			t.Errorf("%q gives %q and %d", text, what, workers)
		}
	})
}

func TestParseInfo(t *testing.T) {
	what, workers, err := parseInfo("Name: HAProxy\nVersion: 2.6.12\nNbthread: 2\n")
	if what != "haproxy 2.6.12" || workers != 2 || err != nil {
		t.Error(what, workers, err)
	}
	if _, _, err := parseInfo("Unknown command"); err == nil || err.Error() != `haproxy's info: version "", "" threads` {
		t.Error(err)
	}
}

func TestParseTable(t *testing.T) {
	got, err := parseTable("# pxname,svname,stot,mode,ssl_sess,\ninbound,FRONTEND,3,tcp,1,\ninbound,original,,,,\n\n")
	want := map[string]map[string]uint64{"inbound/FRONTEND": {"stot": 3, "ssl_sess": 1}, "inbound/original": {}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, text := range []string{"", "Unknown command: 'show stat'\n", "# pxname,svname\n\"a"} {
		if _, err := parseTable(text); err == nil || !strings.HasPrefix(err.Error(), "haproxy's answer to \"show stat\" is no table of proxies") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseTable(f *testing.F) {
	f.Add("# pxname,svname,stot\na,b,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if rows, err := parseTable(text); err != nil && rows != nil {
			t.Errorf("%v with %v", rows, err)
		}
	})
}

// Records of connections arrive in pieces, between other lines, and next to records of other connections.
func TestLogReader(t *testing.T) {
	e := newLogReader()
	for _, part := range []string{"starting\ntare-told 1.2.3.4:5 TLSv1.3 C spiffe://x\ntare-to", "ld 1.2.3.4:6 - - -\n", strings.Repeat("x", 2*longestRecord), "\ntare-told short\n"} {
		if n, err := e.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	got, err := e.record(t.Context(), "1.2.3.4:6", recordLimit)
	if want := (connRecord{"1.2.3.4:6", "-", "-", "-"}); got != want || err != nil {
		t.Error(got, err)
	}
	if _, err := e.record(t.Context(), "1.2.3.4:5", 0); err == nil || err.Error() != "the proxy printed no record of the connection from 1.2.3.4:5 within 0s" {
		t.Error("earlier records of other connections must be dropped:", err)
	}
}

func FuzzEar(f *testing.F) {
	f.Add([]byte("tare-told a b c d\n"), []byte("x"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		e := newLogReader()
		_, _ = e.Write(a)
		_, _ = e.Write(b)
		if len(e.rest) > longestRecord {
			t.Errorf("%d bytes are kept", len(e.rest))
		}
	})
}

// A marker that does not arrive proves nothing about its way.
func TestASilentWireIsNoProof(t *testing.T) {
	m := markerOutcome{sent: sent{Refused: "connection refused"}}
	for _, way := range []bool{true, false} {
		if c := m.checkWay(way); c.OK || c.Observed != "does not arrive: connection refused" {
			t.Errorf("%+v", c)
		}
		if c := m.checkWire(way); c.OK {
			t.Errorf("%+v", c)
		}
	}
}

// If another layer hides the pods' frames, a marker that is not seen is no evidence of TLS.
func TestHiddenByAnotherLayer(t *testing.T) {
	m := markerOutcome{hidden: true}
	if c := m.checkWire(true); !c.OK || c.Observed != "in clear in 0 frames, nor is a datagram: something else hides both" {
		t.Errorf("%+v", c)
	}
	m.hidden = false
	if c := m.checkWire(true); c.OK {
		t.Errorf("%+v", c)
	}
}

func TestReuse(t *testing.T) {
	a := &active{Config: Config{RequestsPerConnection: factor.Of(10)}}
	a.before[clientSide] = counters{Requests: 100, Upstream: 10, Open: 1}
	for requests, fine := range map[uint64]bool{100: true, 130: true, 131: false} {
		if c := a.checkReuse(counters{Requests: requests, Upstream: 12}); c.OK != fine {
			t.Errorf("%+v", c)
		}
	}
}

// A resumed session fails the check where resumption is off.
func TestResumption(t *testing.T) {
	a := &active{Config: Config{Mode: factor.Of(mutual), Version: factor.Of(tls13), Protocol: factor.Of(tcp), Resumption: factor.Of(false)}}
	c := counters{Handshakes: 2, Resumed: 1, Versions: map[string]uint64{"TLSv1.3": 2}}
	if a.checkHandshakes("x", c).OK {
		t.Error("resumed sessions pass for full handshakes")
	}
	a.Resumption = factor.Of(true)
	if k := a.checkHandshakes("x", c); !k.OK {
		t.Errorf("%+v", k)
	}
}

var _ layer.Layer = (*Config)(nil)
