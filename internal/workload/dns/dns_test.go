package dns

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
)

// durations returns the levels of a factor.
func durations(all ...time.Duration) (list factor.Levels[quantity.Duration]) {
	for _, d := range all {
		list = append(list, quantity.Duration(d))
	}
	return list
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   []string // fields with errors
	}{
		{func(*Config) {}, nil},
		{func(c *Config) {
			c.Proxies, c.TTL = factor.Of(1, 2), durations(time.Second, 2*time.Second, 3*time.Second)
		}, nil},
		{func(c *Config) { c.Proxies, c.TTL = factor.Of(1), durations(4*time.Second, 6*time.Second) }, []string{"duration"}},
		{func(c *Config) {
			c.Proxies, c.TTL, c.Refresh = factor.Of(1), durations(4*time.Second), durations(time.Second)
		}, nil},
		{func(c *Config) { c.TTL = durations(1500 * time.Millisecond) }, []string{"ttl[0]"}},
		{func(c *Config) {
			c.Proxies, c.Rate, c.Names, c.Address = factor.Of(1), factor.Of(quantity.Frequency(1)), []string{"a"}, "a:53"
		}, []string{"rate", "names", "address"}},
		{func(c *Config) { c.Refresh, c.Resolution = durations(time.Second), factor.Of(none) }, []string{"refresh", "resolution"}},
		{func(c *Config) { c.Address = "10.96.0.10" }, []string{"address", "names"}},
		{func(c *Config) {
			c.Address, c.Names = "10.96.0.10:53", []string{"kubernetes.default.svc.cluster.local", "a..b"}
		}, []string{"names[1]"}},
		{func(c *Config) { c.Names, c.TLS = []string{"a"}, &load.TLSConfig{} }, []string{"names", "tls"}},
		{func(c *Config) {
			c.Judged, c.Rate = []string{"latency-p99.9", "p5"}, factor.Of(quantity.Frequency(100))
		}, []string{"headline[0]", "headline[1]"}},
	} {
		w := New().(*Config)
		c.change(w)
		var fields []string
		for _, e := range w.validate() {
			fields = append(fields, e.Field)
		}
		if diff := cmp.Diff(c.want, fields); diff != "" {
			t.Error(diff, w.validate())
		}
	}
}

// Queries of proxies follow a power law, unless the proxies send none.
func TestMeasures(t *testing.T) {
	c := New().(*Config)
	m := c.Measures()
	if m.PowerLaw != nil || m.Cost == nil || len(m.Cost.Parts) != 2 || m.Metrics[0].Name != "latency-p50" || !m.Metrics[0].Headline {
		t.Errorf("queries at a rate: %+v", m)
	}
	c.Address = "10.96.0.10:53"
	if m := c.Measures(); len(m.Cost.Parts) != 1 {
		t.Errorf("the server's CPU time at %s is not known: %+v", c.Address, m.Cost)
	}
	c = New().(*Config)
	c.Proxies = factor.Of(2)
	m = c.Measures()
	if want := map[string]float64{"proxies": 1, "hosts": 1, "families": 1, "ttl": -1}; !maps.Equal(m.PowerLaw.Exponents, want) || m.PowerLaw.Metric != queryRate {
		t.Errorf("law %+v", m.PowerLaw)
	}
	if !m.Metrics[0].Headline || m.Metrics[0].Scale != experiment.Ratio || m.Cost != nil {
		t.Errorf("%+v", m)
	}
	c.Refresh = durations(time.Second)
	if law := c.Measures().PowerLaw; law.Exponents["refresh"] != -1 || law.Exponents["ttl"] != 0 {
		t.Errorf("law %+v", law)
	}
	c.Resolution = factor.Of(none)
	m = c.Measures()
	if m.PowerLaw != nil || slices.ContainsFunc(m.Metrics, func(m experiment.Metric) bool { return m.Headline || m.Scale == experiment.Ratio }) {
		t.Errorf("nothing is asked for: %+v", m)
	}
	if n := c.Declare().Needs; !n.Network || n.Only != experiment.TestbedLocal {
		t.Errorf("%+v", n)
	}
}

// The measured time begins between two lookups, after the warm-up.
func TestWindowStart(t *testing.T) {
	for _, c := range []struct{ period, warmup, want time.Duration }{
		{time.Second, 0, 500 * time.Millisecond},
		{time.Second, 500 * time.Millisecond, 500 * time.Millisecond},
		{time.Second, 600 * time.Millisecond, 1500 * time.Millisecond},
		{time.Second, time.Second, 1500 * time.Millisecond},
		{4 * time.Second, time.Second, 2 * time.Second},
		{100 * time.Millisecond, time.Second, 1050 * time.Millisecond},
	} {
		w := New().(*Config)
		w.Proxies, w.Refresh, w.Warmup = factor.Of(1), durations(c.period), quantity.Duration(c.warmup)
		if got := w.windowStart(); got != c.want {
			t.Errorf("every %v after %v: %v, want %v", c.period, c.warmup, got, c.want)
		}
	}
}

func TestBootstrap(t *testing.T) {
	c := New().(*Config)
	c.Proxies, c.Hosts, c.Families = factor.Of(1), factor.Of(3), factor.Of(2)
	text := func() string {
		text, err := c.bootstrap(netip.MustParseAddrPort("10.0.0.2:5353"), "/tmp/a.sock", "t7")
		if err != nil || !json.Valid(text) {
			t.Fatalf("%v: %s", err, text)
		}
		return string(text)
	}
	for _, want := range []string{`"address":"host-2.ttl-1.t7.tare.test."`, `"dns_lookup_family":"ALL"`, `"respect_dns_ttl":true`, `"dns_refresh_rate":"1.000000000s"`,
		`"type":"STRICT_DNS"`, `"socket_address":{"address":"10.0.0.2","port_value":5353}`, `"path":"/tmp/a.sock"`, `"no_default_search_domain":true`} {
		if got := text(); !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	c.Refresh, c.Families = durations(250*time.Millisecond), factor.Of(1)
	if got := text(); !strings.Contains(got, `"respect_dns_ttl":false`) || !strings.Contains(got, `"dns_refresh_rate":"0.250000000s"`) || !strings.Contains(got, `"V4_ONLY"`) {
		t.Error(got)
	}
	c.Resolution = factor.Of(none)
	if got := text(); strings.Contains(got, "STRICT_DNS") || strings.Count(got, `"type":"ORIGINAL_DST"`) != 3 {
		t.Error(got)
	}
}

func TestLookups(t *testing.T) {
	got, err := readLookups([]byte(`{"stats":[{"name":"dns.cares.resolve_total","value":42},{"name":"dns.cares.timeouts","value":3},{"name":"dns.cares.not_found","value":1},
		{"name":"dns.cares.pending_resolutions","value":9},{"histograms":{"supported_quantiles":[0]}}]}`))
	if err != nil || got != (resolverCounts{42, 4}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "{}", `{"stats":[{"name":"dns.cares.resolve_total","value":"many"}]}`, `{"stats":7}`} {
		if _, err := readLookups([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// Whatever a proxy responds is read, or refused with an error.
func FuzzLookups(f *testing.F) {
	f.Add([]byte(`{"stats":[{"name":"dns.cares.resolve_total","value":42}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := readLookups(text); err != nil && r.Lookups != 0 && !strings.Contains(err.Error(), "envoy") {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// The rules apply to the results of queries.
func TestJudge(t *testing.T) {
	c := New().(*Config)
	c.Rate = factor.Of(quantity.Frequency(100))
	made := func(ok, lost int, latency, lag, elapsed time.Duration) *load.Result {
		r := load.NewResult()
		for range ok {
			r.Add(load.Exchange{Sent: lag, Last: latency, Paced: true}, latency-time.Second)
		}
		for range lost {
			r.Add(load.Exchange{Last: 2 * time.Second, Kind: load.Timeout, Text: "no answer within 2s"}, time.Second)
		}
		r.Duration, r.Elapsed = time.Second, elapsed
		return r
	}
	for _, one := range []struct {
		sent *load.Result
		says string
	}{
		{made(100, 0, time.Millisecond, 0, time.Second), ""},
		{made(0, 100, 0, 0, 3*time.Second), "none of 100 queries was answered: timeout 100 (no answer within 2s)"},
		{made(100, 0, time.Millisecond, 900*time.Microsecond, time.Second), "the generator was late by"},
		{made(100, 0, time.Millisecond, 0, 1250*time.Millisecond), "80 of 100 queries per second were answered"},
	} {
		_, err := (&loadTrial{Config: c, t: &workload.Trial{}}).judge(one.sent, workload.Result{})
		if (err == nil) != (one.says == "") || err != nil && !strings.Contains(err.Error(), one.says) {
			t.Errorf("%v, want %q", err, one.says)
		}
	}
	r, err := (&loadTrial{Config: c, t: &workload.Trial{}}).judge(made(90, 10, time.Millisecond, 0, 3*time.Second), workload.Result{})
	if err != nil || r.Values["lost"] != 0.1 || r.Values["errors"] != 0.1 || r.Values["latency-mean"] < 0.0009 || !slices.Contains(r.Unavailable, "latency-p99") {
		t.Errorf("%+v, %v", r, err)
	}
}
