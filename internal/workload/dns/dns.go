// Package dns measures what name resolution costs. It has two kinds of trials.
//
// A trial with proxies measures the DNS load of a service mesh. Real Envoys look up hosts at a server of Tare's own,
// which counts queries. Each Envoy has a cluster of type STRICT_DNS for every host, as a sidecar has for a ServiceEntry
// with resolution DNS. No client sends requests: an Envoy looks up each host whenever the last response has expired.
// The expected queries per second are proxies × hosts × families ÷ TTL. Tare fits the exponents of this law
// (analysis.PowerLaw).
//
//	workloads:
//	  - dns: {proxies: [1, 2, 4], hosts: 50, families: [1, 2]}
//
// A trial with a rate sends queries to any server, in an open loop over UDP, TCP or TLS (package query). It measures
// lost queries, CPU time per query, and the latency from a query's intended time.
//
//	workloads:
//	  - dns: {rate: [1000/s, 5000/s], transport: [udp, tls]}
package dns

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer/dnstransport"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/dns/query"
	"tare/internal/workload/http/load"
	"tare/internal/workload/service"
)

const name = "dns"

// resolution is a way in which proxies find the addresses of hosts, by its name in a ServiceEntry.
type resolution string

const (
	byDNS resolution = "dns"  // a proxy asks DNS for each host again and again
	none  resolution = "none" // a proxy sends each connection to the address that the client dialled, and asks no DNS
)

// Config holds the parameters of the workload.
type Config struct {
	Proxies    factor.Levels[int]                    `yaml:"proxies" json:"proxies,omitempty" min:"1" max:"256" doc:"number of Envoys, which look hosts up by themselves, in place of queries at a rate"`
	Hosts      factor.Levels[int]                    `yaml:"hosts" json:"hosts" min:"1" max:"10000" doc:"hosts that each proxy looks up, or that queries ask for in turn"`
	Families   factor.Levels[int]                    `yaml:"families" json:"families" min:"1" max:"2" doc:"address families that are looked up for each host: 1 for IPv4, 2 for IPv4 and IPv6, which takes two queries"`
	TTL        factor.Levels[quantity.Duration]      `yaml:"ttl" json:"ttl" min:"1s" max:"24h" doc:"time for which a response of the builtin server may be cached, in whole seconds"`
	Refresh    factor.Levels[quantity.Duration]      `yaml:"refresh" json:"refresh,omitempty" min:"10ms" max:"24h" doc:"time after which proxies look a host up again, whatever the TTL; the TTL if absent"`
	Resolution factor.Levels[resolution]             `yaml:"resolution" json:"resolution" enum:"dns,none" doc:"how proxies find the addresses of hosts: dns, or none, which sends no queries"`
	Rate       factor.Levels[quantity.Frequency]     `yaml:"rate" json:"rate,omitempty" max:"10000000/s" doc:"queries per second, each sent at its time whatever the server does (open loop); 1000/s if neither rate nor proxies is given"`
	Arrivals   load.Arrivals                         `yaml:"arrivals" json:"arrivals" enum:"constant,poisson" doc:"how queries are spaced: constant, or poisson"`
	Transport  factor.Levels[dnstransport.Transport] `yaml:"transport" json:"transport" enum:"udp,tcp,tls" doc:"transport of queries: udp, tcp, or tls (DNS over TLS)"`
	Conns      factor.Levels[int]                    `yaml:"connections" json:"connections" min:"1" max:"10000" doc:"sockets or connections that queries use in turn"`
	Names      []string                              `yaml:"names" json:"names,omitempty" doc:"names that queries ask for, with server or address"`
	Server     *service.Config                       `yaml:"server" json:"server,omitempty" doc:"program of the server; Tare's own if absent"`
	Address    string                                `yaml:"address" json:"address,omitempty" doc:"HOST:PORT of an existing server, in place of one that Tare starts"`
	TLS        *load.TLSConfig                       `yaml:"tls" json:"tls,omitempty" doc:"certificates to trust with the transport tls, for a server that is not Tare's own"`
	Paths      factor.Levels[testbed.Path]           `yaml:"paths" factor:"path" json:"paths" doc:"network paths to the server's pod from the client's pod, in which proxies or the generator run"`
	Duration   quantity.Duration                     `yaml:"duration" json:"duration" min:"10ms" max:"24h" doc:"measured time of a trial; with proxies a whole number of TTLs, or at least three"`
	Quantiles  load.Quantiles                        `yaml:"quantiles" json:"quantiles,omitempty" doc:"quantiles of the latency that every trial must have: p50, p90, p99, p99.9. At each rate a trial is measured for as long as the highest of them needs, and at least for duration"`
	Warmup     quantity.Duration                     `yaml:"warmup" json:"warmup" min:"0s" max:"24h" doc:"least time before the measured time; with proxies it ends between two lookups of a host"`
	// Timeout must be shorter than helperrpc.Limit, the longest time that a helper may take for a request.
	Timeout quantity.Duration `yaml:"timeout" json:"timeout" min:"1ms" max:"15s" doc:"time after which a query without a response is lost"`
	Late    quantity.Percent  `yaml:"late" json:"late" doc:"largest part of the mean latency that may be the generator's own lateness"`
	Judged  []string          `yaml:"headline" json:"headline,omitempty" doc:"metrics that get a verdict, corrected for many comparisons; queries with proxies, else the quantiles, or p50 and p99, and the CPU time per query, if absent"`
}

// New returns the workload with its defaults.
func New() workload.Workload {
	return &Config{
		Hosts: factor.Of(50), Families: factor.Of(1), TTL: factor.Of(quantity.Duration(time.Second)), Resolution: factor.Of(byDNS),
		Arrivals: load.Constant, Transport: factor.Of(dnstransport.UDP), Conns: factor.Of(4),
		Paths:    factor.Of(testbed.PodToPod),
		Duration: quantity.Duration(6 * time.Second), Warmup: quantity.Duration(time.Second), Timeout: quantity.Duration(2 * time.Second),
		Late: 0.3,
	}
}

// Kind describes the workload.
var Kind = workload.Kind{
	Name:    name,
	Summary: "name resolution: queries that Envoys make for their hosts, with the law that they follow; latency and losses of queries at a rate",
	New:     New,
	Probe:   probe,
	Helpers: Helpers,
}

func probe(ctx context.Context) []testbed.Finding {
	path, err := testbed.Installed(program, program)
	proxies := workload.ProbeVersion(ctx, program, path, err, "make envoy; or put envoy on PATH")
	if _, version, ok := strings.Cut(proxies.Detail, "version: "); ok && proxies.Status == testbed.Works {
		proxies.Detail = version
	}
	return []testbed.Finding{{Name: "queries", Status: testbed.Works, Detail: "by a generator and a server of Tare's own"}, proxies}
}

// Declare says what the workload needs: a client's and a server's pod, and for proxies the local testbed and Envoy.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{ReadFiles: c.TLS.ReadFiles, Validate: c.validate, Tests: experiment.TestsServer, Needs: experiment.Needs{Network: true},
		Elsewhere: "on a cluster the workload dns only sends queries at a rate; the queries of a mesh's own sidecars are not measured yet"}
	if c.proxied() {
		path, _ := testbed.Installed(program, program)
		d.Tools = []experiment.Tool{{Name: program, Path: path, Version: []string{"--version"}}}
		d.Needs.Only = experiment.TestbedLocal
	}
	c.Server.Declare(&d)
	return d
}

// measured returns the measured time of queries at a rate.
func (c *Config) measured(rate float64) quantity.Duration {
	return c.Quantiles.Measured(rate, c.Duration)
}

func (c *Config) proxied() bool { return len(c.Proxies) > 0 }

func (c *Config) builtin() bool { return c.Server == nil && c.Address == "" }

// Measures returns the metrics of a trial and its expected duration.
func (c *Config) Measures() experiment.Measures {
	if c.proxied() {
		return c.proxyMeasures()
	}
	duration := c.measured(c.rate())
	m := experiment.Measures{
		Expected: (c.Warmup + duration).Std() + 200*time.Millisecond,
		Limit:    (c.Warmup+duration+c.Timeout).Std()*2 + 30*time.Second,
		Cost:     &experiment.Cost{Prefix: "query", Unit: "query", Parts: []string{"client", "server"}},
		Metrics:  load.Metrics(c.rate()*duration.Std().Seconds(), c.Quantiles.Headline(c.Judged), "lost"),
	}
	if c.Address != "" {
		m.Cost.Parts = m.Cost.Parts[:1]
	}
	return m
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	for i, ttl := range c.TTL {
		if ttl.Std()%time.Second != 0 {
			errs.Add(fmt.Sprintf("ttl[%d]", i), "%v is not a whole number of seconds, the unit in which DNS counts", ttl)
		}
	}
	if c.Server != nil {
		errs = append(errs, c.Server.Validate("server")...)
	}
	if c.proxied() {
		c.validateProxies(&errs)
	} else {
		c.validateLoad(&errs)
	}
	return errs
}

func (c *Config) validateProxies(errs *experiment.FieldErrors) {
	for _, f := range []struct {
		field string
		given bool
	}{{"rate", len(c.Rate) > 0}, {"names", len(c.Names) > 0}, {"server", c.Server != nil}, {"address", c.Address != ""}, {"tls", c.TLS != nil}, {"headline", len(c.Judged) > 0}, {"quantiles", len(c.Quantiles) > 0}} {
		if f.given {
			errs.Add(f.field, "it is for queries at a rate, but proxies send their own queries to the builtin server: leave it out, or proxies")
		}
	}
	periods, field := c.TTL, "ttl"
	if len(c.Refresh) > 0 {
		periods, field = c.Refresh, "refresh"
	}
	for i, period := range periods {
		if period > 0 && !wholePeriods(c.Duration, period) {
			errs.Add("duration", "%v is neither a whole number of %v (%s[%d]) nor three of them: the count would depend on when the measured time begins", c.Duration, period, field, i)
		}
	}
}

func (c *Config) validateLoad(errs *experiment.FieldErrors) {
	if len(c.Refresh) > 0 {
		errs.Add("refresh", "only proxies use it: give proxies, or leave it out")
	}
	if slices.Contains(c.Resolution, none) {
		errs.Add("resolution", "only proxies use it: give proxies, or leave it out")
	}
	if c.Server != nil && c.Address != "" {
		errs.Add("address", "there is a server too: give only one of them")
	}
	if _, port, err := net.SplitHostPort(c.Address); c.Address != "" && (err != nil || port == "") {
		errs.Add("address", "%q is not HOST:PORT", c.Address)
	}
	switch {
	case c.builtin() && len(c.Names) > 0:
		errs.Add("names", "the builtin server has names of its own: leave them out, or give a server or an address")
	case !c.builtin() && len(c.Names) == 0:
		errs.Add("names", "give at least one name that the server knows")
	}
	for i, name := range c.Names {
		if err := query.CheckName(name); err != nil {
			errs.Add(fmt.Sprintf("names[%d]", i), "%v", err)
		}
	}
	if c.TLS != nil && (c.builtin() || !slices.Contains(c.Transport, dnstransport.TLS)) {
		errs.Add("tls", "it is for a server that is not Tare's own, with transport: tls")
	}
	load.CheckHeadline(errs, c.Judged, []string{"latency-mean"}, c.Rate, c.measured, "queries")
}
