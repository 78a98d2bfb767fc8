// Package startup measures the cost of a sandbox's start: the time from a start to the first byte that the program
// prints, and the memory and CPU time of idle instances.
//
//	workloads:
//	  - startup: {starts: 20}
//	  - name: density
//	    startup: {instances: [1, 10, 100]}
//
// On this machine an instance is a process of the program, with the layers around it. On a cluster an
// instance is a pod like the arm's own pod, with the same layers, in which the program is started (pods.go).
//
// # Cold starts
//
// A trial starts the program many times, one start after the other. Concurrent starts would wait for each
// other, and measure the size of the machine. Each start makes a new instance; the files that the instance
// needs are in the page cache after the warm-up starts, in all arms alike. The metrics are the mean of the
// trial's starts, and the quantiles (p50, p90) that at least a hundred starts exceed.
//
// On this machine the time runs from the fork to the first byte at Tare's end of a pipe. On a cluster it runs from
// the request that makes the pod, by Tare's clock, since times in the Kubernetes API are whole seconds. A pod counts
// as scheduled, started or ready when a watch shows that state.
//
// # Density
//
// With instances, a trial starts this many instances that stay, waits, and reads the resources that all of
// them use together. On this machine the memory is PSS: a page that n processes share counts 1/n in each. The
// sum over the instances counts a shared page at most once. In a line through the levels of instances, the
// shared pages are in the base, and not in the slope. Cgroups would count the kernel's own memory too, but
// charge a shared page to the process that touched it first. Neither PSS nor cgroups see a process that runs
// elsewhere. On a cluster the memory is the working set of the pods' cgroups, which includes the runtime's
// own processes. Only the node can read it (testbed.kubernetes.accounting).
package startup

import (
	"cmp"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/reference"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/workload"
	"tare/internal/workload/startup/firstbyte"
)

// Config is the parameters of the workload.
type Config struct {
	Command   reference.Arguments `yaml:"run" json:"run,omitempty" doc:"program and its arguments; the program prints something when it has started. If absent, a program of Tare's with a few hundred bytes that prints one byte"`
	Starts    int                 `yaml:"starts" json:"starts" min:"1" max:"10000" doc:"starts in a trial, one after the other"`
	Warmup    int                 `yaml:"warmup" json:"warmup" min:"0" max:"1000" doc:"starts before the measured ones"`
	Instances factor.Levels[int]  `yaml:"instances" json:"instances,omitempty" min:"1" max:"1000" doc:"number of idle instances, whose memory and CPU time are measured in place of starts"`
	Duration  quantity.Duration   `yaml:"duration" json:"duration" doc:"how long CPU time of idle instances is counted"`
	Settle    quantity.Duration   `yaml:"settle" json:"settle" doc:"time between the first byte of the last instance and the measurement"`
	Stays     bool                `yaml:"stays" json:"stays,omitempty" doc:"true: the program does not end by itself, and is killed after its first byte. false: the trial waits for its end"`
	Timeout   quantity.Duration   `yaml:"timeout" json:"timeout" doc:"how long one start may take"`
	Expects   quantity.Duration   `yaml:"expect" json:"expect,omitempty" doc:"how long one start is expected to take, for the estimate of tare plan"`
	Image     string              `yaml:"image" json:"image,omitempty" doc:"on a cluster, image of the pods, with the program in it; the testbed's if absent"`
}

const name = "startup"

const usual = 100 * time.Millisecond

// New gives the workload with its defaults.
func New() workload.Workload {
	return &Config{Starts: 20, Warmup: 1, Duration: quantity.Duration(2 * time.Second), Settle: quantity.Duration(time.Second),
		Timeout: quantity.Duration(time.Minute)}
}

// Kind describes the workload.
var Kind = workload.Kind{
	Name:    name,
	Summary: "cold starts, from the start of a program or pod to its first byte; memory and CPU of idle ones",
	New:     New,
	Probe:   testbed.AlwaysWorks(name, "any program; without one, Tare's own"),
	Helpers: firstbyte.Helpers,
}

// Declare lists the needs of the workload: on a cluster, a pod in which the layers' proofs run and which takes the
// calls of the started pods.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Validate: c.validate, Needs: experiment.Needs{OwnPod: true, Image: c.Image}, Rights: rights, Replaceable: true}
	if len(c.Command) > 0 && c.Image == "" {
		d.Programs = []experiment.Program{{Name: c.Command[0], Where: experiment.AtSite}}
	}
	return d
}

func rights(namespace string) []experiment.Right {
	verbs := append([]string{"create", "delete", "list", "watch"}, inventory.RemovalVerbs...)
	return []experiment.Right{{Resource: "pods", Namespace: namespace, Verbs: verbs, Why: "the workload startup makes pods and watches them start"}}
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.Command) > 0 && c.Command[0] == "" {
		errs.Add("run[0]", "the program has no name")
	}
	errs = append(errs, c.Command.Validate("run")...)
	between := func(field string, d quantity.Duration, least time.Duration) {
		if d.Std() < least || d.Std() > time.Hour {
			errs.Add(field, "%v is not between %v and %v", d, quantity.Duration(least), quantity.Duration(time.Hour))
		}
	}
	between("timeout", c.Timeout, 10*time.Millisecond)
	between("duration", c.Duration, 100*time.Millisecond)
	between("settle", c.Settle, 0)
	between("expect", c.Expects, 0)
	if len(c.Instances) > 0 && c.Stays {
		errs.Add("stays", "idle instances stay in any case: leave it out")
	}
	return errs
}

const (
	mean          = "start-mean"     // in s
	memory        = "memory"         // memory of all instances, in bytes
	cpu           = "cpu"            // CPUs that all instances use together
	machineMemory = "memory-machine" // in bytes
)

// phases lists the phases of a pod in the order in which a pod reaches them.
var phases = []string{"pod-created", "pod-scheduled", "pod-started", "pod-ready"}

var cost = experiment.Cost{Prefix: "start", Unit: "start", Parts: []string{"program"}}

// Measures returns the metrics of a trial, and its duration.
func (c *Config) Measures() experiment.Measures {
	one := cmp.Or(c.Expects.Std(), usual)
	if n := c.Instances.OrZero(); n > 0 {
		watched := c.Settle.Std() + c.Duration.Std()
		return experiment.Measures{Expected: time.Duration(n)*one + watched, Limit: time.Duration(n+1)*2*c.Timeout.Std() + watched,
			Metrics: []experiment.Metric{
				{Name: memory, Unit: "B", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio, Discrete: true},
				{Name: cpu, Unit: "cores", Better: experiment.Lower, Scale: experiment.Difference},
			},
			OnMachine: []experiment.Metric{{Name: machineMemory, Unit: "B", Better: experiment.Lower, Scale: experiment.Difference, Optional: true}}}
	}
	n := time.Duration(c.Starts + c.Warmup)
	m := experiment.Measures{Cost: &cost, Expected: n * one, Limit: (n + 1) * 2 * c.Timeout.Std(), Slice: &experiment.Slice{},
		Metrics: []experiment.Metric{{Name: mean, Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio}}}
	for _, q := range quantiles {
		if q.Supported(c.Starts) {
			m.Metrics = append(m.Metrics, experiment.Metric{Name: "start-" + q.String(), Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio})
		}
	}
	for _, p := range phases {
		m.OnClusters = append(m.OnClusters, experiment.Metric{Name: p, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true})
	}
	return m
}

var quantiles = []workload.Quantile{0.5, 0.9}
