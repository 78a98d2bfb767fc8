// Package xdstest is an xDS server for tests and benchmarks of simulated sidecars: that of
// go-control-plane, with clusters, endpoints, listeners and routes in numbers that one chooses. It
// is in no program of Tare's.
package xdstest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"

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
)

// Mesh is what the server tells sidecars.
type Mesh struct {
	Clusters  int // whose endpoints are asked for by name, and one whose are not
	Endpoints int // of each
	Listeners int // with routes that are asked for by name
	Bulk      int // bytes that the endpoints of each cluster have more
}

// Options are how the server behaves.
type Options struct {
	TLS    *tls.Config
	Token  string // that streams must show; "": none
	Refuse int    // so many streams are refused before the first that is served
	Most   int    // so many streams are served at a time, the others refused; 0: all
	Record bool   // Requests are kept
}

// Server is one that is up.
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
	served   int // streams
	requests []Request
}

// Request is one that a sidecar has sent.
type Request struct {
	SotW  *discovery.DiscoveryRequest
	Delta *discovery.DeltaDiscoveryRequest
}

// Start starts a server on a listener.
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

// Stop ends the server and its connections.
func (s *Server) Stop() {
	s.stop()
	s.grpc.Stop()
}

// alike has all sidecars get the same.
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

// Requests are those that came so far, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// admit refuses streams as the options say.
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

// Change changes what sidecars are told, and pushes it. What is as before keeps its version; the endpoints of
// the first cluster never are.
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
		one, err := listens(Name("listener", i), name)
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

// Name is that of a resource.
func Name(of string, i int) string { return fmt.Sprintf("%s-%d.test.svc.cluster.local", of, i) }

func ads() *core.ConfigSource {
	return &core.ConfigSource{ResourceApiVersion: resource.DefaultAPIVersion, ConfigSourceSpecifier: &core.ConfigSource_Ads{Ads: &core.AggregatedConfigSource{}}}
}

func address(host string, port int) *core.Address {
	return &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{Address: host, PortSpecifier: &core.SocketAddress_PortValue{PortValue: uint32(port)}}}}
}

// hosts are the endpoints of a cluster.
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

// listens is a listener that asks for routes by name.
func listens(name, routes string) (*listener.Listener, error) {
	config, err := anypb.New(&manager.HttpConnectionManager{StatPrefix: "http", RouteSpecifier: &manager.HttpConnectionManager_Rds{
		Rds: &manager.Rds{ConfigSource: ads(), RouteConfigName: routes}}})
	if err != nil {
		return nil, err
	}
	filters := []*listener.Filter{{Name: "http", ConfigType: &listener.Filter_TypedConfig{TypedConfig: config}}}
	return &listener.Listener{Name: name, Address: address("0.0.0.0", 80), FilterChains: []*listener.FilterChain{{Filters: filters}}}, nil
}
