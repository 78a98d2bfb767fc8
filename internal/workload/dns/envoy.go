package dns

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"tare/internal/experiment/quantity"
	"tare/internal/workload/dns/zone"
)

const program = "envoy"

type object = map[string]any

// bootstrap returns a proxy's configuration: a cluster for each host, as in a sidecar. This machine's search domains
// are off, since each would add a query to every lookup.
func (c *Config) bootstrap(server netip.AddrPort, admin, label string) ([]byte, error) {
	var clusters []object
	for i := range c.Hosts.One() {
		clusters = append(clusters, c.cluster(zone.Name(i, c.TTL.One().Std(), label), i))
	}
	resolver := object{
		"@type":                     "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
		"resolvers":                 []object{socketAddress(server.Addr().String(), server.Port())},
		"use_resolvers_as_fallback": false,
		"dns_resolver_options":      object{"no_default_search_domain": true},
	}
	return json.Marshal(object{
		"admin":                     object{"address": object{"pipe": object{"path": admin}}},
		"typed_dns_resolver_config": object{"name": "envoy.network.dns_resolver.cares", "typed_config": resolver},
		"static_resources":          object{"clusters": clusters},
	})
}

func (c *Config) cluster(host string, i int) object {
	cluster := object{"name": fmt.Sprintf("host-%d", i), "connect_timeout": "1s"}
	if c.Resolution.One() == none {
		cluster["type"], cluster["lb_policy"] = "ORIGINAL_DST", "CLUSTER_PROVIDED"
		return cluster
	}
	family := "V4_ONLY"
	if c.Families.One() == 2 {
		family = "ALL"
	}
	endpoint := object{"endpoint": object{"address": socketAddress(host, 443)}}
	cluster["type"], cluster["dns_lookup_family"] = "STRICT_DNS", family
	cluster["respect_dns_ttl"], cluster["dns_refresh_rate"] = len(c.Refresh) == 0, fmt.Sprintf("%.9fs", c.period().Seconds())
	cluster["load_assignment"] = object{"cluster_name": cluster["name"], "endpoints": []object{{"lb_endpoints": []object{endpoint}}}}
	return cluster
}

func socketAddress(host string, port uint16) object {
	return object{"socket_address": object{"address": host, "port_value": port}}
}

func (c *Config) period() time.Duration { return cmp.Or(c.Refresh.OrZero(), c.TTL.One()).Std() }

func admin(ctx context.Context, socket, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, socket)
	}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://proxy"+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200q", answer.Status, text)
	}
	return text, err
}

// dial connects to a Unix socket. The path may be longer than the kernel's limit for socket names.
func dial(ctx context.Context, socket string) (net.Conn, error) {
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return new(net.Dialer).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket)))
}

type resolverCounts struct{ Lookups, Failed int64 }

// readLookups parses the counters of Envoy's resolver c-ares. A lookup counts once, even if it asks for IPv4 and
// IPv6 or sends a query again.
func readLookups(text []byte) (r resolverCounts, err error) {
	var stats struct {
		Stats []struct {
			Name  string
			Value json.RawMessage // a number; in histograms an object
		}
	}
	if err := json.Unmarshal(text, &stats); err != nil {
		return r, fmt.Errorf("envoy's stats: %w", err)
	}
	known := false
	for _, s := range stats.Stats {
		var n int64
		if json.Unmarshal(s.Value, &n) != nil {
			continue
		}
		switch s.Name {
		case "dns.cares.resolve_total":
			r.Lookups, known = n, true
		case "dns.cares.timeouts", "dns.cares.not_found", "dns.cares.get_addr_failure":
			r.Failed += n
		}
	}
	if !known {
		return r, fmt.Errorf("envoy's stats: no dns.cares.resolve_total in %.200q", text)
	}
	return r, nil
}

// windowStart returns the time from the first lookup to the measured time: the warm-up, prolonged to end halfway
// between two lookups of a host.
func (c *Config) windowStart() time.Duration {
	period := c.period()
	if c.Resolution.One() == none || period <= 0 {
		return c.Warmup.Std()
	}
	whole := max(0, (c.Warmup.Std()-period/2+period-1)/period)
	return whole*period + period/2
}

// wholePeriods reports whether a duration consists of whole periods, such as exactly one or two, or else lasts at least
// three periods.
func wholePeriods(duration, period quantity.Duration) bool {
	return duration >= 3*period || duration > 0 && duration%period == 0
}
