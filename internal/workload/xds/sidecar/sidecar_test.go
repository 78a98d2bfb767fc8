package sidecar_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"tare/internal/test/fit"
	"tare/internal/workload/xds/sidecar"
	"tare/internal/workload/xds/xdstest"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return on
}

func serve(t *testing.T, mesh xdstest.Mesh, o xdstest.Options) *xdstest.Server {
	t.Helper()
	s, err := xdstest.Start(listen(t), mesh, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// running is a running sidecar that sends its updates over a channel.
type running struct {
	t       *testing.T
	updates chan sidecar.Update
	ended   chan error
	stop    context.CancelFunc
}

func run(t *testing.T, s sidecar.Server) *running {
	t.Helper()
	node, err := sidecar.Node{ID: "sidecar~10.1.0.1~a.b~b.svc.cluster.local", Cluster: "a"}.Encode(strings.NewReplacer())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r := &running{t: t, updates: make(chan sidecar.Update, 1000), ended: make(chan error, 1), stop: stop}
	go func() { r.ended <- sidecar.New(s).Run(ctx, node, func(u sidecar.Update) { r.updates <- u }) }()
	t.Cleanup(stop)
	return r
}

// until returns the types of the responses up to the first one that satisfies the condition.
func (r *running) until(is func(sidecar.Update) bool) (seen string) {
	r.t.Helper()
	for {
		select {
		case u := <-r.updates:
			if u.Rejected != nil || u.Bytes == 0 {
				r.t.Errorf("%+v", u)
			}
			seen += string("CELR?"[u.Type])
			if is(u) {
				return seen
			}
		case err := <-r.ended:
			r.t.Fatalf("after %q the stream ended: %v", seen, err)
		}
	}
}

func ready(u sidecar.Update) bool { return u.Ready != "" }

func protocols(t *testing.T, test func(*testing.T, sidecar.Protocol)) {
	for _, p := range []sidecar.Protocol{sidecar.Delta, sidecar.SotW} {
		t.Run(string(p), func(t *testing.T) { test(t, p) })
	}
}

// short returns a request as a short text: type, names, version and nonce.
func short(r xdstest.Request) string {
	var url, nonce, version string
	var names, gone []string
	if d := r.Delta; d != nil {
		url, nonce, names, gone = d.TypeUrl, d.ResponseNonce, d.ResourceNamesSubscribe, d.ResourceNamesUnsubscribe
	} else {
		s := r.SotW
		url, nonce, version, names = s.TypeUrl, s.ResponseNonce, s.VersionInfo, s.ResourceNames
	}
	text := url[strings.LastIndexByte(url, '.')+1:]
	for _, n := range names {
		text += " " + n[:strings.IndexByte(n, '.')]
	}
	for _, n := range gone {
		text += " -" + n[:strings.IndexByte(n, '.')]
	}
	if version != "" {
		text += " v" + version
	}
	if nonce != "" {
		text += " #" + nonce
	}
	return text
}

// requests waits until the server has received n requests.
func requests(t *testing.T, s *xdstest.Server, n int) (list []string) {
	t.Helper()
	fit.Await(t, fmt.Sprintf("%d requests", n), func() bool { return len(s.Requests()) >= n })
	for _, r := range s.Requests() {
		list = append(list, short(r))
	}
	return list
}

func TestSubscribesAsEnvoy(t *testing.T) {
	protocols(t, func(t *testing.T, p sidecar.Protocol) {
		s := serve(t, xdstest.Mesh{Clusters: 2, Endpoints: 3, Listeners: 2}, xdstest.Options{Record: true})
		r := run(t, sidecar.Server{Address: s.Address, Protocol: p})
		if got := r.until(ready); got != "CELR" {
			t.Errorf("responses %s", got)
		}
		want := map[sidecar.Protocol][]string{
			sidecar.SotW: {"Cluster", "Cluster v1 #1", "ClusterLoadAssignment cluster-0 cluster-1", "ClusterLoadAssignment cluster-0 cluster-1 v1 #2",
				"Listener", "Listener v1 #3", "RouteConfiguration route-0 route-1", "RouteConfiguration route-0 route-1 v1 #4"},
			sidecar.Delta: {"Cluster", "Cluster #1", "ClusterLoadAssignment cluster-0 cluster-1", "ClusterLoadAssignment #2",
				"Listener", "Listener #3", "RouteConfiguration route-0 route-1", "RouteConfiguration #4"},
		}[p]
		if diff := cmp.Diff(want, requests(t, s, len(want))); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if first := s.Requests()[0]; first.SotW.GetNode().GetCluster()+first.Delta.GetNode().GetCluster() != "a" {
			t.Errorf("the first request has not the sidecar's node: %v", first)
		}
		r.stop()
		var e *sidecar.Error
		if err := <-r.ended; !errors.As(err, &e) || e.Kind != sidecar.Closed {
			t.Errorf("ended by %v", err)
		}
	})
}

// A push reaches the sidecar. If the push names other clusters, the sidecar asks for their endpoints.
func TestPushes(t *testing.T) {
	protocols(t, func(t *testing.T, p sidecar.Protocol) {
		mesh := xdstest.Mesh{Clusters: 2, Endpoints: 3, Listeners: 1}
		s := serve(t, mesh, xdstest.Options{Record: true})
		r := run(t, sidecar.Server{Address: s.Address, Protocol: p})
		r.until(ready)
		before := len(requests(t, s, 8)) // the sidecar has acknowledged all: the server waits for the acknowledgement before it pushes more
		endpoints := func(u sidecar.Update) bool { return u.Type == sidecar.EDS }
		if err := s.Change(mesh); err != nil {
			t.Fatal(err)
		}
		r.until(endpoints)
		if got := requests(t, s, before+1); len(got) != before+1 || !strings.HasPrefix(got[before], "ClusterLoadAssignment") {
			t.Errorf("after the push %v", got[before:])
		}
		mesh.Clusters = 1
		if err := s.Change(mesh); err != nil {
			t.Fatal(err)
		}
		r.until(func(u sidecar.Update) bool { return u.Type == sidecar.CDS })
		mesh.Clusters = 3
		if err := s.Change(mesh); err != nil {
			t.Fatal(err)
		}
		asked := func() string {
			for _, r := range s.Requests() {
				if text := short(r); strings.Contains(text, " cluster-2") {
					return text
				}
			}
			return ""
		}
		fit.Await(t, "a request for the endpoints", func() bool { return asked() != "" })
		want := "ClusterLoadAssignment cluster-0 cluster-1 cluster-2"
		if p == sidecar.Delta {
			want = "ClusterLoadAssignment cluster-1 cluster-2"
			gone := false
			for _, r := range s.Requests() {
				gone = gone || short(r) == "ClusterLoadAssignment -cluster-1"
			}
			if !gone {
				t.Error("endpoints of a cluster that is gone are still asked for")
			}
		}
		if got := asked(); !strings.HasPrefix(got, want) {
			t.Errorf("asked for %q, want %q", got, want)
		}
	})
}

// Requests and responses larger than the windows and frames of HTTP/2 arrive whole.
func TestLarge(t *testing.T) {
	protocols(t, func(t *testing.T, p sidecar.Protocol) {
		s := serve(t, xdstest.Mesh{Clusters: 4000, Endpoints: 1, Listeners: 50, Bulk: 8000}, xdstest.Options{})
		r := run(t, sidecar.Server{Address: s.Address, Protocol: p})
		if got := r.until(ready); got != "CELR" {
			t.Errorf("responses %s", got)
		}
	})
}

func TestEncryptedAndAuthenticated(t *testing.T) {
	cert, key, err := xdstest.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	serving, err := xdstest.Serving(cert, key, true)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, xdstest.Mesh{Clusters: 2, Endpoints: 1, Listeners: 1}, xdstest.Options{TLS: serving, Token: "secret"})
	own, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(cert)
	with := &tls.Config{RootCAs: trust, ServerName: "127.0.0.1", Certificates: []tls.Certificate{own}}
	run(t, sidecar.Server{Address: s.Address, Protocol: sidecar.Delta, TLS: with, Token: "secret"}).until(ready)
	run(t, sidecar.Server{Address: s.Address, Protocol: sidecar.Delta, TLS: with, Token: "secret"}).until(ready)

	bare := with.Clone()
	bare.Certificates = nil
	for _, c := range []struct {
		what   string
		server sidecar.Server
		want   []string // any of these kinds is right
	}{
		{"another token", sidecar.Server{TLS: with, Token: "other"}, []string{`unauthenticated: authorization ["Bearer other"]`}},
		{"no token", sidecar.Server{TLS: with}, []string{"unauthenticated: authorization []"}},
		{"no certificate", sidecar.Server{TLS: bare, Token: "secret"}, []string{"closed: remote error: tls: certificate required", "closed: write"}},
		{"another authority", sidecar.Server{TLS: &tls.Config{ServerName: "127.0.0.1", RootCAs: x509.NewCertPool()}}, []string{"tls: tls: failed to verify certificate"}},
		{"plaintext", sidecar.Server{}, []string{"closed: ", "protocol: "}},
	} {
		c.server.Address, c.server.Protocol = s.Address, sidecar.SotW
		err := sidecar.New(c.server).Run(t.Context(), nil, func(sidecar.Update) {})
		ok := false
		for _, want := range c.want {
			ok = ok || err != nil && strings.HasPrefix(err.Error(), want)
		}
		if !ok {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	s := serve(t, xdstest.Mesh{}, xdstest.Options{Refuse: 1})
	err := sidecar.New(sidecar.Server{Address: s.Address, Protocol: sidecar.Delta}).Run(t.Context(), nil, func(sidecar.Update) {})
	if want := "resource-exhausted: request rate limit exceeded: try again"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	s.Stop()
	err = sidecar.New(sidecar.Server{Address: s.Address, Protocol: sidecar.Delta}).Run(t.Context(), nil, func(sidecar.Update) {})
	if err == nil || !strings.HasPrefix(err.Error(), "dial: ") {
		t.Errorf("%v, want an error of the kind dial", err)
	}
}

// spoiling is a server whose first response is malformed.
type spoiling struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	answers chan *discovery.DiscoveryRequest
}

func (s *spoiling) StreamAggregatedResources(stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	whole, err := anypb.New(&cluster.Cluster{Name: "a"})
	if err != nil {
		return err
	}
	broken := &anypb.Any{TypeUrl: whole.TypeUrl, Value: []byte{0x0a, 0xff}}
	for i, resource := range []*anypb.Any{whole, broken} {
		answer := &discovery.DiscoveryResponse{VersionInfo: fmt.Sprint("v", i), TypeUrl: whole.TypeUrl, Nonce: fmt.Sprint("n", i), Resources: []*anypb.Any{resource}}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		s.answers <- r
	}
}

// A malformed response is rejected with the version that the sidecar has.
func TestRejects(t *testing.T) {
	on := listen(t)
	s, g := &spoiling{answers: make(chan *discovery.DiscoveryRequest, 10)}, grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(g, s)
	go func() { _ = g.Serve(on) }()
	t.Cleanup(g.Stop)
	updates := make(chan sidecar.Update, 10)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- sidecar.New(sidecar.Server{Address: on.Addr().String(), Protocol: sidecar.SotW}).Run(ctx, nil, func(u sidecar.Update) { updates <- u })
	}()
	var got []string
	for len(got) < 4 { // the first request, two acknowledgements, and the request for listeners
		select {
		case r := <-s.answers:
			got = append(got, fmt.Sprintf("%s %s %s %d %s", r.TypeUrl[strings.LastIndexByte(r.TypeUrl, '.')+1:], r.VersionInfo, r.ResponseNonce, r.ErrorDetail.GetCode(), r.ErrorDetail.GetMessage()))
		case err := <-ended:
			t.Fatal(err)
		}
	}
	want := []string{"Cluster   0 ", "Cluster v0 n0 0 ", "Listener   0 ", "Cluster v0 n1 3 a resource that cannot be read"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if first, second := <-updates, <-updates; first.Rejected != nil || second.Rejected == nil {
		t.Errorf("%+v, %+v", first, second)
	}
}
