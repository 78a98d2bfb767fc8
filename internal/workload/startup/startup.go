// Package startup measures the cost of a sandbox's start: the time from a start to the first byte that the program
// prints, and the memory and CPU time of idle instances.
//
//	workloads:
//	  - startup: {starts: 20}
//	  - name: density
//	    startup: {instances: [1, 10, 100]}
//
// On this machine an instance is a process of the program, with the layers around it. On a cluster an instance is a pod
// with the program in it (pods.go). The pod is like the arm's own pod and has the same layers.
//
// # Cold starts
//
// A trial starts the program many times, one start after another. Starts at the same time would wait for each other.
// Each start makes a new instance. After the warm-up starts, the files that an instance needs are in the page cache, in
// all arms. The metrics are the mean of the trial's starts, and p50 and p90 if at least a hundred starts take longer.
//
// On this machine the time counts from the fork until the first byte arrives in a pipe. On a cluster it counts from the
// request that makes the pod. Tare's clock measures it, since times in the Kubernetes API are whole seconds. A pod
// counts as scheduled, started or ready when a watch shows that state.
//
// # Density
//
// With instances, a trial starts this many instances, which keep running. The trial waits, and then reads the resources
// that all instances use together. A process outside of the instance is not counted.
//
// On this machine the memory is PSS: a page that n processes share counts 1/n for each. A line through the levels of
// instances has the shared pages in its base, and not in its slope. Cgroups would also count the kernel's own memory.
// But cgroups count a shared page for the first process that touched it.
//
// On a cluster the memory is the working set of the pods' cgroups, which includes the runtime's own processes. Only the
// node can read the working set (testbed.kubernetes.accounting).
package startup

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/reference"
	"tare/internal/stats"
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

// Declare lists the needs of the workload. On a cluster, it needs a pod of its own: the layers' proofs run in this pod,
// and the started pods call it.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Validate: c.validate, Needs: experiment.Needs{OwnPod: true, Image: c.Image}, Replaceable: true}
	d.Rights = func(namespace string) []experiment.Right {
		verbs := append([]string{"create", "delete", "list", "watch"}, inventory.RemovalVerbs...)
		return []experiment.Right{{Resource: "pods", Namespace: namespace, Verbs: verbs, Why: "the workload startup makes pods and watches them start"}}
	}
	if len(c.Command) > 0 && c.Image == "" {
		d.Programs = []experiment.Program{{Name: c.Command[0], Where: experiment.AtSite}}
	}
	return d
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
	mean          = "start-mean"     // mean time until the first byte, in s
	memory        = "memory"         // memory of all instances, in bytes
	cpu           = "cpu"            // CPUs that all instances use together
	machineMemory = "memory-machine" // decrease of the machine's available memory, in bytes
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

// start records one start, with its times in s, in a raw file.
type start struct {
	First  float64            `json:"first"`            // time until the first byte, in s
	Phases map[string]float64 `json:"phases,omitempty"` // time until the watch showed a phase, in s; by phase
	used   testbed.Usage
}

// starter starts instances of the program at a site.
type starter interface {
	// once starts an instance and waits for its first byte. Then the instance ends or is killed.
	once(ctx context.Context) (start, error)
	// stay starts n instances that run until the method end is called. It waits for the first byte of each instance.
	stay(ctx context.Context, n int) error
	// uses returns the resources of all instances that stay has started: memory now, and CPU time so far.
	uses(ctx context.Context) (use, error)
	// end ends all instances that stay has started. It also releases what the starter itself holds at the site. A
	// second call does nothing.
	end(ctx context.Context) error
}

// use holds the resources that idle instances use together.
type use struct {
	CPU       time.Duration `json:"cpu"` // CPU time so far
	Memory    int64         `json:"memory"`
	Available int64         `json:"available,omitempty"` // available memory of the machine in bytes; 0 if unknown
	Unknown   bool          `json:"unknown,omitempty"`   // set if CPU and Memory cannot be read at this site
}

func (c *Config) starter(ctx context.Context, site testbed.Site) (starter, error) {
	if remote, ok := testbed.As[testbed.Remote](site); ok && remote.Self(testbed.ClientPod) != "" {
		return c.podStarter(ctx, site)
	}
	return c.processStarter(ctx, site)
}

// Try starts one instance, and removes it.
func (c *Config) Try(ctx context.Context, site testbed.Site) error {
	by, err := c.starter(ctx, site)
	if err != nil {
		return err
	}
	if c.Instances.OrZero() > 0 {
		err = by.stay(ctx, 1)
	} else {
		_, err = by.once(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err() // after a cancellation, the testbed removes the instance
	}
	return errors.Join(err, by.end(ctx))
}

type runningTrial struct {
	config *Config
	raw    workload.Raw
	by     starter
	slices int
	starts []start
}

func (c *Config) begin(ctx context.Context, t *workload.Trial) (*runningTrial, error) {
	by, err := c.starter(ctx, t.Site)
	if err != nil {
		return nil, err
	}
	s := &runningTrial{config: c, raw: t.Raw, by: by}
	t.Clear = by.end
	if c.Instances.OrZero() > 0 {
		return s, nil
	}
	for range c.Warmup {
		if _, err := by.once(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Prepare does the warm-up starts.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	n := c.Instances.OrZero()
	if n == 0 {
		return workload.Uncut(ctx, c, t)
	}
	s, err := c.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (workload.Result, error) { return s.density(ctx, n) }, nil
}

// PrepareSlices does the warm-up starts. Each slice has its share of the starts, and at least one.
func (c *Config) PrepareSlices(ctx context.Context, t *workload.Trial, n int) (workload.Sliced, error) {
	s, err := c.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	s.slices = n
	return s, nil
}

// Run makes the starts of slice i of the trial.
func (s *runningTrial) Run(ctx context.Context, i int) error {
	all := s.config.Starts
	for range max(1, all*(i+1)/s.slices-all*i/s.slices) {
		one, err := s.by.once(ctx)
		if err != nil {
			return errors.Join(err, s.keep())
		}
		s.starts = append(s.starts, one)
	}
	return nil
}

func (s *runningTrial) keep() error { return workload.KeepJSON(s.raw, "starts.json", s.starts) }

// Finish returns the mean and the quantiles of all starts.
func (s *runningTrial) Finish(context.Context) (workload.Result, error) {
	n := float64(len(s.starts))
	var used testbed.Usage
	var firsts []float64
	sums, seen := map[string]float64{}, map[string]int{}
	for _, one := range s.starts {
		firsts = append(firsts, one.First)
		sums[mean] += one.First
		for phase, at := range one.Phases {
			sums[phase] += at
			seen[phase]++
		}
		used = used.Plus(one.used)
	}
	values := map[string]float64{mean: sums[mean] / n}
	for phase, count := range seen {
		if count == len(s.starts) {
			values[phase] = sums[phase] / n
		}
	}
	slices.Sort(firsts)
	for _, q := range quantiles {
		if q.Supported(s.config.Starts) {
			values["start-"+q.String()] = stats.Quantile(firsts, float64(q))
		}
	}
	return workload.Result{Values: values, Used: map[string]testbed.Usage{cost.Parts[0]: used}, Work: n}, s.keep()
}

func (s *runningTrial) density(ctx context.Context, n int) (workload.Result, error) {
	before, err := s.by.uses(ctx)
	if err != nil {
		return workload.Result{}, err
	}
	if err := s.by.stay(ctx, n); err != nil {
		return workload.Result{}, err
	}
	if err := testbed.Pause(ctx, s.config.Settle.Std()); err != nil {
		return workload.Result{}, err
	}
	first, err := s.by.uses(ctx)
	if err != nil {
		return workload.Result{}, err
	}
	from := time.Now()
	if err := testbed.Pause(ctx, s.config.Duration.Std()); err != nil {
		return workload.Result{}, err
	}
	last, err := s.by.uses(ctx)
	if err != nil {
		return workload.Result{}, err
	}
	took := time.Since(from)
	if err := errors.Join(s.by.end(ctx), workload.KeepJSON(s.raw, "instances.json", map[string]use{"before": before, "settled": first, "after": last})); err != nil {
		return workload.Result{}, err
	}
	if last.Unknown {
		return workload.Result{}, errors.New("the resources of idle pods are counted on their nodes only: write accounting: node below testbed.kubernetes")
	}
	values := map[string]float64{memory: float64(last.Memory), cpu: max(0, last.CPU-first.CPU).Seconds() / took.Seconds()}
	if before.Available > 0 && last.Available > 0 {
		values[machineMemory] = float64(before.Available - last.Available)
	}
	return workload.Result{Values: values}, nil
}

// late returns an error for a start that took longer than the limit Timeout. The error breaks a rule.
func (c *Config) late(ctx context.Context, state string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return workload.Invalidf(workload.RuleTimeout, "%s after %v, which is the limit of a start", state, c.Timeout)
}
