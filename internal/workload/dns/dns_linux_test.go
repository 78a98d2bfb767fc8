package dns

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/layer/dnstransport"
	"tare/internal/test/fit"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/dns/zone"
	"tare/internal/workload/service"
	"tare/internal/workload/workloadtest"
)

func TestMain(m *testing.M) { localtest.Main(m, append(slices.Clone(Helpers), service.Helper)...) }

// up starts the server of a workload at a site.
func up(t *testing.T, c *Config, site testbed.Site) *server {
	t.Helper()
	s, err := c.SetUp(t.Context(), workload.SetUp{Site: site})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	return s.(*server)
}

// trial runs a trial and clears its site. It calls between before the measured part, unless between is nil.
func trial(t *testing.T, c *Config, site testbed.Site, up *server, between func()) (workload.Result, *workloadtest.Raw, error) {
	t.Helper()
	raw := new(workloadtest.Raw)
	one := &workload.Trial{Site: site, Raw: raw, Round: 1}
	if up != nil {
		one.Standing = up
	}
	defer func() {
		if one.Clear != nil {
			if err := one.Clear(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}()
	measured, err := c.Prepare(t.Context(), one)
	if err != nil {
		return workload.Result{}, raw, err
	}
	if between != nil {
		between()
	}
	r, err := measured(t.Context())
	return r, raw, err
}

// proxiesOf returns a short workload with proxies.
func proxiesOf(t *testing.T, proxies, hosts, families int) *Config {
	t.Helper()
	if _, err := testbed.Installed(program, program); err != nil {
		t.Skipf("needs Envoy (make envoy): %v", err)
	}
	c := New().(*Config)
	c.Proxies, c.Hosts, c.Families = factor.Of(proxies), factor.Of(hosts), factor.Of(families)
	c.Duration, c.Warmup = quantity.Duration(2*time.Second), 0
	if errs := c.validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	return c
}

// Real Envoys look each host up again in each family, as the law says, and no Envoy is left over.
func TestRealTimeProxies(t *testing.T) {
	m := fit.Machine(t)
	c := proxiesOf(t, 2, 3, 2)
	long := filepath.Join(t.TempDir(), strings.Repeat("long-", 20)) // longer than the name of a socket may be
	if err := os.Mkdir(long, 0o755); err != nil {
		m.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	site := localtest.Network(t, 0, 1500)
	server := up(t, c, site)
	r, raw, err := trial(t, c, site, server, nil)
	if err != nil {
		m.Fatal(err, raw.Texts())
	}
	// 2 proxies × 3 hosts × 2 families ÷ 1 s, plus or minus the delays of a busy machine.
	if rate := r.Values[queryRate]; rate < 5 || rate > 20 || r.Values[perProxy] != rate/2 || r.Values[perHost] != rate/6 {
		m.Errorf("%+v", r.Values)
	}
	if r.Values["answers-a"] <= 0 || r.Values["answers-aaaa"] <= 0 || r.Values["answers-nxdomain"] != 0 || r.Values["answers-error"] != 0 || r.Failed != 0 {
		m.Errorf("%+v, failed %v", r.Values, r.Failed)
	}
	if r.Values[proxyCPU] <= 0 || r.Values[proxyCPU] > 2 || r.Values[proxyMemory] < 10<<20 || r.Used["server"].CPU() < 0 {
		m.Errorf("%+v, used %+v", r.Values, r.Used)
	}
	if names := raw.Names(); !slices.Equal(names, []string{"counts.json", "proxy-1.log", "proxy-2.log"}) {
		m.Errorf("kept: %v", names)
	}
	scratch, _ := testbed.As[testbed.Scratch](site)
	dir, err := scratch.Scratch()
	if err != nil {
		m.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "envoy-*")); len(left) > 0 || len(server.proxies) > 0 {
		m.Errorf("left: %v, %d proxies", left, len(server.proxies))
	}

	c.Resolution = factor.Of(none)
	r, _, err = trial(t, c, site, server, nil)
	if err != nil || r.Values[queryRate] != 0 || r.Values[proxyMemory] < 10<<20 {
		m.Errorf("they are to ask nobody: %+v, %v", r.Values, err)
	}

	c.Resolution, c.Refresh, c.TTL = factor.Of(byDNS), durations(100*time.Millisecond), durations(time.Hour)
	r, _, err = trial(t, c, site, server, nil)
	if err != nil || r.Values[perHost] < 6 || r.Values[perHost] > 25 {
		m.Errorf("every 100 ms, in two families: %+v, %v", r.Values, err)
	}
}

// A trial breaks a rule if a proxy ends, or never looks up some of its hosts.
func TestBrokenProxies(t *testing.T) {
	c := proxiesOf(t, 1, 2, 1)
	site := localtest.Network(t, 0, 1500)
	server := up(t, c, site)
	_, raw, err := trial(t, c, site, server, func() {
		if err := server.proxies[0].Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	var invalid *workload.Invalid
	if !errors.As(err, &invalid) || invalid.Rule != workload.RuleExit || !strings.Contains(invalid.Detail, "proxy-1 has ended") {
		t.Errorf("got %v, kept %v", err, raw.Names())
	}
	p := &proxyTrial{Config: c}
	one := proxyCounts{After: zone.Counts{At: time.Second, Names: 1, Queries: 1}, used: map[string]testbed.Usage{}}
	if _, err := p.result(one); !errors.As(err, &invalid) || invalid.Rule != workload.RuleErrors {
		t.Errorf("one of two hosts: %v", err)
	}
	one.After.Names, one.After.Queries = 2, 13
	one.Resolvers = [2][]resolverCounts{{{Lookups: 10, Failed: 1}}, {{Lookups: 20, Failed: 2}}}
	if r, err := p.result(one); err != nil || r.Failed != 0.1 || r.Values[repeated] != 3 {
		t.Errorf("of ten lookups one failed, by 13 queries: %+v, %v", r, err)
	}
	scratch, _ := testbed.As[testbed.Scratch](site)
	if dir, err := scratch.Scratch(); err == nil { // makes the proxy's configuration invalid
		_ = os.Mkdir(filepath.Join(dir, "envoy-t2-1.sock"), 0o755)
	}
	if _, _, err := trial(t, c, site, server, nil); !errors.As(err, &invalid) || invalid.Rule != workload.RuleExit {
		t.Errorf("a proxy that does not start: %v", err)
	}
}

// Tare's own server answers queries at a rate, over each transport.
func TestRealTimeQueries(t *testing.T) {
	site := localtest.Network(t, 0, 1500)
	for _, transport := range []dnstransport.Transport{dnstransport.UDP, dnstransport.TCP, dnstransport.TLS} {
		t.Run(string(transport), func(t *testing.T) {
			m := fit.Machine(t)
			c := New().(*Config)
			c.Transport, c.Rate, c.Paths = factor.Of(transport), factor.Of(quantity.Frequency(300)), factor.Of(testbed.PodToService)
			c.Duration, c.Warmup, c.Timeout, c.Late = quantity.Duration(3*time.Second), quantity.Duration(100*time.Millisecond), quantity.Duration(15*time.Second), 1000
			if errs := c.validate(); len(errs) > 0 {
				m.Fatal(errs)
			}
			r, raw, err := trial(t, c, site, up(t, c, site), nil)
			if err != nil {
				m.Fatal(err)
			}
			if r.Work != 900 || r.Values["errors"] != 0 || r.Values["lost"] != 0 || r.Values["latency-p50"] <= 0 || r.Used["client"].CPU() <= 0 || r.Used["server"].MaxRSS <= 0 {
				m.Errorf("%+v", r)
			}
			var counts zone.Counts
			raw.JSON(t, "counts.json", &counts)
			if counts.Queries != 930 || counts.Names != 50 { // includes the warm-up
				m.Errorf("the server counted %+v", counts)
			}
			if _, err := workload.Price(*c.Measures().Cost, r, 0, 0); err != nil {
				m.Error(err)
			}
		})
	}
}

// A layer changes the transport of queries and of the server, and the trial reports the transport.
func TestRealTimeTransportLayer(t *testing.T) {
	site := localtest.Network(t, 0, 1500)
	for _, test := range []struct {
		site testbed.Site
		want string
	}{{site, "udp in clear"}, {layer.WithWrappers(site, &layer.Active{Holds: dnstransport.TLS}), "TLS 1.3, "}} {
		t.Run(test.want, func(t *testing.T) {
			m := fit.Machine(t)
			c := New().(*Config)
			c.Rate, c.Late = factor.Of(quantity.Frequency(300)), 1000
			c.Duration, c.Timeout = quantity.Duration(300*time.Millisecond), quantity.Duration(15*time.Second)
			server := up(t, c, test.site)
			for _, c.Warmup = range []quantity.Duration{0, quantity.Duration(100 * time.Millisecond)} {
				r, _, err := trial(t, c, test.site, server, nil)
				if err != nil || len(r.Connections) != 1 || !strings.HasPrefix(r.Connections[0], test.want) {
					m.Errorf("%q, %v, want %s", r.Connections, err, test.want)
				}
			}
		})
	}
}

// A trial whose server does not respond fails.
func TestNoServer(t *testing.T) {
	site := localtest.Network(t, 0, 1500)
	c := New().(*Config)
	c.Address, c.Names, c.Rate = "198.18.12.2:9", []string{"a.test"}, factor.Of(quantity.Frequency(50))
	c.Duration, c.Warmup, c.Timeout = quantity.Duration(300*time.Millisecond), 0, quantity.Duration(200*time.Millisecond)
	_, raw, err := trial(t, c, site, up(t, c, site), nil)
	var invalid *workload.Invalid
	if !errors.As(err, &invalid) || invalid.Rule != workload.RuleErrors || !strings.Contains(invalid.Detail, "none of 15 queries was answered") {
		t.Errorf("got %v", err)
	}
	if names := raw.Names(); !slices.Equal(names, []string{"load.json"}) {
		t.Errorf("kept: %v", names)
	}
}
