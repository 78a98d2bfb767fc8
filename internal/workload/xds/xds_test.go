package xds

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/experiment/environ"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer/xdstransport"
	"tare/internal/test/fit"
	"tare/internal/test/slow"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/service"
	"tare/internal/workload/staircase"
	"tare/internal/workload/workloadtest"
	"tare/internal/workload/xds/fleet"
	"tare/internal/workload/xds/istiod"
	"tare/internal/workload/xds/sidecar"
	"tare/internal/workload/xds/xdstest"
)

func TestMain(m *testing.M) {
	localtest.Main(m, append(slices.Clone(Kind.Helpers), xdstest.Helper)...)
}

// served is a workload with a go-control-plane server, whose endpoints change when a file changes.
func served(t *testing.T) *Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "change")
	c := New().(*Config)
	c.Server = &service.Config{Run: []string{testbed.Self}, Env: environ.Variables{testbed.HelperVariable: xdstest.Helper.Name, xdstest.FileVariable: file}}
	c.Sidecars, c.Rate, c.Settle = factor.Of(30), factor.Of(quantity.Frequency(500)), 0
	c.Late = quantity.Duration(time.Hour)
	c.Change = &change{Run: []string{"sh", "-c", `printf %s "$TARE_CHANGE" > ` + file + ".new && mv " + file + ".new " + file}, Times: 2, Every: 1, Push: []resource{"eds"}}
	if errs := c.validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	return c
}

// try runs a trial, and then its Clear.
func try(t *testing.T, c *Config, site testbed.Site, up workload.Server) (workload.Result, error, *workloadtest.Raw) {
	t.Helper()
	raw := new(workloadtest.Raw)
	trial := &workload.Trial{Site: site, Raw: raw, Round: 1, Standing: up}
	r, err := workloadtest.Run(t.Context(), c, trial)
	if err := trial.Clear(t.Context()); err != nil {
		t.Error(err)
	}
	return r, err, raw
}

func setUp(t *testing.T, c *Config, site testbed.Site) workload.Server {
	t.Helper()
	up, err := c.SetUp(t.Context(), workload.SetUp{Site: site})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Down(context.Background()) })
	return up
}

// complete fails the test if a metric of the trial is missing.
func complete(t *testing.T, c *Config, r workload.Result) {
	t.Helper()
	var want []string
	for _, m := range c.Measures().Metrics {
		want = append(want, m.Name)
		if v := r.Values[m.Name]; m.Scale == "ratio" && !(v > 0) {
			t.Errorf("%s is %v", m.Name, v)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(r.Values))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, part := range c.Measures().Cost.Parts {
		if u, ok := r.Used[part]; !ok || u.CPU() <= 0 || u.MaxRSS <= 0 {
			t.Errorf("%s has used %+v", part, u)
		}
	}
	if int(r.Work) != c.measured() || r.Failed != 0 || r.Sent == 0 {
		t.Errorf("%v done, %v failed, %d bytes", r.Work, r.Failed, r.Sent)
	}
}

// Sidecars in one network namespace connect to a server in another, and every sidecar receives each change.
func TestTrial(t *testing.T) {
	site := localtest.Network(t, 0, 1500)
	c := served(t)
	c.Clients = factor.Of(2)
	up := setUp(t, c, site)
	for _, p := range []sidecar.Protocol{sidecar.Delta, sidecar.SotW} {
		for _, path := range []testbed.Path{testbed.PodToPod, testbed.PodToService} {
			c.Protocol, c.Paths = factor.Of(p), factor.Of(path)
			r, err, raw := try(t, c, site, up)
			if err != nil {
				t.Fatalf("%s, %s: %v", p, path, err)
			}
			complete(t, c, r)
			if diff := cmp.Diff([]string{"server.log", "sidecars.json"}, raw.Names()); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// pods is a site whose places are not on this machine.
type pods struct{ testbed.Site }

func (p pods) Unwrap() testbed.Site { return p.Site }

func (pods) Self(where testbed.Place) string {
	if where == testbed.Host {
		return ""
	}
	return testbed.Self
}

// In pods, requests go over a socket, and the clocks are compared.
func TestPods(t *testing.T) {
	site := pods{localtest.Network(t, 0, 1500)}
	c := served(t)
	c.Clients = factor.Of(2)
	r, err, _ := try(t, c, site, setUp(t, c, site))
	if err != nil {
		t.Fatal(err)
	}
	complete(t, c, r)
}

// Layers at the site make sidecars encrypt, and use the other protocol.
func TestTransport(t *testing.T) {
	for _, test := range []struct {
		set        xdstransport.Config
		connection string
	}{
		{xdstransport.Config{}, "delta, in clear"},
		{xdstransport.Config{Protocol: factor.Of(sidecar.SotW)}, "sotw, in clear"},
		{xdstransport.Config{Security: factor.Of(xdstransport.TLS)}, "delta, TLS 1.3, TLS_"},
	} {
		site := testbed.Holding(localtest.Network(t, 0, 1500), &test.set)
		c := served(t)
		c.Clients, c.Paths = factor.Of(2), factor.Of(testbed.PodToService)
		r, err, _ := try(t, c, site, setUp(t, c, site))
		if err != nil {
			t.Fatalf("%s: %v", test.connection, err)
		}
		complete(t, c, r)
		if seen := r.Connections; len(seen) != 1 || !strings.HasPrefix(seen[0], test.connection) {
			t.Errorf("%q; want %q", seen, test.connection)
		}
	}
}

// If the server is at an address, a layer cannot make the server encrypt.
func TestTransportElsewhere(t *testing.T) {
	c := New().(*Config)
	c.Address = "127.0.0.1:1"
	site := testbed.Holding(localtest.Host(t), &xdstransport.Config{Security: factor.Of(xdstransport.TLS)})
	if _, err := c.SetUp(t.Context(), workload.SetUp{Site: site}); err == nil || !strings.Contains(err.Error(), "at an address") {
		t.Error(err)
	}
}

// With churn, a share of the sidecars disconnects and reconnects, and only their reconnecting is measured.
func TestChurn(t *testing.T) {
	site := localtest.Network(t, 0, 1500)
	c := served(t)
	c.Churn, c.Metrics = factor.Of(quantity.Percent(0.25)), 15014
	c.Server.Env[xdstest.MetricsVariable] = "15014"
	r, err, raw := try(t, c, site, setUp(t, c, site))
	if err != nil {
		t.Fatal(err)
	}
	complete(t, c, r)
	var stages []stage
	raw.JSON(t, "sidecars.json", &stages)
	var got []string
	for _, s := range stages {
		_, expected, _ := s.sum()
		got = append(got, fmt.Sprintf("%s %d", s.Name, expected))
	}
	if diff := cmp.Diff([]string{"before 30", "down 8", "up 8", "change-1 30", "change-2 30"}, got); diff != "" {
		t.Error(diff)
	}
}

// istiod serves its services and one endpoint for each sidecar, in clear and over TLS. Two istiods of different
// services run beside each other.
func TestIstiod(t *testing.T) {
	slow.Test(t)
	if _, err := testbed.Installed("pilot-discovery", "istiod"); err != nil {
		t.Skip(err)
	}
	for _, security := range []xdstransport.Security{xdstransport.Plaintext, xdstransport.TLS} {
		site := localtest.Network(t, 0, 1500)
		held := testbed.Holding(site, &xdstransport.Config{Security: factor.Of(security)})
		var bytes []float64
		for i, services := range []int{1, 20} {
			c := New().(*Config)
			c.Istiod, c.Change = &istiod.Config{Services: factor.Of(services)}, &change{Times: 2, Every: 1}
			c.Sidecars, c.Rate, c.Settle, c.Late = factor.Of(10), factor.Of(quantity.Frequency(500)), 0, quantity.Duration(time.Hour)
			c.fill(func(string) bool { return false })
			up, err := c.SetUp(t.Context(), workload.SetUp{Site: held, Number: i})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = up.Down(context.Background()) })
			r, err, _ := try(t, c, held, up)
			if err != nil {
				t.Fatal(err)
			}
			complete(t, c, r)
			if on := r.Connections; len(on) != 1 || strings.Contains(on[0], "TLS") != (security == xdstransport.TLS) {
				t.Errorf("%s: sidecars connected on %v", security, on)
			}
			bytes = append(bytes, r.Values[sidecarBytes])
		}
		if bytes[1] < 2*bytes[0] {
			t.Errorf("a sidecar got %.0f bytes with one service and %.0f with 20", bytes[0], bytes[1])
		}
	}
}

// A server refuses all sidecars beyond a number, and a search finds this number. The record has the configuration
// of each try.
func TestRealTimeCapacity(t *testing.T) {
	m := fit.Machine(t)
	site := localtest.Network(t, 0, 1500)
	c := served(t)
	c.Server.Env[xdstest.MostVariable] = "40"
	c.Clients, c.Sidecars, c.Change.Times, c.Settle = factor.Of(2), factor.Of(20), 1, quantity.Duration(50*time.Millisecond)
	c.Objective = &Objective{Ready: in(2 * time.Second), Push: in(10 * time.Second)}
	configured := filepath.Join(t.TempDir(), "configured")
	c.Configure = []string{"sh", "-c", `echo "$TARE_SIDECARS" >>` + configured}
	if errs := c.validate(); len(errs) > 0 {
		m.Fatal(errs)
	}
	r, err, raw := try(t, c, site, setUp(t, c, site))
	if err != nil {
		m.Fatal(err)
	}
	found := r.Values[capacity]
	if found < 34 || found > 46 || r.Values[readyBeyond] < 0.85 || r.Values[readyBeyond] > 1.2 {
		m.Errorf("found %v; beyond it %v are ready", found, r.Values[readyBeyond])
	}
	var search staircase.Record[tryRecord]
	raw.JSON(t, "search.json", &search)
	var want string
	for _, x := range search.Tries {
		want += fmt.Sprintln(x.Sidecars)
		if carried := x.Why == ""; carried && (x.Sidecars > 40 || x.Push <= 0) || x.Memory <= 0 || x.CPU <= 0 {
			m.Errorf("%+v", x)
		}
	}
	if text, err := os.ReadFile(configured); err != nil || string(text) != want {
		m.Errorf("%v, configured:\n%swant\n%s", err, text, want)
	}
	for _, part := range []string{"client", "server"} {
		if u := r.Used[part]; u.CPU() <= 0 || u.MaxRSS <= 0 {
			m.Errorf("%s has used %+v", part, u)
		}
	}
	if usual := search.Tries[0]; usual.Sidecars != 20 || r.Work != 20 || r.Values[readyLast] != usual.Took || usual.P99 <= 0 || usual.P99 > usual.Took {
		m.Errorf("the cost is that of %v sidecars, of %+v", r.Work, usual)
	}
	if search.Tries[1].Sidecars != int(math.Round(search.Began)) || search.Began < 14 || search.Began > 28.5 {
		m.Errorf("it begins with %v", search.Began)
	}
}

// in is an objective's time limit for all sidecars.
func in(d time.Duration) Within { return Within{Within: quantity.Duration(d)} }

// An objective may demand the time limit of a share of the sidecars only.
func TestShare(t *testing.T) {
	of := in(5 * time.Second)
	of.Share = 0.999
	for _, x := range []struct {
		w       Within
		kept, n int
		want    bool
	}{{in(1), 1000, 1000, true}, {in(1), 999, 1000, false}, {of, 999, 1000, true}, {of, 998, 1000, false}, {of, 99, 100, false}, {of, 1998, 2000, true}} {
		if got := x.w.kept(x.kept, x.n); got != x.want {
			t.Errorf("%d of %d at %v: %v", x.kept, x.n, x.w, got)
		}
	}
	if got := (&Objective{Ready: of, Push: in(2 * time.Second)}).String(); got != "ready of 99.9 % ≤ 5 s, push ≤ 2 s" {
		t.Error(got)
	}
}

// A trial is invalid if its search does not end, if a change reaches no sidecar, or if the configuration fails.
func TestCapacityBroken(t *testing.T) {
	site := localtest.Network(t, 0, 1500)
	c := served(t)
	c.Sidecars = factor.Of(4)
	up := setUp(t, c, site)
	for _, x := range []struct {
		objective Objective
		change    string
		configure []string
		want      string
	}{
		{Objective{Ready: in(time.Hour), Push: in(time.Hour), Most: 8}, "", nil, "rate: the search for the capacity: all were carried, up to 8 sidecars"},
		{Objective{Ready: in(time.Hour), Push: in(50 * time.Millisecond)}, "true", nil, "rate: the search for the capacity: none was carried, down to 1 sidecars"},
		{Objective{Ready: in(time.Hour), Push: in(time.Hour)}, "", []string{"sh", "-c", "exit 3"}, "exit-status: the configuration: sh -c 'exit 3': exit status 3"},
	} {
		one, how := *c, *c.Change
		one.Objective, one.Change, one.Configure = &x.objective, &how, x.configure
		if x.change != "" {
			how.Run = []string{x.change}
		}
		_, err, raw := try(t, &one, site, up)
		if err == nil || err.Error() != x.want || !slices.Contains(raw.Names(), "search.json") {
			t.Errorf("%v, %v\nwant %s", err, raw.Names(), x.want)
		}
	}
}

// Each failure breaks a rule, whose message names the failure.
func TestRealTimeBroken(t *testing.T) {
	m := fit.Machine(t)
	site := localtest.Network(t, 0, 1500)
	c := served(t)
	up := setUp(t, c, site)
	c.Ready = quantity.Duration(200 * time.Millisecond)
	with := func(change func(*Config)) *Config {
		one := *c
		how := *c.Change
		one.Change = &how
		change(&one)
		return &one
	}
	down := setUp(t, c, localtest.Network(t, 0, 1500))
	if err := down.Down(t.Context()); err != nil {
		m.Fatal(err)
	}
	for _, x := range []struct {
		c    *Config
		up   workload.Server
		want string
	}{
		{with(func(c *Config) { c.Change.Run = []string{"sh", "-c", "echo no >&2; exit 3"} }), up, "exit-status: the change: sh -c 'echo no >&2; exit 3': exit status 3: no"},
		{with(func(c *Config) { c.TLS = &tls{} }), up, "errors: no sidecar was ready 200ms after the last was due: 30 of 30 (tls "},
		{with(func(c *Config) { c.Metrics, c.Ready = 9, quantity.Duration(20*time.Second) }), up, "metric: the heap of the server: "},
		{with(func(c *Config) { c.Configure = []string{"sleep", "1000"} }), down, "server: the server has ended: "},
		{c, down, "server: the server has ended: "},
	} {
		_, err, _ := try(t, x.c, site, x.up)
		if err == nil || !strings.HasPrefix(err.Error(), x.want) {
			m.Errorf("%v\nwant %s", err, x.want)
		}
	}
	r, err, _ := try(t, with(func(c *Config) {
		c.Change.Run, c.Change.Times, c.Ready = []string{"true"}, 1, quantity.Duration(2*time.Second)
	}), site, up)
	if err != nil {
		m.Fatal(err)
	}
	if _, has := r.Values[pushLast]; has || r.Failed != 0.5 {
		m.Errorf("a change that is none reached all: %v, %v failed", r.Values, r.Failed)
	}
}

// Sidecars of a server at an address run on this machine itself.
func TestAddress(t *testing.T) {
	s := elsewhere(t)
	c := New().(*Config)
	c.Address, c.Sidecars, c.Rate, c.Settle, c.Late = s.Address, factor.Of(10), factor.Of(quantity.Frequency(500)), 0, quantity.Duration(time.Minute)
	if errs := c.validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	site := localtest.Host(t)
	r, err, raw := try(t, c, site, setUp(t, c, site))
	if err != nil {
		t.Fatal(err)
	}
	complete(t, c, r)
	if diff := cmp.Diff([]string{"sidecars.json"}, raw.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestValidate(t *testing.T) {
	objective, changing := Objective{Ready: in(time.Second), Push: in(time.Second), Most: 200}, &change{Run: []string{"true"}}
	for _, x := range []struct {
		change func(*Config)
		want   string // "": no error
	}{
		{func(c *Config) {}, ""},
		{func(c *Config) { c.Address = "" }, "address: no server is given: give the address of a running server (address), or its program (server)"},
		{func(c *Config) { c.Address = "istiod" }, `address: "istiod" is not HOST:PORT`},
		{func(c *Config) { c.Server = &service.Config{Run: []string{"x"}} }, "address: there is a server too: give only one of them"},
		{func(c *Config) { c.Metrics = 1 }, "metricsPort: metrics are read from a server that Tare starts only; on a cluster, the testbed can observe other servers"},
		{func(c *Config) { c.Sidecars = factor.Of(0, 10) }, "sidecars[0]: 0 is not a number of sidecars from 1 to 100000; sidecars[0]: 0 sidecars are too few for 1 clients"},
		{func(c *Config) { c.Rate = factor.Of(quantity.Frequency(20000)) }, "rate[0]: 20000/s is not a rate above 0/s, and at most 10000/s"},
		{func(c *Config) { c.Churn = factor.Of(quantity.Percent(2)) }, "churn[0]: 200% is more than all sidecars"},
		{func(c *Config) { c.Change = &change{} }, "change.run: no program is given: write it as a list, [program, argument…]"},
		{func(c *Config) { c.Node.ID = "$(TARE_NAME)" }, "node.id: $(TARE_NAME) is not known here: known is $(TARE_IP), $(TARE_INDEX)"},
		{func(c *Config) { c.Node.Metadata = "[]" }, "node.metadata: the metadata of the node is not a map"},
		{func(c *Config) { c.TLS = &tls{Cert: "x"} }, "tls.cert: give both the certificate and its key"},
		{func(c *Config) { c.TLS = &tls{Cert: "x", Key: "secret"} }, "tls.key: a key in the file would be kept with the run: refer to it, $(file:/PATH)"},
		{func(c *Config) { c.Objective = &Objective{Ready: in(time.Second)} }, "objective.push.within: 0s is not a time from 10ms to 1h; objective: there is no change: the objective includes the time of a push"},
		{func(c *Config) {
			c.Objective, c.Change = &objective, changing
			c.Churn = factor.Of(quantity.Percent(1))
		}, "churn[0]: in a search all sidecars connect at each try: give no churn with an objective"},
		{func(c *Config) { c.Objective, c.Change = &objective, changing; c.Sidecars = factor.Of(300) }, "sidecars[0]: 300 is more than the 200 of objective.most"},
		{func(c *Config) { c.Configure = []string{""} }, "configure: no program is given: write it as a list, [program, argument…]"},
		{func(c *Config) { c.Istiod = &istiod.Config{} }, "address: Tare itself starts, configures and changes istiod: leave it out, or istiod"},
		{func(c *Config) { c.Istiod, c.Address, c.Change = &istiod.Config{}, "", &change{} }, ""},
		{func(c *Config) { c.Istiod, c.Address, c.Change = &istiod.Config{}, "", changing }, "change.run: Tare itself starts, configures and changes istiod"},
		{func(c *Config) { c.Ready = 0 }, "readyTimeout: 0s is not a time from 100ms to 1h"},
	} {
		c := New().(*Config)
		c.Address = "127.0.0.1:15010"
		x.change(c)
		var got []string
		for _, e := range c.validate() {
			got = append(got, e.Field+": "+e.Message)
		}
		if text := strings.Join(got, "; "); text != x.want && (x.want == "" || !strings.HasPrefix(text, x.want)) {
			t.Errorf("%s\nwant %s", text, x.want)
		}
	}
}

// Missing times count as longer than all known times.
func TestResult(t *testing.T) {
	c := New().(*Config)
	c.Sidecars, c.Rate = factor.Of(400), factor.Of(quantity.Frequency(100))
	times := func(n int) (list []time.Duration) {
		for i := range n {
			list = append(list, time.Duration(n-i)*time.Millisecond)
		}
		return list
	}
	reports := func(n int, errors map[string]int) *stage {
		return &stage{Reports: []*fleet.Report{
			{Expected: 200, Times: times(200), Last: 3 * time.Second, Counts: fleet.Counts{Attempts: 200, Bytes: 1000}},
			{Expected: 200, Times: times(n), Last: 5 * time.Second, Counts: fleet.Counts{Attempts: 300, Bytes: 3000, Errors: errors, Examples: map[string]string{"dial": "refused"}}},
		}}
	}
	r, err := c.result(&workload.Trial{}, reports(200, map[string]int{sidecar.Limited: 100}), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"ready-mean": 0.1005, "ready-p50": 0.1, "ready-last": 5, "connect-rate": 80, "sidecar-bytes": 10, "errors": 0.2, "limited": 0.2}
	if diff := cmp.Diff(want, r.Values, cmpopts.EquateApprox(1e-9, 0)); diff != "" || r.Failed != 0 || r.Work != 400 {
		t.Errorf("%v failed, %s", r.Failed, diff)
	}
	r, err = c.result(&workload.Trial{}, reports(100, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	want = map[string]float64{"ready-p50": 0.1, "connect-rate": 60, "sidecar-bytes": 10, "errors": 0, "limited": 0}
	if diff := cmp.Diff(want, r.Values); diff != "" || r.Failed != 0.25 {
		t.Errorf("%v failed, %s", r.Failed, diff)
	}
	none := &stage{Reports: []*fleet.Report{{Expected: 400, Counts: fleet.Counts{Attempts: 1, Errors: map[string]int{"dial": 7}, Examples: map[string]string{"dial": "refused"}}}}}
	if _, err := c.result(&workload.Trial{}, none, nil); err == nil || err.Error() != "errors: no sidecar was ready 1m after the last was due: 400 of 400 (dial 7: refused)" {
		t.Error(err)
	}
	late := reports(200, nil)
	late.Reports[0].Lags = []time.Duration{time.Second}
	if _, err := c.result(&workload.Trial{}, late, nil); err == nil || !strings.HasPrefix(err.Error(), "late: ") {
		t.Error(err)
	}
}

func elsewhere(t *testing.T) *xdstest.Server {
	t.Helper()
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := xdstest.Start(on, xdstest.Mesh{Clusters: 2, Endpoints: 1, Listeners: 1}, xdstest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}
