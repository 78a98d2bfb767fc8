package startup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/testbed"
	"tare/workload"
)

// start is one start, as it is kept with the trial.
type start struct {
	First  float64            `json:"first"`            // s until the first byte
	Phases map[string]float64 `json:"phases,omitempty"` // s until the pod was seen in it, by metric
	used   testbed.Usage
}

// starter starts instances at a site.
type starter interface {
	// once starts one, and ends it when it has printed its first byte or by itself.
	once(ctx context.Context) (start, error)
	// stay starts so many, of which each has printed its first byte, and that stay until end.
	stay(ctx context.Context, n int) error
	// uses is what those use now.
	uses(ctx context.Context) (use, error)
	// end ends those that stay.
	end(ctx context.Context) error
	// leave gives up what the starter itself has at the site.
	leave(ctx context.Context) error
}

// use is what idle instances use.
type use struct {
	CPU       time.Duration `json:"cpu"` // so far
	Memory    int64         `json:"memory"`
	Available int64         `json:"available,omitempty"` // of the machine, for programs that are started; 0: not known
	Unknown   bool          `json:"unknown,omitempty"`   // nobody can tell CPU and Memory here
}

// starter is that of a site.
func (c *Config) starter(ctx context.Context, site testbed.Site) (starter, error) {
	if remote, ok := testbed.As[testbed.Remote](site); ok && remote.Self(testbed.ClientPod) != "" {
		return c.onCluster(ctx, site)
	}
	return c.here(ctx, site)
}

// Try starts one instance, and takes it away.
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
		return ctx.Err() // it goes with the testbed
	}
	return errors.Join(err, by.end(ctx), by.leave(ctx))
}

// session is a trial under way.
type session struct {
	config *Config
	raw    workload.Raw
	by     starter
	starts []start
}

// begin makes the starts that are not measured.
func (c *Config) begin(ctx context.Context, t *workload.Trial) (*session, error) {
	by, err := c.starter(ctx, t.Site)
	if err != nil {
		return nil, err
	}
	s := &session{config: c, raw: t.Raw, by: by}
	t.Clear = func(ctx context.Context) error { return errors.Join(by.end(ctx), by.leave(ctx)) }
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

// Prepare makes the starts that are not measured.
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

// PrepareSlices makes them, too. Each slice has its share of the starts, one at least.
func (c *Config) PrepareSlices(ctx context.Context, t *workload.Trial, n int) (workload.Sliced, error) {
	s, err := c.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	return &sliced{session: s, n: n}, nil
}

type sliced struct {
	*session
	n int
}

// Run runs slice i.
func (s *sliced) Run(ctx context.Context, i int) error {
	all := s.config.Starts
	return s.some(ctx, max(1, all*(i+1)/s.n-all*i/s.n))
}

// some starts the program so many times.
func (s *session) some(ctx context.Context, n int) error {
	for range n {
		one, err := s.by.once(ctx)
		if err != nil {
			return errors.Join(err, s.keep())
		}
		s.starts = append(s.starts, one)
	}
	return nil
}

// keep keeps the starts, one by one.
func (s *session) keep() error { return keep(s.raw, "starts.json", s.starts) }

func keep(raw workload.Raw, name string, what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return workload.Keep(raw, name, append(text, '\n'))
}

// Finish gives the mean of all starts, and their quantiles.
func (s *session) Finish(context.Context) (workload.Result, error) {
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
		if q.supported(s.config.Starts) {
			values[q.name()] = q.of(firsts)
		}
	}
	return workload.Result{Values: values, Used: map[string]testbed.Usage{cost.Parts[0]: used}, Work: n}, s.keep()
}

// of is the quantile of values in ascending order, between the two that are nearest.
func (q quantile) of(sorted []float64) float64 {
	at := float64(q) * float64(len(sorted)-1)
	below := int(at)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}

// density starts instances, and measures what they use while nobody asks anything of them.
func (s *session) density(ctx context.Context, n int) (workload.Result, error) {
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
	if err := errors.Join(s.by.end(ctx), keep(s.raw, "instances.json", map[string]use{"before": before, "settled": first, "after": last})); err != nil {
		return workload.Result{}, err
	}
	if last.Unknown {
		return workload.Result{}, errUnknown
	}
	values := map[string]float64{memory: float64(last.Memory), cpu: max(0, last.CPU-first.CPU).Seconds() / took.Seconds()}
	if before.Available > 0 && last.Available > 0 {
		values[machineMemory] = float64(before.Available - last.Available)
	}
	return workload.Result{Values: values}, nil
}

// errUnknown ends a run whose cluster tells nothing of what pods use.
var errUnknown = errors.New("what idle pods use is counted on their nodes only: write accounting: node below testbed.kubernetes")

// late is the rule that a start broke which took longer than it may.
func (c *Config) late(ctx context.Context, what string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &workload.Invalid{Rule: workload.RuleTimeout, Detail: fmt.Sprintf("%s after %v, which is the limit of a start", what, c.Timeout)}
}
