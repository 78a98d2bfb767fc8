// Package http measures what a layer costs a request. The client's pod sends HTTP/1.1, HTTP/2 or gRPC requests to a
// server in the server's pod (see package load). The load is an open loop at a given rate, or a closed loop.
//
//	workloads:
//	  - http: {rate: [100, 1000], connections: 16, answer: 1kB, duration: 10s}
//
// The server is Tare's own, any program (package service), or a server at a URL. It stays up between trials. Clients
// and their connections last for one trial, with all its slices.
//
// The latency of a trial is one histogram of all its requests. A trial has a quantile only if at least 100 requests
// take longer than it.
package http

import (
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
	"tare/internal/workload/service"
	"tare/internal/workload/staircase"
)

const name = "http"

// Config holds the parameters of the workload.
type Config struct {
	Rate        factor.Levels[quantity.Frequency] `yaml:"rate" json:"rate,omitempty" max:"10000000/s" doc:"requests per second of all clients together, each sent at its time whatever the server does (open loop); 1000/s if neither rate nor workers is given"`
	Arrivals    load.Arrivals                     `yaml:"arrivals" json:"arrivals" enum:"constant,poisson" doc:"how an open loop spaces its requests: constant, or poisson"`
	Workers     factor.Levels[int]                `yaml:"workers" json:"workers,omitempty" min:"1" max:"100000" doc:"closed loop, in place of rate: this many requests are under way at a time, and each response is followed by the next request"`
	Connections factor.Levels[int]                `yaml:"connections" json:"connections" min:"1" max:"100000" doc:"connections of all clients together"`
	Streams     factor.Levels[int]                `yaml:"streams" json:"streams" min:"1" max:"10000" doc:"requests under way at a time on one connection of h2 or grpc"`
	PerConn     factor.Levels[int]                `yaml:"requestsPerConnection" json:"requestsPerConnection" min:"0" max:"1073741824" doc:"requests after which a connection is closed and replaced; 0: it stays open"`
	Protocol    factor.Levels[load.Protocol]      `yaml:"protocol" json:"protocol" enum:"http/1.1,h2,grpc" doc:"http/1.1, h2 (over TLS with ALPN, without TLS with prior knowledge) or grpc (unary calls)"`
	Payload     factor.Levels[quantity.Size]      `yaml:"payload" json:"payload" min:"0B" max:"64MiB" doc:"bytes of a request's body; a request with a body is a POST"`
	Answer      factor.Levels[quantity.Size]      `yaml:"answer" json:"answer,omitempty" min:"0B" max:"64MiB" doc:"bytes of the builtin server's responses"`
	Path        string                            `yaml:"path" json:"path,omitempty" doc:"path and query of requests; if absent, the url's; for grpc /SERVICE/METHOD"`
	Paths       factor.Levels[testbed.Path]       `yaml:"paths" factor:"path" json:"paths" doc:"network paths from the client's pod to the server's"`
	Server      *service.Config                   `yaml:"server" json:"server,omitempty" doc:"program of the server; Tare's own if absent"`
	URL         string                            `yaml:"url" json:"url,omitempty" doc:"URL of an existing server, in place of one that Tare starts: http://HOST[:PORT][/PATH], or https"`
	TLS         *load.TLSConfig                   `yaml:"tls" json:"tls,omitempty" doc:"TLS between client and server"`
	Clients     factor.Levels[int]                `yaml:"clients" json:"clients" min:"1" max:"256" doc:"clients that share the load and begin together: processes on this machine, pods on a cluster"`
	Threads     int                               `yaml:"threads" json:"threads,omitempty" min:"0" max:"1024" doc:"CPUs that each client, and the builtin server, may use at a time; 0 for all"`
	Duration    quantity.Duration                 `yaml:"duration" json:"duration" min:"10ms" max:"24h" doc:"measured time of a trial"`
	Quantiles   load.Quantiles                    `yaml:"quantiles" json:"quantiles,omitempty" doc:"quantiles of the latency that every trial must have: p50, p90, p99, p99.9. At each rate a trial is measured for as long as the highest of them needs, and at least for duration"`
	Warmup      quantity.Duration                 `yaml:"warmup" json:"warmup" min:"0s" max:"24h" doc:"time before the measured time, with the same load"`
	Timeout     quantity.Duration                 `yaml:"timeout" json:"timeout" min:"1ms" max:"1m" doc:"time after which a request without a response has failed"`
	Late        quantity.Percent                  `yaml:"late" json:"late" doc:"largest part of the mean latency that may be the generator's own lateness"`
	Objective   *Objective                        `yaml:"objective" json:"objective,omitempty" doc:"limits on latency and errors. A trial then searches its capacity, the highest rate that meets them, in place of measuring latency at one rate. The search begins at rate. With workers, the capacity is the largest number of workers"`
	Judged      []string                          `yaml:"headline" json:"headline,omitempty" doc:"metrics that get a verdict, corrected for many comparisons; the quantiles, or else p50 and p99, and the CPU time per request if absent"`
}

// New returns the workload with its defaults.
func New() workload.Workload {
	return &Config{
		Arrivals:    load.Constant,
		Connections: factor.Of(16), Streams: factor.Of(1), PerConn: factor.Of(0), Clients: factor.Of(1),
		Protocol: factor.Of(load.HTTP1), Payload: factor.Of(quantity.Size(0)),
		Paths:    factor.Of(testbed.PodToPod),
		Duration: quantity.Duration(5 * time.Second), Warmup: quantity.Duration(time.Second), Timeout: quantity.Duration(10 * time.Second),
		Late: 0.3,
	}
}

// Kind describes the workload.
var Kind = workload.Kind{
	Name:    name,
	Summary: "requests over HTTP/1.1, HTTP/2 or gRPC: latency from the intended time, errors, CPU per request",
	New:     New,
	Probe:   testbed.AlwaysWorks(name, "by a generator and a server of its own"),
	Helpers: append([]testbed.Helper{service.Helper}, Helpers...),
}

// Declare declares that the workload needs a client's and a server's pod.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{ReadFiles: c.TLS.ReadFiles, Validate: c.validate, Tests: experiment.TestsServer, Needs: experiment.Needs{Network: true, AppProtocol: c.appProtocol()}}
	for _, n := range c.Clients {
		d.Needs.Clients = max(d.Needs.Clients, n)
	}
	if d.Needs.Clients == 1 {
		d.Needs.Clients = 0 // 0 asks for the default: the pod of a single client
	}
	c.Server.Declare(&d)
	return d
}

func (c *Config) appProtocol() string {
	if c.TLS != nil {
		return "https"
	}
	spoken := map[load.Protocol]string{load.HTTP1: "http", load.H2: "http2", load.GRPC: "grpc"}
	all := experiment.Needs{}
	for _, p := range c.Protocol {
		all = all.And(experiment.Needs{AppProtocol: spoken[p]})
	}
	return all.AppProtocol
}

// builtin reports whether the server is Tare's own.
func (c *Config) builtin() bool { return c.Server == nil && c.URL == "" }

// usual is the rate of requests if the file gives neither rate nor workers.
const usual = quantity.Frequency(1000)

// rate returns the rate of all clients together, per second; 0 in a closed loop.
func (c *Config) rate() float64 {
	switch {
	case len(c.Workers) > 0:
		return 0
	case len(c.Rate) == 0:
		return float64(usual)
	}
	return float64(c.Rate.One())
}

// Measures returns the metrics of a trial and its expected duration.
func (c *Config) Measures() experiment.Measures { return c.MeasuresWith() }

// measured returns the measured time of a trial at a rate; 0: a closed loop.
func (c *Config) measured(rate float64) quantity.Duration {
	return c.Quantiles.Measured(rate, c.Duration)
}

// MeasuresWith returns the metrics that Measures returns, and the extra metrics of package load that the caller names.
func (c *Config) MeasuresWith(extra ...string) experiment.Measures {
	duration := c.measured(c.rate())
	m := experiment.Measures{
		Expected: (c.Warmup + duration).Std() + 300*time.Millisecond,
		Limit:    (c.Warmup+duration+c.Timeout).Std()*2 + 30*time.Second,
		Slice:    &experiment.Slice{}, // a trial may be cut into slices, which share its duration
	}
	m.Cost = &experiment.Cost{Prefix: "request", Unit: "request", Parts: []string{"client", "server"}}
	if c.URL != "" {
		m.Cost.Parts = []string{"client"}
	}
	if c.Objective != nil {
		one := c.probe(c.rate()) + 100*time.Millisecond
		m.Metrics, m.Slice = c.capacityMetrics(), nil
		m.Expected, m.Limit = c.Warmup.Std()+time.Duration(c.search().Usual+1)*one, staircase.MostTries*(2*one+drain+c.Timeout.Std())+time.Minute
		return m
	}
	requests := c.rate() * duration.Std().Seconds()
	if requests == 0 {
		m.Loop = &experiment.Loop{Latency: "latency-mean", Throughput: "rate", Workers: float64(c.Workers.One())}
	}
	m.Metrics = load.Metrics(requests, c.Quantiles.Headline(c.Judged), extra...)
	return m
}
