package startup

import (
	"context"
	"errors"
	"slices"
	"time"

	"tare/internal/stats"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// start is the record of one start in a raw file.
type start struct {
	First  float64            `json:"first"`            // time until the first byte, in s
	Phases map[string]float64 `json:"phases,omitempty"` // time until the watch showed the phase, in s, by metric
	used   testbed.Usage
}

// starter starts instances of the program at a site.
type starter interface {
	// once starts an instance, and waits for its first byte. It then ends the instance or waits for its end.
	once(ctx context.Context) (start, error)
	// stay starts n instances that run until end, and waits for the first byte of each.
	stay(ctx context.Context, n int) error
	// uses returns the resources that the staying instances use now.
	uses(ctx context.Context) (use, error)
	// end ends the staying instances, and releases the starter's own resources at the site. A second call does nothing.
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
		return ctx.Err() // the testbed removes the instance
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

// Run does the starts of slice i.
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

// late returns the broken rule of a start that took longer than the limit.
func (c *Config) late(ctx context.Context, state string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return workload.Invalidf(workload.RuleTimeout, "%s after %v, which is the limit of a start", state, c.Timeout)
}
