// Package http asks what a layer costs a request: it sends HTTP/1.1, HTTP/2 or gRPC from the
// client's pod to a server in the server's pod (package load has how), in an open loop at a
// given rate, or in a closed one.
//
//	workloads:
//	  - http: {rate: [100, 1000], connections: 16, answer: 1kB, duration: 10s}
//
// The server is Tare's own, or any program (package service), or whatever answers at a URL.
// It stays up between trials; clients and their connections last for one trial, and all its
// slices.
//
// Latency is of one trial's requests together: its quantiles come from their histogram, and
// each is there only with 100 requests beyond it.
package http

import (
	"time"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/testbed"
	"tare/workload"
	"tare/workload/http/load"
	"tare/workload/service"
	"tare/workload/staircase"
)

const name = "http"

// Config is the parameters of the workload.
type Config struct {
	Rate        factor.Levels[quantity.Frequency] `yaml:"rate" json:"rate,omitempty" doc:"requests per second that are due whatever the server does (open loop), all clients together; 1000/s if neither this nor workers is given"`
	Arrivals    load.Arrivals                     `yaml:"arrivals" json:"arrivals" doc:"how they are spread: constant, or poisson"`
	Workers     factor.Levels[int]                `yaml:"workers" json:"workers,omitempty" doc:"in place of rate, a closed loop: so many requests are under way at a time, each followed by the next one"`
	Connections factor.Levels[int]                `yaml:"connections" json:"connections" doc:"connections, all clients together"`
	Streams     factor.Levels[int]                `yaml:"streams" json:"streams" doc:"requests under way at a time on a connection of h2 or grpc"`
	PerConn     factor.Levels[int]                `yaml:"requestsPerConnection" json:"requestsPerConnection" doc:"requests after which a connection is closed and made anew; 0 for never"`
	Protocol    factor.Levels[load.Protocol]      `yaml:"protocol" json:"protocol" doc:"http/1.1, h2 (in clear with prior knowledge, over TLS by ALPN) or grpc (unary)"`
	Payload     factor.Levels[quantity.Size]      `yaml:"payload" json:"payload" doc:"bytes that a request carries; with any it is a POST"`
	Answer      factor.Levels[quantity.Size]      `yaml:"answer" json:"answer,omitempty" doc:"bytes that the builtin server answers with"`
	Path        string                            `yaml:"path" json:"path,omitempty" doc:"path and query that are asked for; that of the url if absent; of grpc /SERVICE/METHOD"`
	Paths       factor.Levels[testbed.Path]       `yaml:"paths" factor:"path" json:"paths" doc:"ways from the client's pod to the server's"`
	Server      *service.Config                   `yaml:"server" json:"server,omitempty" doc:"program that is the server; Tare's own if absent"`
	URL         string                            `yaml:"url" json:"url,omitempty" doc:"in place of a server of the testbed: http://HOST[:PORT][/PATH], or https"`
	TLS         *TLS                              `yaml:"tls" json:"tls,omitempty" doc:"encryption by the client and the server themselves"`
	Clients     factor.Levels[int]                `yaml:"clients" json:"clients" doc:"clients that share the load and begin together: processes on this machine, on a cluster pods"`
	Threads     int                               `yaml:"threads" json:"threads,omitempty" doc:"CPUs that each client, and the builtin server, may use at a time; 0 for all"`
	Duration    quantity.Duration                 `yaml:"duration" json:"duration" doc:"measured time of a trial"`
	Warmup      quantity.Duration                 `yaml:"warmup" json:"warmup" doc:"time of the same load before it that is not measured"`
	Timeout     quantity.Duration                 `yaml:"timeout" json:"timeout" doc:"time after which a request without an answer has failed"`
	Late        quantity.Percent                  `yaml:"late" json:"late" doc:"largest part of the latency, by its mean, that may be the generator's own lateness"`
	Objective   *Objective                        `yaml:"objective" json:"objective,omitempty" doc:"in place of the latency at one rate, a trial searches the highest rate at which answers are like this: its capacity; rate is where it begins"`
	Judged      []string                          `yaml:"headline" json:"headline,omitempty" doc:"metrics that are judged under the correction for many comparisons; p50, p99 and the CPU time of a request if absent"`
}

// TLS is how the client and the server encrypt. The builtin server gets a certificate of an
// authority that Tare makes for each set-up.
type TLS struct {
	CA         string `yaml:"ca" json:"ca,omitempty" doc:"file with the certificates to trust, in PEM; the system's if absent, and Tare's own for the builtin server"`
	ServerName string `yaml:"serverName" json:"serverName,omitempty" doc:"name in the server's certificate; its address if absent"`

	trusted string // what CA holds
}

// New gives the workload with its defaults.
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

// Declare says that the workload needs two pods.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{ReadFiles: c.readFiles, Validate: c.validate, Tests: experiment.TestsServer, Needs: experiment.Needs{Network: true, AppProtocol: c.appProtocol()}}
	for _, n := range c.Clients {
		d.Needs.Clients = max(d.Needs.Clients, min(n, mostClients))
	}
	if d.Needs.Clients == 1 {
		d.Needs.Clients = 0 // as without
	}
	c.Server.Declare(&d)
	return d
}

// appProtocol is what a Service says of the server.
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

// readFiles reads the certificates to trust.
func (c *Config) readFiles(read func(string) ([]byte, error)) []experiment.FieldError {
	if c.TLS == nil {
		return nil
	}
	return workload.ReadFile(read, "tls.ca", c.TLS.CA, &c.TLS.trusted)
}

// builtin says whether the server is Tare's own.
func (c *Config) builtin() bool { return c.Server == nil && c.URL == "" }

// usual is the rate of a file that gives neither rate nor workers.
const usual = quantity.Frequency(1000)

// rate is the rate in force, of all clients together; 0 in a closed loop.
func (c *Config) rate() float64 {
	if len(c.Workers) > 0 {
		return 0
	}
	if len(c.Rate) == 0 {
		return float64(usual)
	}
	return float64(c.Rate.One())
}

// Measures lists what a trial measures.
func (c *Config) Measures() experiment.Measures { return c.MeasuresWith() }

// MeasuresWith lists what a trial measures, with extra metrics of package load.
func (c *Config) MeasuresWith(extra ...string) experiment.Measures {
	m := experiment.Measures{
		Expected: (c.Warmup + c.Duration).Std() + 300*time.Millisecond,
		Limit:    (c.Warmup+c.Duration+c.Timeout).Std()*2 + 30*time.Second,
		Slice:    &experiment.Slice{}, // slices share the duration
	}
	m.Cost = &experiment.Cost{Prefix: "request", Unit: "request", Parts: []string{"client", "server"}}
	if c.URL != "" {
		m.Cost.Parts = []string{"client"}
	}
	if c.Objective != nil {
		one := c.Objective.probe(c.rate()) + 100*time.Millisecond
		m.Metrics, m.Slice = c.Objective.capacityMetrics(), nil
		m.Expected, m.Limit = c.Warmup.Std()+time.Duration(staircase.Fine.Usual+1)*one, staircase.MostTries*(2*one+drain+c.Timeout.Std())+time.Minute
		return m
	}
	requests := c.rate() * c.Duration.Std().Seconds()
	if requests == 0 {
		m.Loop = &experiment.Loop{Latency: "latency-mean", Throughput: "rate", Workers: float64(c.Workers.One())}
	}
	m.Metrics = load.Metrics(requests, c.Judged, extra...)
	return m
}
