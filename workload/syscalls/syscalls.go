// Package syscalls measures small operations of the kernel, each of which passes one or a few of
// the hooks that a sandbox or a Linux security module guards: what UnixBench measures, and
// connect, bind, ptrace, mount and the check of a capability beside it.
//
//	workloads:
//	  - syscalls: {tests: [getppid, pipe, open], duration: 1s}
//
// Each test is a cell of its own; no index is made of them. docs/syscalls.md says what one
// operation of each is.
//
// What is measured is the probe (directory probe): a static program of a few kB that makes raw
// system calls. Nothing of Go's runtime is in what is timed: its threads, its signals for
// preemption and its collector would be, and a process with threads can neither fork cheaply nor
// unshare a mount namespace. Of the tests only getppid, stat and the like could be
// done in Go nearly honestly; they are in the probe as well, so that one thing is compared. The helper
// of this package executes the probe from memory, in place of itself: no file of it is needed where
// it runs, and it is started in whatever layers put around a command under test.
//
// The headline is CPU time. On a machine that is shared, wall clock tells how much of the CPU
// others left: at a load of 5 to 17 on two CPUs, runs of a second spread by 50 to 120 % in wall
// clock, and by 11 to 28 % in CPU time.
//
// Slices, processes, trials: a process does batches of about a millisecond, and its value is
// their median. What a process draws by chance (where its memory is, in which page frames) stays with it
// over all its batches, so that batches are no units; intervals made of them claim differences between
// equals. A trial, and each slice, begins processes anew, and its value is the mean of theirs; the
// trial is the unit, or the set-up where several trials share one (package analysis/contrast).
package syscalls

import (
	"fmt"
	"path"
	"slices"
	"time"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/testbed"
	"tare/workload"
)

const name = "syscalls"

// Test is one of the tests, by its name in the probe.
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
	Tests     factor.Levels[Test] `yaml:"tests" factor:"test" json:"tests" doc:"operations, each measured in trials of its own"`
	Duration  quantity.Duration   `yaml:"duration" json:"duration" doc:"measured time of a trial; slices share it"`
	Processes int                 `yaml:"processes" json:"processes" min:"1" doc:"processes of a trial, one after the other, each with a memory layout of its own; a slice has one at least"`
	In        testbed.Place       `yaml:"in" json:"in" doc:"where they run: client-pod, server-pod (for layers that are around the server), or host, which is the machine that Tare is on and needs no network"`
	Image     string              `yaml:"image" json:"image,omitempty" pattern:"^[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,500}$" form:"the reference of an image" doc:"image of the pods, on a cluster; that of the testbed if absent"`
	File      string              `yaml:"file" json:"file,omitempty" doc:"file that open and stat are about; Tare's own program if absent"`
	Directory string              `yaml:"directory" json:"directory" doc:"where read, write and copy have files without a name, and what mount binds to itself"`
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

// Declare says where the workload runs. The machine that Tare is on has none of a cluster's layers.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Validate: c.validate}
	if c.In != testbed.Host {
		d.Needs.Network, d.Needs.Image = true, c.Image
		if c.Image != "" {
			d.Needs.Only, d.Elsewhere = experiment.TestbedKubernetes, "there are no images on this machine: leave image out"
		}
		return d
	}
	d.Needs.Only, d.Elsewhere = experiment.TestbedLocal, "leave in out: the pod of the client is there on both testbeds"
	return d
}

// Bounds of the parameters.
const (
	leastDuration = 20 * time.Millisecond
	longest       = time.Hour
	mostProcesses = 1000
)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if d := c.Duration.Std(); d < leastDuration || d > longest {
		errs.Add("duration", "%v is not a time from %v to %v", c.Duration, quantity.Duration(leastDuration), quantity.Duration(longest))
	}
	if c.Processes > mostProcesses {
		errs.Add("processes", "%d are more than %d processes", c.Processes, mostProcesses)
	} else if c.Processes > 0 && c.Duration.Std()/time.Duration(c.Processes) < leastProcess {
		errs.Add("processes", "%d processes have less than %v each of a duration of %v", c.Processes, leastProcess, c.Duration)
	}
	if places := []testbed.Place{testbed.Host, testbed.ClientPod, testbed.ServerPod}; !slices.Contains(places, c.In) {
		errs.Add("in", "%s is not one of %s", c.In, places)
	}
	if c.Image != "" && c.In == testbed.Host {
		errs.Add("image", "programs on the host are in no image: leave in out")
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

// mostPath bounds a path: the probe keeps one in 4 KiB.
const mostPath = 3000

// leastProcess is how long a process measures at least: some batches.
const leastProcess = 5 * time.Millisecond

// The metrics, each the time of one operation.
const (
	cpuMetric  = "operation-cpu"      // CPU time: the median batch of a process
	wallMetric = "operation-wall"     // wall clock, in the same way
	meanMetric = "operation-cpu-mean" // CPU time of all batches together
)

var metricNames = []string{cpuMetric, wallMetric, meanMetric}

// startUp is what beginning a slice takes beside what is measured; each process takes a little more.
const (
	startUp        = 60 * time.Millisecond
	processStartUp = 3 * time.Millisecond
)

// Measures says what a trial measures.
func (c *Config) Measures() experiment.Measures {
	judged := c.Judged
	if len(judged) == 0 {
		judged = []string{cpuMetric}
	}
	m := experiment.Measures{
		Expected: c.Duration.Std() + startUp + time.Duration(c.Processes)*processStartUp,
		Limit:    5*c.Duration.Std() + time.Minute,
		Slice:    &experiment.Slice{Expected: startUp, Limit: time.Second}, // slices share the duration
	}
	for _, n := range metricNames {
		m.Metrics = append(m.Metrics, experiment.Metric{
			Name: n, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Headline: slices.Contains(judged, n),
		})
	}
	return m
}
