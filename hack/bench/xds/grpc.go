package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"tare/internal/workload/http/pause"
	"tare/internal/workload/xds/xdstest"
)

// grpcs are sidecars of grpc-go: a client connection for each, with buffers as small as they can be. They
// know what the server's resources are called, and read none of them.
type grpcs struct {
	task    task
	options []grpc.DialOption
	ready   sync.WaitGroup
	pushed  sync.WaitGroup
	waiting atomic.Bool
	failed  atomic.Int64
}

func theirs(t task) (sidecars, error) {
	security := insecure.NewCredentials()
	if t.Cert != nil {
		trust := x509.NewCertPool()
		trust.AppendCertsFromPEM(t.Cert)
		host, _, err := net.SplitHostPort(t.Server)
		if err != nil {
			return nil, err
		}
		security = credentials.NewTLS(&tls.Config{RootCAs: trust, ServerName: host, MinVersion: tls.VersionTLS12})
	}
	return &grpcs{task: t, options: []grpc.DialOption{grpc.WithTransportCredentials(security), grpc.WithReadBufferSize(512), grpc.WithWriteBufferSize(512),
		grpc.WithSharedWriteBuffer(true), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)), grpc.WithIdleTimeout(0), grpc.WithDisableServiceConfig()}}, nil
}

func (g *grpcs) up() (time.Duration, int, error) {
	begun := time.Now()
	g.ready.Add(g.task.Sidecars)
	for i := range g.task.Sidecars {
		pause.For(time.Duration(float64(i)/g.task.Rate*float64(time.Second)) - time.Since(begun))
		go g.live(i)
	}
	g.ready.Wait()
	return time.Since(begun), int(g.failed.Load()), nil
}

func (g *grpcs) push() (func() error, error) {
	g.pushed.Add(g.task.Sidecars)
	g.waiting.Store(true)
	return func() error { g.pushed.Wait(); return nil }, nil
}

// live is one sidecar: it connects until it can, and stays.
func (g *grpcs) live(i int) {
	for {
		if err := g.stream(i); err != nil {
			g.failed.Add(1)
			time.Sleep(250 * time.Millisecond)
		}
	}
}

func (g *grpcs) stream(i int) error {
	conn, err := grpc.NewClient("passthrough:///"+g.task.Server, g.options...)
	if err != nil {
		return err
	}
	defer conn.Close()
	s, err := discovery.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(context.Background())
	if err != nil {
		return err
	}
	text := node()
	fill := strings.NewReplacer("$(TARE_INDEX)", strconv.Itoa(i+1), "$(TARE_IP)", "10.1."+strconv.Itoa(i/250)+"."+strconv.Itoa(1+i%250))
	encoded, err := text.Encode(fill)
	if err != nil {
		return err
	}
	who := new(core.Node)
	if err := proto.Unmarshal(encoded, who); err != nil {
		return err
	}
	if err := s.Send(&discovery.DeltaDiscoveryRequest{Node: who, TypeUrl: resource.ClusterType}); err != nil {
		return err
	}
	next := map[string]*discovery.DeltaDiscoveryRequest{
		resource.ClusterType:  {TypeUrl: resource.EndpointType, ResourceNamesSubscribe: named("cluster", g.task.Mesh.Clusters)},
		resource.EndpointType: {TypeUrl: resource.ListenerType},
		resource.ListenerType: {TypeUrl: resource.RouteType, ResourceNamesSubscribe: named("route", g.task.Mesh.Listeners)},
	}
	for ready, pushed := false, false; ; {
		m, err := s.Recv()
		if err != nil {
			return err
		}
		if m.TypeUrl == resource.RouteType && !ready {
			ready, next = true, nil
			g.ready.Done()
		} else if ready && g.waiting.Load() && !pushed {
			pushed = true
			g.pushed.Done()
		}
		if err := s.Send(&discovery.DeltaDiscoveryRequest{TypeUrl: m.TypeUrl, ResponseNonce: m.Nonce}); err != nil {
			return err
		}
		if r := next[m.TypeUrl]; r != nil {
			if err := s.Send(r); err != nil {
				return err
			}
		}
	}
}

// named are the names of the server's resources.
func named(of string, n int) (names []string) {
	for i := range n {
		names = append(names, xdstest.Name(of, i))
	}
	return names
}
