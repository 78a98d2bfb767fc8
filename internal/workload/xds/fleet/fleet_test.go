package fleet_test

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/test/fit"
	"tare/internal/workload/xds/fleet"
	"tare/internal/workload/xds/sidecar"
	"tare/internal/workload/xds/xdstest"
)

var mesh = xdstest.Mesh{Clusters: 3, Endpoints: 2, Listeners: 1}

func serve(t *testing.T, o xdstest.Options) *xdstest.Server {
	t.Helper()
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := xdstest.Start(on, mesh, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func obey(t *testing.T, f *fleet.Fleet, o fleet.Request) *fleet.Response {
	t.Helper()
	a, err := f.Handle(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// done waits for the end of the fleet's stage.
func done(t *testing.T, f *fleet.Fleet) *fleet.Report {
	t.Helper()
	a := obey(t, f, fleet.Request{Look: &fleet.Look{For: time.Hour, Final: true}})
	if !a.Done {
		t.Fatalf("not done: %+v", a.Report)
	}
	return a.Report
}

func open(t *testing.T, s *xdstest.Server, n int) *fleet.Fleet {
	t.Helper()
	f := fleet.New(t.Context())
	obey(t, f, fleet.Request{Open: &fleet.Open{Server: s.Address, Protocol: sidecar.Delta, Sidecars: n, First: 1, Fleets: 2, LeastWait: time.Millisecond,
		Node: sidecar.Node{ID: "sidecar~$(TARE_IP)~a-$(TARE_INDEX).b~b", Metadata: json.RawMessage(`{"IPS": "$(TARE_IP)"}`)}}})
	return f
}

// Sidecars connect, receive a push, disconnect and reconnect; each does so once.
func TestStages(t *testing.T) {
	const n = 40
	s := serve(t, xdstest.Options{Record: true})
	f := open(t, s, n)
	up := &fleet.Ramp{Count: n, Rate: 1000, Phase: 0.5}
	obey(t, f, fleet.Request{Up: up})
	r := done(t, f)
	if r.Expected != n || len(r.Times) != n || len(r.Lags) != n || r.Attempts != n || r.Responses != 4*n || r.Last < 39*time.Millisecond || len(r.Errors) > 0 {
		t.Errorf("%+v", r)
	}
	obey(t, f, fleet.Request{Push: &fleet.Push{Since: time.Now(), Types: []sidecar.Type{sidecar.EDS}}})
	if a := obey(t, f, fleet.Request{Look: &fleet.Look{}}); a.Done || a.Report != nil {
		t.Errorf("before the change: %+v", a)
	}
	if err := s.Change(mesh); err != nil {
		t.Fatal(err)
	}
	if r := done(t, f); r.Expected != n || len(r.Times) != n || r.Responses != n || r.Bytes == 0 || r.Attempts != 0 {
		t.Errorf("%+v", r)
	}
	obey(t, f, fleet.Request{Down: &fleet.Ramp{Count: 10, Rate: 1000}})
	if r := done(t, f); r.Expected != 10 || len(r.Times) != 10 || len(r.Errors) > 0 {
		t.Errorf("%+v", r)
	}
	obey(t, f, fleet.Request{Push: &fleet.Push{Since: time.Now()}})
	if err := s.Change(mesh); err != nil {
		t.Fatal(err)
	}
	if r := done(t, f); r.Expected != n-10 || len(r.Times) != n-10 {
		t.Errorf("with some away: %+v", r)
	}
	obey(t, f, fleet.Request{Up: &fleet.Ramp{Count: 10, Rate: 1000}})
	if r := done(t, f); r.Expected != 10 || len(r.Times) != 10 || r.Attempts != 10 {
		t.Errorf("%+v", r)
	}
	var ids []string
	for _, r := range s.Requests() {
		if node := r.Delta.GetNode(); len(r.Delta.ResourceNamesSubscribe) == 0 && r.Delta.ResponseNonce == "" && strings.HasSuffix(r.Delta.TypeUrl, "Cluster") {
			ids = append(ids, node.Id+" "+node.Metadata.Fields["IPS"].GetStringValue())
		}
	}
	if len(ids) != n+10 {
		t.Errorf("%d streams", len(ids))
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) != n || !slices.Contains(ids, "sidecar~10.1.0.2~a-2.b~b 10.1.0.2") || !slices.Contains(ids, fmt.Sprintf("sidecar~10.1.0.%d~a-%[1]d.b~b 10.1.0.%[1]d", 2*n)) {
		t.Errorf("%d sidecars %q", len(ids), ids)
	}
}

// Refused sidecars reconnect, and their time still counts from the first due time.
func TestRefused(t *testing.T) {
	const n, refused = 20, 15
	f := open(t, serve(t, xdstest.Options{Refuse: refused}), n)
	obey(t, f, fleet.Request{Up: &fleet.Ramp{Count: n, Rate: 1000}})
	if r := done(t, f); len(r.Times) != n || r.Attempts != n+refused || r.Errors[sidecar.Limited] != refused || !strings.HasPrefix(r.Examples[sidecar.Limited], "request rate limit exceeded") {
		t.Errorf("%+v", r)
	}
}

// After a server ends, its sidecars are no longer ready, and the report has the reason.
func TestLost(t *testing.T) {
	s := serve(t, xdstest.Options{})
	f := open(t, s, 5)
	obey(t, f, fleet.Request{Up: &fleet.Ramp{Count: 5, Rate: 1000}})
	done(t, f)
	s.Stop()
	fit.Await(t, "how the streams ended, and then that nobody is there", func() bool {
		r := obey(t, f, fleet.Request{Look: &fleet.Look{For: time.Millisecond}}).Report
		return r.Errors[sidecar.Dial] >= 5 && len(r.Errors) > 1 && r.Lost == 5
	})
	obey(t, f, fleet.Request{Push: &fleet.Push{Since: time.Now()}})
	if r := done(t, f); r.Expected != 0 || r.Lost != 5 {
		t.Errorf("later: %+v", r)
	}
}

func TestProblems(t *testing.T) {
	f := fleet.New(t.Context())
	node := sidecar.Node{ID: "a"}
	for _, c := range []struct {
		order fleet.Request
		want  string
	}{
		{fleet.Request{Up: &fleet.Ramp{Count: 1, Rate: 1}}, "1 of 0 sidecars at 1/s"},
		{fleet.Request{Open: &fleet.Open{Server: "nowhere", Node: node}}, "address nowhere: missing port in address"},
		{fleet.Request{Open: &fleet.Open{Server: "127.0.0.1:1", Node: sidecar.Node{Metadata: json.RawMessage("[]")}}}, "the metadata of the node"},
		{fleet.Request{Open: &fleet.Open{Server: "127.0.0.1:1", Node: node, TLS: &fleet.TLS{CA: "x"}}}, "ca contains no certificate in PEM"},
		{fleet.Request{Open: &fleet.Open{Server: "127.0.0.1:1", Node: node, TLS: &fleet.TLS{Cert: "x"}}}, "the sidecars' certificate: "},
	} {
		if _, err := f.Handle(t.Context(), c.order); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
