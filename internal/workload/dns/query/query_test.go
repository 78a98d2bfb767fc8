package query

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"tare/internal/layer/dnstransport"
	"tare/internal/testbed"
	"tare/internal/workload/dns/zone"
	"tare/internal/workload/http/load"
	"tare/internal/workload/service"
)

// serve starts a server. If secure, it speaks TLS in place of TCP.
func serve(t *testing.T, secure bool) (address, authority string) {
	t.Helper()
	c := zone.Config{Listen: "127.0.0.1:0"}
	if secure {
		var err error
		at := service.ByPath{testbed.PodToPod: netip.MustParseAddrPort("127.0.0.1:53")}
		if c.Cert, c.Key, err = service.SelfSigned(at); err != nil {
			t.Fatal(err)
		}
	}
	s, err := zone.Listen(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Address().String(), c.Cert
}

// sent runs a span of queries and returns the result.
func sent(t *testing.T, c Config, span load.Span) *load.Result {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Run(t.Context(), span)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var names = []string{zone.Name(1, time.Second, "t"), zone.Name(2, time.Second, "t")}

// Every query that falls due ends once, over each transport.
func TestTransports(t *testing.T) {
	for _, transport := range []dnstransport.Transport{dnstransport.UDP, dnstransport.TCP, dnstransport.TLS} {
		address, authority := serve(t, transport == dnstransport.TLS)
		c := Config{Address: address, Transport: transport, CA: authority, Sockets: 3, Names: names, Families: 2, Timeout: 20 * time.Second}
		r := sent(t, c, load.Span{Rate: 500, Arrivals: load.Poisson, Seed: 7, Duration: 400 * time.Millisecond})
		if r.Due != r.OK || r.Due < 100 || r.Due > 300 || r.Latency.Count() != r.OK || r.Lag.Count() != r.OK || len(r.Errors) > 0 || r.Duration != 400*time.Millisecond || r.Elapsed < r.Duration {
			t.Errorf("%s: %+v", transport, r)
		}
		for agreed, n := range r.Handshakes {
			if want := transport.Clear(); n != 3 || agreed != want && !(transport == dnstransport.TLS && strings.HasPrefix(agreed, "TLS 1.3, ")) {
				t.Errorf("%s: %d sockets with %s", transport, n, agreed)
			}
		}
	}
}

// Queries with an error end with its kind.
func TestErrors(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	address, _ := serve(t, false)
	secure, authority := serve(t, true)
	for name, c := range map[string]struct {
		Config
		want load.Kind
	}{
		"nobody answers":   {Config{Address: silent.LocalAddr().String(), Transport: dnstransport.UDP, Names: names, Families: 1}, load.Timeout},
		"no such name":     {Config{Address: address, Transport: dnstransport.UDP, Names: []string{"elsewhere"}, Families: 1}, "nxdomain"},
		"nobody listens":   {Config{Address: "127.0.0.1:1", Transport: dnstransport.TCP, Names: names, Families: 1}, load.Dial},
		"of a stranger":    {Config{Address: secure, Transport: dnstransport.TLS, Names: names, Families: 1}, load.Dial},
		"another name":     {Config{Address: secure, Transport: dnstransport.TLS, CA: authority, ServerName: "other.test", Names: names, Families: 1}, load.Dial},
		"TLS, not in turn": {Config{Address: secure, Transport: dnstransport.TCP, Names: names, Families: 1}, load.Closed},
	} {
		c.Sockets, c.Timeout = 2, time.Hour
		if c.want == load.Timeout || c.want == load.Closed { // some queries stay without a response
			c.Timeout = 300 * time.Millisecond
		}
		r := sent(t, c.Config, load.Span{Rate: 200, Duration: 200 * time.Millisecond})
		if c.want == load.Closed { // the connection is made again each time
			r.Errors[load.Closed] += r.Errors[load.Dial] + r.Errors[load.Timeout]
		}
		if r.Due != 40 || r.OK != 0 || r.Errors[c.want] != 40 || r.Examples[c.want] == "" && c.want != load.Closed || r.Failed.Count() != 40 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A connection that the server closes is made again. Queries under way on it are lost.
func TestReconnects(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	accepted := make(chan struct{}, 1000)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.Close()
		}
	}()
	r := sent(t, Config{Address: listener.Addr().String(), Transport: dnstransport.TCP, Sockets: 1, Names: names, Families: 1, Timeout: 20 * time.Second}, load.Span{Rate: 50, Duration: time.Second})
	if r.Due != 50 || r.OK != 0 || r.Errors[load.Closed] == 0 || len(accepted) < 2 {
		t.Errorf("%d connections, %+v", len(accepted), r)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []Config{{Names: nil, Families: 1}, {Names: []string{strings.Repeat("a", 64)}, Families: 1}, {Names: []string{"a..b"}, Families: 1},
		{Names: names, Families: 1, Transport: dnstransport.TLS, Address: "127.0.0.1:1", CA: "none"}, {Names: names, Families: 1, Transport: dnstransport.TLS, Address: "nowhere"}} {
		if s, err := Open(t.Context(), c); err == nil {
			s.Close()
			t.Errorf("%+v is taken", c)
		}
	}
	if err := CheckName("kubernetes.default.svc.cluster.local"); err != nil {
		t.Error(err)
	}
	s, err := Open(t.Context(), Config{Address: "127.0.0.1:1", Transport: dnstransport.UDP, Names: names, Families: 1, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, span := range []load.Span{{Workers: 3, Duration: time.Second}, {Rate: 3}} {
		if _, err := s.Run(t.Context(), span); err == nil {
			t.Errorf("%+v is taken", span)
		}
	}
}

// Any bytes received as a response have an outcome.
func FuzzJudge(f *testing.F) {
	asked, err := question("host.test", dnsmessage.TypeA)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(asked)
	f.Add([]byte{1, 2, 0x80})
	f.Fuzz(func(t *testing.T, answer []byte) {
		if kind, text := outcome(asked, answer); (kind == "") != (text == "") {
			t.Errorf("%q: %s", kind, text)
		}
	})
}
