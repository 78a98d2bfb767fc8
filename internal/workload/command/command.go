// Package command runs any program as a workload and reads its metrics.
//
//	workloads:
//	  - command:
//	      run: [./bench.sh, --fast]
//	      warmup: 1
//	      metrics:
//	        - {name: latency, unit: ms, better: lower, regex: 'took ([0-9.]+) ms'}
//	        - {name: throughput, unit: req/s, better: higher, json: 'results[0].rate'}
//	        - {name: wall, from: wall-clock}
//
// A trial runs the program once, after the warm-up runs. In a trial in slices, each slice runs the program once, and
// values are averages over these runs. If the file gives no metrics, Tare measures wall clock, CPU time and peak
// memory, including children that the program waited for. The first metric is the headline unless the file chooses
// others.
//
// Standard output and error are kept with the run. Only the values of references ($NAME) are masked. Metrics are read
// from the original output. A trial is invalid if this output is larger than 16 MiB, or if a metric is not found.
//
// In a pod or node the program has the variables TARE_PEER and TARE_SERVICE: the address of the server's pod, and the
// address of the service in front of this pod. In arguments, $(TARE_PEER) and $(TARE_SERVICE) stand for these
// addresses. On a cluster the pods may use any image that contains the program.
//
// With a server, the program is its client. The server stays up in the server's pod (package service), at the port
// TARE_PORT. With factors, texts contain names such as $(qps). Each stands for the trial's level of the factor:
//
//	command:
//	  run: [./client, --rate, $(qps), "http://$(TARE_PEER):$(TARE_PORT)/"]
//	  factors: {qps: [100, 1000]}
//	  server: {run: [./server, --listen, $(TARE_PORT)]}
package command

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/environ"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/reference"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/service"
)

// Config is the parameters of the workload.
type Config struct {
	Command reference.Arguments `yaml:"run" json:"run,omitempty" doc:"program and arguments, which may hold $NAME and $(file:PATH); either this or shell"`
	Shell   string              `yaml:"shell" json:"shell,omitempty" doc:"text for /bin/sh -c; either this or run"`
	Env     environ.Variables   `yaml:"env" json:"env,omitempty" doc:"variables to add; $NAME takes a value from the environment of tare, $(file:PATH) from a file, $$ is a $"`
	Dir     string              `yaml:"dir" json:"dir,omitempty" doc:"working directory; if absent, the directory that tare was started in"`
	In      testbed.Place       `yaml:"in" json:"in" doc:"where the program runs"`
	Image   string              `yaml:"image" json:"image,omitempty" pattern:"^[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,500}$" form:"the reference of an image" doc:"on a cluster, image of the pods, which holds the program; if absent, the testbed's image"`
	Timeout quantity.Duration   `yaml:"timeout" json:"timeout" doc:"how long one run of the program may take"`
	Warmup  int                 `yaml:"warmup" json:"warmup" doc:"runs in each trial before the one that counts"`
	Expects quantity.Duration   `yaml:"expect" json:"expect,omitempty" doc:"how long one run is expected to take, for the plan's estimate"`
	OK      []int               `yaml:"ok" json:"ok" doc:"exit statuses that count as success"`
	Expect  expected            `yaml:"expectOutput" json:"expectOutput,omitempty" enum:"same" doc:"same: every arm must print the same bytes on stdout; if absent, only a very different amount is reported"`
	Makes   []string            `yaml:"files" json:"files,omitempty" doc:"files that each run of the program writes again, on the machine that Tare runs on; Tare reports arms whose runs do not"`
	Server  *service.Config     `yaml:"server" json:"server,omitempty" doc:"a server that stays up in the server's pod between trials; the program is then its client, in the client's pod"`
	Factors factor.Named        `yaml:"factors" json:"factors,omitempty" doc:"levels by name: $(NAME) in the texts of run, shell, env and server stands for the level of a trial"`
	Judged  []string            `yaml:"headline" json:"headline,omitempty" doc:"metrics that are judged under the correction for many comparisons, in place of the choice in metrics: [cpu]"`
	Read    []metric            `yaml:"metrics" json:"metrics,omitempty" doc:"metrics; wall clock, CPU time and peak memory if absent"`
}

// metric is one metric and its source, which is exactly one of From, Regex and JSON.
type metric struct {
	Name     string            `yaml:"name" json:"name" required:"true" doc:"name of the metric: lower-case letters, digits and dashes"`
	Label    string            `yaml:"label" json:"label,omitempty" pattern:"^[^\\x00-\\x1f\\x7f]{1,60}$" form:"up to 60 characters on one line" doc:"name of the metric that people see in reports; the metric's name if absent"`
	From     source            `yaml:"from" json:"from,omitempty" enum:"wall-clock,user-cpu,system-cpu,cpu,peak-memory" doc:"resource of the program that is the metric's value"`
	Regex    string            `yaml:"regex" json:"regex,omitempty" doc:"regular expression with one group around the number; ^ and $ match at each line"`
	JSON     string            `yaml:"json" json:"json,omitempty" doc:"path of the number in JSON output: results[0].p99"`
	Output   stream            `yaml:"output" json:"output,omitempty" enum:"stdout,stderr" doc:"where regex and json look"`
	Which    choice            `yaml:"which" json:"which,omitempty" enum:"first,last,sum,mean" doc:"which of several matches, or of several JSON documents; first if absent"`
	Unit     string            `yaml:"unit" json:"unit,omitempty" doc:"unit of the number, as Tare shows it"`
	Better   experiment.Better `yaml:"better" json:"better,omitempty" enum:"higher,lower" doc:"better direction; lower if absent"`
	Scale    experiment.Scale  `yaml:"scale" json:"scale,omitempty" enum:"ratio,difference" doc:"ratio for a metric that is never zero, which is usual; difference for one that may be zero, such as a count of errors"`
	Discrete bool              `yaml:"discrete" json:"discrete,omitempty" doc:"true if the metric may have the same value in every trial; otherwise Tare takes such a metric to measure nothing"`
	Headline *bool             `yaml:"headline" json:"headline,omitempty" doc:"whether the metric is judged under the correction for many comparisons; if no metric has this field, the first one is"`
}

// source is a resource that the program used.
type source string

const (
	wallClock  source = "wall-clock"  // wall-clock time of the program, in s
	userCPU    source = "user-cpu"    // CPU time in user mode, in s
	systemCPU  source = "system-cpu"  // CPU time in the kernel, in s
	cpu        source = "cpu"         // user and system CPU time, in s
	peakMemory source = "peak-memory" // highest resident memory, in bytes
)

func (s source) unit() string {
	if s == peakMemory {
		return "B"
	}
	return "s"
}

func (s source) value(u testbed.Usage) float64 {
	switch s {
	case userCPU:
		return u.User.Seconds()
	case systemCPU:
		return u.System.Seconds()
	case cpu:
		return u.CPU().Seconds()
	case peakMemory:
		return float64(u.MaxRSS)
	}
	return u.Wall.Seconds()
}

// stream names an output of the program.
type stream string

const (
	stdout stream = "stdout"
	stderr stream = "stderr"
)

// choice is the way to get one number from an output that contains several.
type choice string

const (
	first choice = "first"
	last  choice = "last"
	sum   choice = "sum"
	mean  choice = "mean"
)

// New gives the workload with its defaults.
func New() workload.Workload {
	return &Config{In: testbed.Host, Timeout: quantity.Duration(10 * time.Minute), OK: []int{0}}
}

// Kind describes the workload.
var Kind = workload.Kind{
	Name:    "command",
	Summary: "any program: wall clock, CPU time, memory, or numbers from its output",
	Example: "run: [gzip, -1, -k, -f, big]",
	New:     New,
	Probe:   testbed.AlwaysWorks("command", "any program"),
	Helpers: []testbed.Helper{service.Helper},
}

// Declare lists the needs of the workload, and the program that it starts.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, Needs: c.needs(), Programs: c.programs(), Replaceable: true,
		Elsewhere: "there are no images on this machine: leave image out, and its own program runs"}
}

// place returns the place where the program runs. The client of a server runs in a pod, unless the file gives another
// place.
func (c *Config) place() testbed.Place {
	if c.Server != nil && c.In == testbed.Host {
		return testbed.ClientPod
	}
	return c.In
}

// needs returns the workload's needs of a testbed: a network unless the program runs on the host, and a cluster if the
// file gives an image.
func (c *Config) needs() experiment.Needs {
	in := c.place()
	needs := experiment.Needs{Network: in != testbed.Host, HostNetwork: in == testbed.ClientNode || in == testbed.ServerNode, Image: c.Image}
	if c.Image != "" {
		needs.Only = experiment.TestbedKubernetes
	} else if c.Server != nil {
		needs.Image = c.Server.Image
	}
	return needs
}

// metrics returns the metrics in the file. The default is wall clock and, without a server, CPU time and peak memory.
func (c *Config) metrics() []metric {
	if len(c.Read) > 0 {
		return c.Read
	}
	if c.Server != nil { // with a server, experiment.Cost gives CPU time and memory
		return []metric{{Name: "wall-clock", From: wallClock}}
	}
	return []metric{{Name: "wall-clock", From: wallClock}, {Name: "cpu", From: cpu}, {Name: "peak-memory", From: peakMemory}}
}

// Measures returns the metrics of a trial, and its duration.
func (c *Config) Measures() experiment.Measures {
	one := cmp.Or(c.Expects.Std(), usual)
	runs := time.Duration(c.Warmup + 1)
	longest := c.Timeout.Std() + time.Second
	m := experiment.Measures{Metrics: c.measured(), Expected: runs * one, Limit: runs * longest,
		Slice: &experiment.Slice{Expected: one, Limit: longest}}
	for _, metric := range c.metrics() {
		if metric.From == cpu {
			m.CPU = metric.Name
		}
	}
	if c.Server != nil {
		m.Cost = &experiment.Cost{Prefix: "run", Unit: "run", Parts: []string{"client", "server"}}
	}
	return m
}

func (c *Config) measured() []experiment.Metric {
	var metrics []experiment.Metric
	chosen := false
	for _, m := range c.metrics() {
		e := experiment.Metric{Name: m.Name, Label: m.Label, Unit: m.Unit, Better: cmp.Or(m.Better, experiment.Lower), Scale: cmp.Or(m.Scale, experiment.Ratio), Discrete: m.Discrete || m.From == peakMemory, FromStart: m.From == wallClock}
		if m.From != "" {
			e.Unit = m.From.unit()
		}
		if m.Headline != nil {
			e.Headline = *m.Headline
			chosen = true
		}
		e.Optional = len(c.Read) == 0 && m.From != wallClock
		metrics = append(metrics, e)
	}
	switch {
	case len(c.Judged) > 0:
		for i, m := range metrics {
			metrics[i].Headline = slices.Contains(c.Judged, m.Name)
		}
	case !chosen:
		metrics[0].Headline = metrics[0].Scale == experiment.Ratio
	}
	return metrics
}

const usual = time.Second

func (c *Config) filler() *strings.Replacer { return factor.Filler(c.Factors) }

func (c *Config) filledServer() *service.Config {
	s, fill := *c.Server, c.filler()
	s.Run, s.Env = filled(fill, s.Run), maps.Clone(s.Env)
	for name, value := range s.Env {
		s.Env[name] = fill.Replace(value)
	}
	return &s
}

func filled(fill *strings.Replacer, texts []string) []string {
	texts = slices.Clone(texts)
	for i, text := range texts {
		texts[i] = fill.Replace(text)
	}
	return texts
}

// checkFactors reports factors whose names a text cannot contain, and factors that no text uses.
func (c *Config) checkFactors(errs *experiment.FieldErrors) {
	texts := slices.AppendSeq(append(slices.Clone([]string(c.Command)), c.Shell), maps.Values(c.Env))
	if c.Server != nil {
		texts = slices.AppendSeq(append(texts, c.Server.Run...), maps.Values(c.Server.Env))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Factors)) {
		if err := factor.CheckNamed(c.Factors, name, texts, nil); err != nil {
			errs.Add("factors."+name, "%v", err)
		}
	}
}
