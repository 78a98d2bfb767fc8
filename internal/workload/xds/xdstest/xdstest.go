// Package xdstest is an xDS server for tests and benchmarks of simulated sidecars. It uses go-control-plane. A test
// chooses the numbers of clusters, endpoints, listeners and routes. No program of Tare's contains it.
package xdstest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	manager "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"tare/internal/testbed"
	"tare/internal/workload/service"
)

// Mesh is the configuration that the server sends to sidecars.
type Mesh struct {
	Clusters  int // clusters whose endpoints are asked for by name; a further cluster has no endpoints
	Endpoints int // endpoints of each cluster
	Listeners int // number of listeners, whose routes are asked for by name
	Bulk      int // additional bytes in the endpoints of each cluster
}

// Options sets how the server behaves.
type Options struct {
	TLS    *tls.Config
	Token  string // token that streams must present; "": none
	Refuse int    // number of streams to refuse before one is served
	Most   int    // largest number of streams at the same time; further streams are refused; 0: no limit
	Record bool   // keep the requests for Server.Requests
}

// Server is a running xDS server.
type Server struct {
	Address string

	options Options
	cache   cache.SnapshotCache
	grpc    *grpc.Server
	stop    context.CancelFunc

	mu       sync.Mutex
	mesh     Mesh
	changes  int
	versions [types.UnknownType]string
	refused  int
	served   int // streams served now
	requests []Request
}

// Request is a request of a sidecar.
type Request struct {
	SotW  *discovery.DiscoveryRequest
	Delta *discovery.DeltaDiscoveryRequest
}

// Start begins to serve a mesh.
func Start(on net.Listener, mesh Mesh, options Options) (*Server, error) {
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{Address: on.Addr().String(), options: options, cache: cache.NewSnapshotCache(true, alike{}, nil), stop: stop, mesh: mesh}
	if err := s.Change(mesh); err != nil {
		stop()
		return nil, err
	}
	settings := []grpc.ServerOption{grpc.StreamInterceptor(s.admit), grpc.MaxConcurrentStreams(1000)}
	if options.TLS != nil {
		settings = append(settings, grpc.Creds(credentials.NewTLS(options.TLS)))
	}
	s.grpc = grpc.NewServer(settings...)
	discovery.RegisterAggregatedDiscoveryServiceServer(s.grpc, server.NewServer(ctx, s.cache, s.callbacks()))
	go func() { _ = s.grpc.Serve(on) }()
	return s, nil
}

// Stop ends the server and all of its streams.
func (s *Server) Stop() {
	s.stop()
	s.grpc.Stop()
}

// alike gives all sidecars the same ID, and so the same configuration.
type alike struct{}

func (alike) ID(*core.Node) string { return "all" }

func (s *Server) callbacks() server.Callbacks {
	if !s.options.Record {
		return server.CallbackFuncs{}
	}
	note := func(r Request) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r)
		return nil
	}
	return server.CallbackFuncs{
		StreamRequestFunc:      func(_ int64, r *discovery.DiscoveryRequest) error { return note(Request{SotW: r}) },
		StreamDeltaRequestFunc: func(_ int64, r *discovery.DeltaDiscoveryRequest) error { return note(Request{Delta: r}) },
	}
}

// Requests returns the requests so far, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// admit refuses a stream that lacks the token, the first Refuse streams with the token, and streams beyond the limit
// Most. admit serves all other streams.
func (s *Server) admit(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if want := s.options.Token; want != "" {
		given, _ := metadata.FromIncomingContext(stream.Context())
		if got := given.Get("authorization"); len(got) != 1 || got[0] != "Bearer "+want {
			return status.Errorf(codes.Unauthenticated, "authorization %q", got)
		}
	}
	s.mu.Lock()
	refuse := s.refused < s.options.Refuse || s.options.Most > 0 && s.served >= s.options.Most
	if refuse {
		s.refused++
	} else {
		s.served++
	}
	s.mu.Unlock()
	if refuse {
		return status.Error(codes.ResourceExhausted, "request rate limit exceeded: try again")
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.served--
	}()
	return handle(srv, stream)
}

// Change replaces the configuration, and pushes it to the sidecars. Every call changes endpoints of the first cluster.
// Types other than endpoints keep their version if their resources are unchanged.
func (s *Server) Change(mesh Mesh) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	snapshot := new(cache.Snapshot)
	set := func(t types.ResponseType, same bool, items []types.Resource) {
		if !same || s.changes == 1 {
			s.versions[t] = fmt.Sprint(s.changes)
		}
		snapshot.Resources[t] = cache.NewResources(s.versions[t], items)
	}
	var clusters, endpoints, listeners, routes []types.Resource
	for i := range mesh.Clusters {
		name := Name("cluster", i)
		clusters = append(clusters, &cluster.Cluster{Name: name, ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_EDS},
			EdsClusterConfig: &cluster.Cluster_EdsClusterConfig{EdsConfig: ads()}})
		first := 0
		if i == 0 {
			first = s.changes
		}
		endpoints = append(endpoints, &endpoint.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpoint.LocalityLbEndpoints{{LbEndpoints: mesh.hosts(first)}}})
	}
	clusters = append(clusters, &cluster.Cluster{Name: "passthrough", ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_ORIGINAL_DST}})
	for i := range mesh.Listeners {
		name := Name("route", i)
		one, err := routedListener(Name("listener", i), name)
		if err != nil {
			return err
		}
		listeners = append(listeners, one)
		routes = append(routes, &route.RouteConfiguration{Name: name})
	}
	set(types.Cluster, s.mesh.Clusters == mesh.Clusters, clusters)
	set(types.Endpoint, false, endpoints)
	set(types.Listener, s.mesh.Listeners == mesh.Listeners, listeners)
	set(types.Route, s.mesh.Listeners == mesh.Listeners, routes)
	s.mesh = mesh
	return s.cache.SetSnapshot(context.Background(), "all", snapshot)
}

// Name returns the i-th resource name that begins with the text of: cluster-3.test.svc.cluster.local.
func Name(of string, i int) string { return fmt.Sprintf("%s-%d.test.svc.cluster.local", of, i) }

func ads() *core.ConfigSource {
	return &core.ConfigSource{ResourceApiVersion: resource.DefaultAPIVersion, ConfigSourceSpecifier: &core.ConfigSource_Ads{Ads: &core.AggregatedConfigSource{}}}
}

func address(host string, port int) *core.Address {
	return &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{Address: host, PortSpecifier: &core.SocketAddress_PortValue{PortValue: uint32(port)}}}}
}

// hosts returns the endpoints of a cluster.
func (m Mesh) hosts(first int) (list []*endpoint.LbEndpoint) {
	for i := range m.Endpoints {
		one := &endpoint.Endpoint{Address: address(fmt.Sprintf("10.%d.%d.%d", (i+first)>>16&255, (i+first)>>8&255, (i+first)&255), 8080)}
		if i == 0 {
			one.Hostname = strings.Repeat("x", m.Bulk)
		}
		list = append(list, &endpoint.LbEndpoint{HostIdentifier: &endpoint.LbEndpoint_Endpoint{Endpoint: one}})
	}
	return list
}

// routedListener returns a listener that asks for its routes by name.
func routedListener(name, routes string) (*listener.Listener, error) {
	config, err := anypb.New(&manager.HttpConnectionManager{StatPrefix: "http", RouteSpecifier: &manager.HttpConnectionManager_Rds{
		Rds: &manager.Rds{ConfigSource: ads(), RouteConfigName: routes}}})
	if err != nil {
		return nil, err
	}
	filters := []*listener.Filter{{Name: "http", ConfigType: &listener.Filter_TypedConfig{TypedConfig: config}}}
	return &listener.Listener{Name: name, Address: address("0.0.0.0", 80), FilterChains: []*listener.FilterChain{{Filters: filters}}}, nil
}

// Environment variables of the Helper: the file that it watches, the number of streams that it serves at a time, and
// the port of its metrics.
const (
	FileVariable    = "XDSTEST_FILE"
	MostVariable    = "XDSTEST_MOST"
	MetricsVariable = "XDSTEST_METRICS"
)

// Helper runs a server in its own process, at the port TARE_PORT, with TLS if TARE_TLS_CERT is set. It pushes new
// endpoints whenever the file named by XDSTEST_FILE changes.
var Helper = testbed.Helper{Name: "xdstest", Run: func(ctx context.Context) error {
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+os.Getenv("TARE_PORT"))
	if err != nil {
		return err
	}
	mesh := Mesh{Clusters: 3, Endpoints: 2, Listeners: 1}
	most, _ := strconv.Atoi(os.Getenv(MostVariable)) // without the variable, 0: no limit
	options := Options{Most: most}
	if cert := os.Getenv("TARE_TLS_CERT"); cert != "" {
		if options.TLS, err = Serving([]byte(cert), []byte(os.Getenv("TARE_TLS_KEY")), false); err != nil {
			return err
		}
	}
	s, err := Start(on, mesh, options)
	if err != nil {
		return err
	}
	defer s.Stop()
	if port := os.Getenv(MetricsVariable); port != "" {
		metrics := &http.Server{Addr: ":" + port, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Fprintln(w, "go_memstats_heap_inuse_bytes", m.HeapInuse)
		})}
		go func() { _ = metrics.ListenAndServe() }()
		defer metrics.Close()
	}
	fmt.Println("listening")
	for last := ""; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(os.Getenv(FileVariable)) // the file may not exist yet
		if string(text) == last || len(text) == 0 {
			continue
		}
		last = string(text)
		if err := s.Change(mesh); err != nil {
			return err
		}
	}
	return nil
}}

// Certificate makes a self-signed certificate for 127.0.0.1 and its key, in PEM. Servers and clients can use it.
func Certificate() (cert, key []byte, err error) {
	at := service.ByPath{testbed.PodToPod: netip.MustParseAddrPort("127.0.0.1:0")}
	certificate, private, err := service.SelfSigned(at, x509.ExtKeyUsageClientAuth)
	return []byte(certificate), []byte(private), err
}

// Serving returns the TLS configuration of a server. With mutual = true, clients must present a certificate that the
// server's key has signed.
func Serving(cert, key []byte, mutual bool) (*tls.Config, error) {
	c, err := service.ServerTLS(string(cert), string(key))
	if err == nil && mutual {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		c.ClientCAs.AppendCertsFromPEM(cert)
	}
	return c, err
}
