package sidecar

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	grpccodes "google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

func packed(t testing.TB, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// framed returns a message with its gRPC prefix.
func framed(t testing.TB, m proto.Message) []byte {
	t.Helper()
	text, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text))), text...)
}

// clusters are two clusters with endpoints by EDS, one of them under another name, and one cluster without.
func clusters(t testing.TB) []*anypb.Any {
	eds := &cluster.Cluster_Type{Type: cluster.Cluster_EDS}
	return []*anypb.Any{
		packed(t, &cluster.Cluster{Name: "b", ClusterDiscoveryType: eds, AltStatName: strings.Repeat("x", 700)}),
		packed(t, &cluster.Cluster{Name: "a", ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_STATIC}}),
		packed(t, &cluster.Cluster{Name: "c", ClusterDiscoveryType: eds, EdsClusterConfig: &cluster.Cluster_EdsClusterConfig{ServiceName: "by another name"}}),
	}
}

// chain is a filter chain that asks for routes by name.
func chain(t testing.TB, routes string) *listener.FilterChain {
	http := packed(t, &hcm.HttpConnectionManager{RouteSpecifier: &hcm.HttpConnectionManager_Rds{Rds: &hcm.Rds{RouteConfigName: routes}}})
	return &listener.FilterChain{Filters: []*listener.Filter{
		{Name: "other", ConfigType: &listener.Filter_TypedConfig{TypedConfig: packed(t, &core.Node{Id: "x"})}},
		{Name: "http", ConfigType: &listener.Filter_TypedConfig{TypedConfig: http}},
	}}
}

func listeners(t testing.TB) []*anypb.Any {
	api := packed(t, &hcm.HttpConnectionManager{RouteSpecifier: &hcm.HttpConnectionManager_Rds{Rds: &hcm.Rds{RouteConfigName: "of an API"}}})
	return []*anypb.Any{
		packed(t, &listener.Listener{Name: "l", FilterChains: []*listener.FilterChain{chain(t, "one"), chain(t, "two")}, DefaultFilterChain: chain(t, "by default")}),
		packed(t, &listener.Listener{Name: "m", ApiListener: &listener.ApiListener{ApiListener: api}}),
	}
}

// wrappedAll wraps resources as a delta response does.
func wrappedAll(all []*anypb.Any) (list []*discovery.Resource) {
	for i, a := range all {
		list = append(list, &discovery.Resource{Name: fmt.Sprint("name ", i), Version: strings.Repeat("v", 100*i), Resource: a})
	}
	return list
}

// pieces is a reader that returns at most size bytes at a time.
type pieces struct {
	io.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.size)]) }

// read parses a stream that arrives in pieces of a given size, and returns a short text for each message.
func read(stream []byte, delta bool, piece int) (texts []string, err error) {
	m := incoming{in: bufio.NewReaderSize(pieces{bytes.NewReader(stream), piece}, 16), delta: delta}
	for err == nil {
		err = m.next(func(w *response, size int) error {
			texts = append(texts, fmt.Sprintf("%d %q %q %d %q -%q %v", typed(w.url), w.version, w.nonce, size, w.names, w.removed, w.wrong))
			return nil
		})
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return texts, err
}

func TestIncoming(t *testing.T) {
	large := packed(t, &endpoint.ClusterLoadAssignment{ClusterName: strings.Repeat("large", 20000)})
	sotw := []proto.Message{
		&discovery.DiscoveryResponse{VersionInfo: "1", Nonce: "n1", TypeUrl: urls[CDS], Resources: clusters(t), Canary: true, ControlPlane: &core.ControlPlane{Identifier: "me"}},
		&discovery.DiscoveryResponse{VersionInfo: "2", Nonce: "n2", TypeUrl: urls[EDS], Resources: []*anypb.Any{large, large}},
		&discovery.DiscoveryResponse{VersionInfo: "3", Nonce: "n3", TypeUrl: urls[lds], Resources: listeners(t)},
		&discovery.DiscoveryResponse{TypeUrl: "type.googleapis.com/other"},
		&discovery.DiscoveryResponse{},
	}
	delta := []proto.Message{
		&discovery.DeltaDiscoveryResponse{SystemVersionInfo: "1", Nonce: "n1", TypeUrl: urls[CDS], Resources: wrappedAll(clusters(t)), RemovedResources: []string{"x", "y"}},
		&discovery.DeltaDiscoveryResponse{Nonce: "n2", TypeUrl: urls[EDS], Resources: wrappedAll([]*anypb.Any{large})},
		&discovery.DeltaDiscoveryResponse{Nonce: "n3", TypeUrl: urls[lds], Resources: wrappedAll(listeners(t))},
	}
	for _, c := range []struct {
		delta    bool
		messages []proto.Message
		want     []string
	}{
		{false, sotw, []string{
			`0 "1" "n1" SIZE ["b" "by another name"] -[] <nil>`, `1 "2" "n2" SIZE [] -[] <nil>`, `2 "3" "n3" SIZE ["one" "two" "by default" "of an API"] -[] <nil>`,
			`4 "" "" SIZE [] -[] <nil>`, `4 "" "" SIZE [] -[] <nil>`}},
		{true, delta, []string{
			`0 "1" "n1" SIZE ["b" "by another name"] -["x" "y"] <nil>`, `1 "" "n2" SIZE [] -[] <nil>`, `2 "" "n3" SIZE ["one" "two" "by default" "of an API"] -[] <nil>`}},
	} {
		var stream []byte
		var want []string
		for i, m := range c.messages {
			stream = append(stream, framed(t, m)...)
			want = append(want, strings.Replace(c.want[i], "SIZE", fmt.Sprint(proto.Size(m)), 1))
		}
		for _, piece := range []int{1, 2, 3, 7, 512, 4096, len(stream)} {
			got, err := read(stream, c.delta, piece)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("delta %v, in pieces of %d: %v\n%s", c.delta, piece, err, diff)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	message := func(b ...byte) []byte { return append([]byte{0, 0, 0, 0, byte(len(b))}, b...) }
	for _, c := range []struct {
		stream []byte
		want   string
	}{
		{[]byte{1, 0, 0, 0, 0}, "protocol: a compressed message, which was not offered"},
		{message(0x0a), "protocol: a message that ends within a field"},
		{message(0x0a, 5, 'a'), "protocol: a field longer than its message"},
		{message(0x0b), "protocol: a field of the unknown kind 3"},
		{message(0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), "protocol: a number of more than ten bytes"},
	} {
		if _, err := read(c.stream, false, 100); err == nil || err.Error() != c.want {
			t.Errorf("%x: %v, want %s", c.stream, err, c.want)
		}
	}
}

// FuzzIncoming checks that any input gives the same result in one piece and byte by byte.
func FuzzIncoming(f *testing.F) {
	f.Add(framed(f, &discovery.DiscoveryResponse{VersionInfo: "1", TypeUrl: urls[CDS], Resources: clusters(f)}), false)
	f.Add(framed(f, &discovery.DeltaDiscoveryResponse{Nonce: "1", TypeUrl: urls[lds], Resources: wrappedAll(listeners(f)), RemovedResources: []string{"a"}}), true)
	f.Fuzz(func(t *testing.T, stream []byte, delta bool) {
		whole, err := read(stream, delta, max(len(stream), 1))
		bytes, e := read(stream, delta, 1)
		if diff := cmp.Diff(whole, bytes); diff != "" || fmt.Sprint(err) != fmt.Sprint(e) {
			t.Errorf("%v, %v\n%s", err, e, diff)
		}
	})
}

func TestRequests(t *testing.T) {
	node, err := Node{ID: "$(A)-id", Cluster: "c", Metadata: []byte(`{"A": "$(A)", "N": 1.5, "T": true, "Z": null, "L": ["x", {"y": 2}], "O": {}}`)}.Encode(strings.NewReplacer("$(A)", "one"))
	if err != nil {
		t.Fatal(err)
	}
	metadata, err := structpb.NewStruct(map[string]any{"A": "one", "N": 1.5, "T": true, "Z": nil, "L": []any{"x", map[string]any{"y": 2}}, "O": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	who := &core.Node{Id: "one-id", Cluster: "c", Metadata: metadata, UserAgentName: "tare"}
	r := request{of: EDS, node: node, names: []string{"a", "b"}, gone: []string{"c"}, version: "v"}
	no := request{of: EDS, names: []string{"a"}, version: "v", nonce: "n", wrong: errBroken}
	rejected := grpcstatus.New(grpccodes.InvalidArgument, "a resource that cannot be read").Proto()
	for _, c := range []struct {
		r         request
		delta     bool
		got, want proto.Message
	}{
		{r, false, new(discovery.DiscoveryRequest), &discovery.DiscoveryRequest{Node: who, TypeUrl: urls[EDS], ResourceNames: []string{"a", "b"}, VersionInfo: "v"}},
		{r, true, new(discovery.DeltaDiscoveryRequest), &discovery.DeltaDiscoveryRequest{Node: who, TypeUrl: urls[EDS], ResourceNamesSubscribe: []string{"a", "b"}, ResourceNamesUnsubscribe: []string{"c"}}},
		{no, false, new(discovery.DiscoveryRequest), &discovery.DiscoveryRequest{TypeUrl: urls[EDS], ResourceNames: []string{"a"}, VersionInfo: "v", ResponseNonce: "n", ErrorDetail: rejected}},
		{no, true, new(discovery.DeltaDiscoveryRequest), &discovery.DeltaDiscoveryRequest{TypeUrl: urls[EDS], ResponseNonce: "n", ErrorDetail: rejected}},
	} {
		if err := proto.Unmarshal(c.r.append(nil, c.delta), c.got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, c.got, protocmp.Transform()); diff != "" {
			t.Errorf("delta %v: -want +got\n%s", c.delta, diff)
		}
	}
}

func TestNames(t *testing.T) {
	a, b := newNames([]string{"b", "a", "b"}), newNames([]string{"a", "b"})
	if a != b || a == (names{}) || newNames(nil) != (names{}) {
		t.Errorf("%v, %v", a, b)
	}
	if diff := cmp.Diff([]string{"a", "b"}, a.list()); diff != "" {
		t.Error(diff)
	}
	if got := difference([]string{"a", "b", "c"}, []string{"b"}); fmt.Sprint(got) != "[a c]" {
		t.Error(got)
	}
}
