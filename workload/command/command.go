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
// A trial runs the program once, after the warm-up runs; one that is cut into slices runs
// it once in each, and its values are those of one run on average. Without metrics it is
// timed: wall clock, CPU time and peak memory, of the program and all its
// children that it waited for. The first metric is the headline unless others
// say that they are.
//
// Standard output and error are kept with the run as they came, but for the values of
// references ($NAME): those are masked. Metrics are read before that, of what the program
// wrote. They are read from outputs of up to 16 MiB;
// what is larger invalidates the trial rather than being read in part. A metric
// that is not found invalidates the trial too, and shows what was there instead.
//
// The program sees TARE_PEER and TARE_SERVICE where it runs in a pod or node:
// the address of the server's pod, and of the service in front of it. In arguments
// $(TARE_PEER) stands for it too. On a cluster
// the pods may be of any image: nothing is asked of it but to hold the program.
//
// With a server the program is the client of one that stays up beside it, in the server's pod
// (package service), and is told its port by TARE_PORT. With factors, parts of the texts are swept:
//
//	command:
//	  run: [./client, --rate, $(qps), "http://$(TARE_PEER):$(TARE_PORT)/"]
//	  factors: {qps: [100, 1000]}
//	  server: {run: [./server, --listen, $(TARE_PORT)]}
package command

import (
	"slices"
	"time"

	"tare/experiment"
	"tare/experiment/environ"
	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/experiment/reference"
	"tare/testbed"
	"tare/workload"
	"tare/workload/service"
)

// Config is the parameters of the workload.
type Config struct {
	Command reference.Arguments `yaml:"run" json:"run,omitempty" doc:"program and arguments, which may hold $NAME and $(file:PATH); either this or shell"`
	Shell   string              `yaml:"shell" json:"shell,omitempty" doc:"text for /bin/sh -c; either this or run"`
	Env     environ.Variables   `yaml:"env" json:"env,omitempty" doc:"variables to add; $NAME takes a value from the environment of tare, $(file:PATH) from a file, $$ is a $"`
	Dir     string              `yaml:"dir" json:"dir,omitempty" doc:"working directory; that of tare if absent"`
	In      testbed.Place       `yaml:"in" json:"in" doc:"where the program runs"`
	Image   string              `yaml:"image" json:"image,omitempty" pattern:"^[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,500}$" form:"the reference of an image" doc:"image of the pods that the program is in, on a cluster; that of the testbed if absent"`
	Timeout quantity.Duration   `yaml:"timeout" json:"timeout" doc:"how long one run of the program may take"`
	Warmup  int                 `yaml:"warmup" json:"warmup" doc:"runs in each trial before the one that counts"`
	Expects quantity.Duration   `yaml:"expect" json:"expect,omitempty" doc:"how long one run is expected to take, for the plan's estimate"`
	OK      []int               `yaml:"ok" json:"ok" doc:"exit statuses that count as success"`
	Expect  Expected            `yaml:"expectOutput" json:"expectOutput,omitempty" doc:"same: every arm must print the same bytes on stdout; if absent, only a very different amount is told"`
	Makes   []string            `yaml:"files" json:"files,omitempty" doc:"files that each run of the program writes anew, on the machine that Tare runs on; arms are compared by whether it does"`
	// Server and Factors are left out of plans that have none.
	Server  *service.Config `yaml:"server" json:"server,omitempty" doc:"a server that stays up in the server's pod between trials; the program is then its client, in the client's pod"`
	Factors factor.Named    `yaml:"factors" json:"factors,omitempty" doc:"levels by name: $(NAME) in the texts of run, shell, env and server stands for the level of a trial"`
	Judged  []string        `yaml:"headline" json:"headline,omitempty" doc:"metrics that are judged under the correction for many comparisons, in place of what metrics say: [cpu]"`
	Read    []Metric        `yaml:"metrics" json:"metrics,omitempty" doc:"what is measured; wall clock, CPU time and peak memory if absent"`
}

// Metric is one metric and where it is read from: exactly one of From, Regex
// and JSON.
type Metric struct {
	Name     string            `yaml:"name" json:"name" required:"true" doc:"name of the metric: lower-case letters, digits and dashes"`
	From     Source            `yaml:"from" json:"from,omitempty" doc:"what the program used"`
	Regex    string            `yaml:"regex" json:"regex,omitempty" doc:"regular expression with one group around the number; ^ and $ match at each line"`
	JSON     string            `yaml:"json" json:"json,omitempty" doc:"path of the number in JSON output: results[0].p99"`
	Output   Output            `yaml:"output" json:"output,omitempty" doc:"where regex and json look"`
	Which    Which             `yaml:"which" json:"which,omitempty" doc:"which of several matches, or of several JSON documents; first if absent"`
	Unit     string            `yaml:"unit" json:"unit,omitempty" doc:"unit of the number, as it is to be shown"`
	Better   experiment.Better `yaml:"better" json:"better,omitempty" doc:"direction that is good; lower if absent"`
	Scale    experiment.Scale  `yaml:"scale" json:"scale,omitempty" doc:"ratio for what is never zero, which is usual; difference for what may be, such as a count of errors"`
	Discrete bool              `yaml:"discrete" json:"discrete,omitempty" doc:"whether the same value in every trial is to be expected; otherwise such a metric is taken to measure nothing"`
	Headline *bool             `yaml:"headline" json:"headline,omitempty" doc:"whether it is judged under the correction for many comparisons; the first metric is if none says so"`
}

// Source is something that the program used.
type Source string

// The sources.
const (
	WallClock  Source = "wall-clock"  // s
	UserCPU    Source = "user-cpu"    // s
	SystemCPU  Source = "system-cpu"  // s
	CPU        Source = "cpu"         // user and system, s
	PeakMemory Source = "peak-memory" // B
)

// Values lists the sources.
func (Source) Values() []string {
	return []string{string(WallClock), string(UserCPU), string(SystemCPU), string(CPU), string(PeakMemory)}
}

func (s Source) unit() string {
	if s == PeakMemory {
		return "B"
	}
	return "s"
}

func (s Source) value(u testbed.Usage) float64 {
	switch s {
	case UserCPU:
		return u.User.Seconds()
	case SystemCPU:
		return u.System.Seconds()
	case CPU:
		return u.CPU().Seconds()
	case PeakMemory:
		return float64(u.MaxRSS)
	}
	return u.Wall.Seconds()
}

// Output is one of the program's outputs.
type Output string

// The outputs.
const (
	Stdout Output = "stdout"
	Stderr Output = "stderr"
)

// Values lists the outputs.
func (Output) Values() []string { return []string{string(Stdout), string(Stderr)} }

// Which says which of several numbers is taken.
type Which string

// The choices.
const (
	First Which = "first"
	Last  Which = "last"
	Sum   Which = "sum"
	Mean  Which = "mean"
)

// Values lists the choices.
func (Which) Values() []string {
	return []string{string(First), string(Last), string(Sum), string(Mean)}
}

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

// Declare says what the workload needs, and which program it starts.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, Needs: c.needs(), Programs: c.programs(), Replaceable: true,
		Elsewhere: "there are no images on this machine: leave image out, and its own program runs"}
}

// place is where the program runs: that of a server's client is a pod, unless the file says
// another place.
func (c *Config) place() testbed.Place {
	if c.Server != nil && c.In == testbed.Host {
		return testbed.ClientPod
	}
	return c.In
}

// needs asks for the network when the program runs in a pod or node, and for a
// cluster when its pods are to have an image of their own.
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

// metrics are those given, or else how much time and memory the program takes.
// The latter two are optional: the kernel may account a program that ends at
// once with neither.
func (c *Config) metrics() []Metric {
	if len(c.Read) > 0 {
		return c.Read
	}
	if c.Server != nil { // whose Cost has the other two, of both sides
		return []Metric{{Name: "wall-clock", From: WallClock}}
	}
	return []Metric{{Name: "wall-clock", From: WallClock}, {Name: "cpu", From: CPU}, {Name: "peak-memory", From: PeakMemory}}
}

// Measures says what a trial measures, and how long it takes.
func (c *Config) Measures() experiment.Measures {
	one := c.Expects.Std()
	if one == 0 {
		one = usual
	}
	runs := time.Duration(c.Warmup + 1)
	longest := c.Timeout.Std() + time.Second
	m := experiment.Measures{Metrics: c.measured(), Expected: runs * one, Limit: runs * longest,
		Slice: &experiment.Slice{Expected: one, Limit: longest}}
	for _, metric := range c.metrics() {
		if metric.From == CPU {
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
		e := experiment.Metric{Name: m.Name, Unit: m.Unit, Better: m.Better, Scale: m.Scale, Discrete: m.Discrete || m.From == PeakMemory, FromStart: m.From == WallClock}
		if m.From != "" {
			e.Unit = m.From.unit()
		}
		if e.Better == "" {
			e.Better = experiment.Lower
		}
		if e.Scale == "" {
			e.Scale = experiment.Ratio
		}
		if m.Headline != nil {
			e.Headline = *m.Headline
			chosen = true
		}
		e.Optional = len(c.Read) == 0 && m.From != WallClock
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

// usual is what a run is expected to take if nothing is said.
const usual = time.Second
