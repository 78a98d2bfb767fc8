// Package syscalls measures small operations of the kernel, such as opening a file. In each operation, a sandbox or a
// Linux security module has one or a few hooks. Most operations are taken from UnixBench. The other operations are
// connect, bind, ptrace, mount and the check of a capability.
//
//	workloads:
//	  - syscalls: {tests: [getppid, pipe, open], duration: 1s}
//
// Each test is a separate cell; there is no index over all tests. docs/syscalls.md describes one operation of each
// test.
//
// The measured program is the probe (directory probe): a static program of a few kB that makes raw system calls. Go's
// runtime would distort the times by its threads, preemption signals and garbage collector. A process with threads
// cannot fork cheaply, and cannot unshare a mount namespace. All tests use the probe. The helper of this package
// replaces itself by the probe from memory. The probe therefore needs no file, and starts inside the layers like any
// command under test.
//
// The headline is CPU time. Wall clock also contains waits for a CPU that other programs use. For example, on two CPUs
// with a load of 5 to 17, runs of a second spread by 50 to 120 % in wall clock, and by 11 to 28 % in CPU time.
//
// Slices, processes, trials: a process measures batches of about a millisecond. The value of a process is the median of
// its batches. Chance gives each process properties that all of its batches share, such as the location of its memory.
// Intervals computed from batches would therefore claim differences between equal arms. Each trial, and each slice,
// starts new processes. The value of a trial is the mean over its processes. The unit of analysis is the trial, or the
// set-up if several trials share one (package internal/analysis/contrast).
package syscalls

import (
	"fmt"
	"path"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/workload"
)

const name = "syscalls"

// Test is the name of one of the tests in tests, such as "fork".
type Test string

// tests lists the tests in the order of docs/syscalls.md.
var tests = []string{
	"getppid", "pipe", "context-switch", "open", "stat",
	"read-256", "read-1024", "read-4096", "write-256", "write-1024", "write-4096", "copy-256", "copy-1024", "copy-4096",
	"fork", "execl", "shell", "socket", "bind", "connect", "connect-tcp", "ptrace", "mount", "capability",
}

// Values lists the tests.
func (Test) Values() []string { return slices.Clone(tests) }

// Config is the parameters of the workload.
type Config struct {
	Tests     factor.Levels[Test] `yaml:"tests" factor:"test" json:"tests" doc:"operations, each measured in separate trials"`
	Duration  quantity.Duration   `yaml:"duration" json:"duration" doc:"measured time of a trial; slices share it"`
	Processes int                 `yaml:"processes" json:"processes" min:"1" doc:"processes of a trial, one after the other, each with its own memory layout; a slice has at least one"`
	In        testbed.Place       `yaml:"in" json:"in" doc:"place where the processes run: client-pod, server-pod (for layers around the server), or host, which is Tare's own machine and needs no network"`
	Image     string              `yaml:"image" json:"image,omitempty" pattern:"^[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,500}$" form:"the reference of an image" doc:"on a cluster, image of the pods; if absent, the testbed's image"`
	File      string              `yaml:"file" json:"file,omitempty" doc:"file for the tests open and stat; Tare's own program if absent"`
	Directory string              `yaml:"directory" json:"directory" doc:"directory for the unnamed files of read, write and copy; mount binds it to itself"`
	Judged    []string            `yaml:"headline" json:"headline,omitempty" doc:"metrics that are judged under the correction for many comparisons: operation-cpu if absent"`
}

// New gives the workload with its defaults.
func New() workload.Workload {
	c := &Config{Duration: quantity.Duration(time.Second), Processes: 8, In: testbed.ClientPod, Directory: "/tmp"}
	for _, t := range tests {
		c.Tests = append(c.Tests, Test(t))
	}
	return c
}

// Kind describes the workload.
var Kind = workload.Kind{
	Name:    name,
	Summary: "operations of the kernel that sandboxes guard: CPU time and wall clock of one (a program of Tare's own)",
	New:     New,
	Probe:   probe,
	Helpers: []testbed.Helper{Helper},
}

// Declare says where the workload can run. The place host exists on the local testbed only: the layers of a cluster
// do not act on Tare's machine.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Validate: c.validate}
	if c.In != testbed.Host {
		d.Needs.Network, d.Needs.Image = true, c.Image
		d.Elsewhere = "there are no images on this machine: leave image out"
		if c.Image != "" {
			d.Needs.Only = experiment.TestbedKubernetes
		}
		return d
	}
	d.Needs.Only, d.Elsewhere = experiment.TestbedLocal, "leave in out: the pod of the client is there on both testbeds"
	return d
}

const (
	leastDuration = 20 * time.Millisecond
	longest       = time.Hour
	mostProcesses = 1000
	mostPath      = 3000                 // longest path in bytes; the probe stores a path in 4 KiB
	leastProcess  = 5 * time.Millisecond // shortest measured time of a process: long enough for some batches
)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	workload.CheckTime(&errs, "duration", c.Duration, leastDuration, longest)
	if c.Processes > mostProcesses {
		errs.Add("processes", "%d are more than %d processes", c.Processes, mostProcesses)
	} else if c.Processes > 0 && c.Duration.Std()/time.Duration(c.Processes) < leastProcess {
		errs.Add("processes", "%d processes have less than %v each of a duration of %v", c.Processes, leastProcess, c.Duration)
	}
	if places := []testbed.Place{testbed.Host, testbed.ClientPod, testbed.ServerPod}; !slices.Contains(places, c.In) {
		errs.Add("in", "%s is not one of %s", c.In, places)
	}
	if c.Image != "" && c.In == testbed.Host {
		errs.Add("image", "programs on the host use no image: leave out image, or in: host")
	}
	for field, value := range map[string]string{"file": c.File, "directory": c.Directory} {
		if value != "" && !path.IsAbs(value) || len(value) > mostPath {
			errs.Add(field, "%q is not an absolute path of up to %d bytes", value, mostPath)
		}
	}
	if c.Directory == "" {
		errs.Add("directory", "no directory is given")
	}
	for i, m := range c.Judged {
		if !slices.Contains(metricNames, m) {
			errs.Add(fmt.Sprintf("headline[%d]", i), "%q is not one of %v", m, metricNames)
		}
	}
	return errs
}

// Names of the metrics. Each metric is the time of one operation.
const (
	cpuMetric  = "operation-cpu"      // CPU time: median over the batches of a process
	wallMetric = "operation-wall"     // wall clock: median over the batches of a process
	meanMetric = "operation-cpu-mean" // CPU time: mean over all batches
)

var metricNames = []string{cpuMetric, wallMetric, meanMetric}

// A slice takes startUp, and processStartUp for each of its processes, in addition to its measured time.
const (
	startUp        = 60 * time.Millisecond
	processStartUp = 3 * time.Millisecond
)

// Measures returns the metrics of a trial, and its duration.
func (c *Config) Measures() experiment.Measures {
	m := experiment.Measures{
		Expected: c.Duration.Std() + startUp + time.Duration(c.Processes)*processStartUp,
		Limit:    5*c.Duration.Std() + time.Minute,
		Slice:    &experiment.Slice{Expected: startUp, Limit: time.Second}, // slices share the duration
	}
	for _, n := range metricNames {
		m.Metrics = append(m.Metrics, experiment.Metric{
			Name: n, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Headline: slices.Contains(c.Judged, n) || len(c.Judged) == 0 && n == cpuMetric,
		})
	}
	return m
}
