// Package startup measures what a sandbox costs before anything runs in it: how long it takes
// from a start to the first byte that the program prints, and what idle instances keep.
//
//	workloads:
//	  - startup: {starts: 20}
//	  - name: density
//	    startup: {instances: [1, 10, 100]}
//
// On this machine an instance is a process of the program, with whatever layers put around it. On
// a cluster it is a pod like the arm's own, as its layers shape it, in which the program is
// started (pods.go).
//
// # Cold starts
//
// A trial starts the program again and again, one start after the other: starts at
// the same time would wait for each other, and measure how much of the machine there is. What
// is cold is the instance: the files that it needs have been read by the warm-up starts, on every
// arm alike. The value of a trial is the mean of its starts, and their median where there are
// as many as the house wants for a quantile.
//
// On this machine the clock runs from the fork to the first byte in Tare's end of a pipe. On a
// cluster it runs from the request that makes the pod, and is Tare's own: times in the API are whole
// seconds. What is scheduled, started and ready is what a watch shows at that moment.
//
// # Density
//
// With instances, a trial starts so many that stay, waits, and reads what all of them
// use together. The memory is PSS on this machine: a page that several processes share
// counts in parts, so that instances add up, and what they share is in the base of the line through
// the levels, not in what each one adds. Cgroups would count the kernel's own memory too, but
// charge a shared page to whoever touched it first; and a process that runs elsewhere is in
// neither. On a cluster it is the working set of the pods' cgroups, where
// the runtime's own processes are too: only the node can tell (testbed.kubernetes.accounting).
package startup

import (
	"fmt"
	"time"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/experiment/reference"
	"tare/testbed"
	"tare/testbed/kube/inventory"
	"tare/workload"
	"tare/workload/startup/answer"
)

// Config is the parameters of the workload.
type Config struct {
	Command   reference.Arguments `yaml:"run" json:"run,omitempty" doc:"program and arguments, which prints something when it has started; a program of Tare's if absent, of a few hundred bytes, that prints one"`
	Starts    int                 `yaml:"starts" json:"starts" min:"1" max:"10000" doc:"starts in a trial, one after the other"`
	Warmup    int                 `yaml:"warmup" json:"warmup" min:"0" max:"1000" doc:"starts before them that are not measured"`
	Instances factor.Levels[int]  `yaml:"instances" json:"instances,omitempty" min:"1" max:"1000" doc:"in place of starts, so many idle instances, whose memory and CPU time are measured"`
	Duration  quantity.Duration   `yaml:"duration" json:"duration" doc:"how long CPU time of idle instances is counted"`
	Settle    quantity.Duration   `yaml:"settle" json:"settle" doc:"time between the first byte of the last instance and that"`
	Stays     bool                `yaml:"stays" json:"stays,omitempty" doc:"whether the program runs on after its first byte: it is killed then; otherwise its end is waited for"`
	Timeout   quantity.Duration   `yaml:"timeout" json:"timeout" doc:"how long one start may take"`
	Expects   quantity.Duration   `yaml:"expect" json:"expect,omitempty" doc:"how long one start is expected to take, for the estimate of tare plan"`
	Image     string              `yaml:"image" json:"image,omitempty" doc:"on a cluster, image of the pods, which has the program; the testbed's if absent"`
}

const name = "startup"

// usual is how long a start is expected to take if nothing is said.
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
	Helpers: answer.Helpers,
}

// Declare says what the workload needs: a pod of its own on a cluster, where the proofs of layers
// are made and the answers of the started pods come in.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, Needs: experiment.Needs{OwnPod: true, Image: c.Image}, Programs: c.programs(), Rights: rights, Replaceable: true}
}

func (c *Config) programs() []experiment.Program {
	if len(c.Command) == 0 || c.Image != "" {
		return nil
	}
	return []experiment.Program{{Name: c.Command[0], Where: experiment.AtSite}}
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
	for _, d := range []struct {
		field        string
		value        quantity.Duration
		least, limit time.Duration
	}{{"timeout", c.Timeout, 10 * time.Millisecond, time.Hour}, {"duration", c.Duration, 100 * time.Millisecond, time.Hour},
		{"settle", c.Settle, 0, time.Hour}, {"expect", c.Expects, 0, time.Hour}} {
		if d.value.Std() < d.least || d.value.Std() > d.limit {
			errs.Add(d.field, "%v is not between %v and %v", d.value, quantity.Duration(d.least), quantity.Duration(d.limit))
		}
	}
	if len(c.Instances) > 0 && c.Stays {
		errs.Add("stays", "idle instances stay in any case: leave it out")
	}
	return errs
}

// The metrics.
const (
	mean          = "start-mean"     // s
	memory        = "memory"         // of all instances, B
	cpu           = "cpu"            // of all instances, in cores
	machineMemory = "memory-machine" // B
)

// phases are what is seen of a pod on its way, in the order in which it goes through them.
var phases = []string{"pod-created", "pod-scheduled", "pod-started", "pod-ready"}

// cost prices cold starts.
var cost = experiment.Cost{Prefix: "start", Unit: "start", Parts: []string{"program"}}

// Measures says what a trial measures, and how long it takes.
func (c *Config) Measures() experiment.Measures {
	one := usual
	if c.Expects > 0 {
		one = c.Expects.Std()
	}
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
		if q.supported(c.Starts) {
			m.Metrics = append(m.Metrics, experiment.Metric{Name: q.name(), Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio})
		}
	}
	for _, p := range phases {
		m.OnClusters = append(m.OnClusters, experiment.Metric{Name: p, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true})
	}
	return m
}

// quantile is a place in the distribution of starts, from 0 to 1.
type quantile float64

var quantiles = []quantile{0.5, 0.9}

func (q quantile) name() string { return fmt.Sprintf("start-p%g", 100*float64(q)) }

// supported says whether of n starts a hundred lie beyond it.
func (q quantile) supported(n int) bool { return float64(n)*(1-float64(q)) >= 100-1e-6 }
