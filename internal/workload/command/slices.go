package command

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/service"
)

// PrepareSlices does the warm-up runs. Each slice is one run of the program.
func (c *Config) PrepareSlices(ctx context.Context, t *workload.Trial, n int) (workload.Sliced, error) {
	r, err := c.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	return &totals{runner: r}, nil
}

// totals is the sum of the runs of the program in one trial.
type totals struct {
	runner
	runs      int
	used      testbed.Usage
	sums      map[string]float64 // sums over the runs, by metric, of the numbers in the output
	behaviour workload.Behaviour
}

// Run runs the program once.
func (t *totals) Run(ctx context.Context, i int) error {
	if err := t.add(ctx, fmt.Sprintf("slice-%d-", i+1)); err != nil {
		return numbered("slice", i+1, errors.Join(err, t.keep()))
	}
	return nil
}

// add runs the program once and adds its metrics. The names of the run's raw files begin with the prefix.
func (t *totals) add(ctx context.Context, prefix string) error {
	var used testbed.Usage
	var outputs map[Output]*output
	before := t.config.files()
	err := t.during(ctx, func() (err error) {
		used, outputs, err = t.run(ctx, prefix, true)
		return err
	})
	if err != nil {
		return err
	}
	t.recordBehaviour(outputs[stdout], before)
	if t.runs++; t.runs == 1 {
		t.used, t.sums = used, map[string]float64{}
	} else {
		t.used = t.used.Plus(used)
	}
	for _, m := range t.config.metrics() {
		if m.From != "" {
			continue
		}
		v, err := m.read(outputs[m.from()])
		if err != nil {
			return err
		}
		t.sums[m.Name] += v
	}
	return nil
}

// Finish returns the averages over the runs. For memory, it returns the maximum over the runs.
func (t *totals) Finish(context.Context) (workload.Result, error) { return t.outcome(), t.keep() }

func (t *totals) outcome() workload.Result {
	values := map[string]float64{}
	var unavailable []string
	n := float64(t.runs)
	for _, m := range t.config.metrics() {
		switch v := m.From.value(t.used); {
		case m.From == "":
			values[m.Name] = t.sums[m.Name] / n
		case t.used.Unavailable && m.From != wallClock:
			unavailable = append(unavailable, m.Name)
		case v <= 0: // the kernel did not count this resource
		case m.From == peakMemory:
			values[m.Name] = v
		default:
			values[m.Name] = v / n
		}
	}
	if t.server == nil {
		return workload.Result{Values: values, Used: map[string]testbed.Usage{"command": t.used}, Unavailable: unavailable, Behaviour: t.behaviour}
	}
	return workload.Result{Values: values, Used: map[string]testbed.Usage{"client": t.used, "server": t.serving.used}, Work: n, Unavailable: unavailable, Behaviour: t.behaviour}
}

// Shared returns the name of the server that several cells share. Without a server the name is empty.
func (c *Config) Shared() string {
	if c.Server == nil {
		return ""
	}
	return c.filledServer().Shared()
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Server, error) {
	server, err := c.filledServer().SetUp(ctx, s)
	if err != nil {
		return nil, err
	}
	return server, nil
}

// serving is a server during the measured part of a trial.
type serving struct {
	server *service.Server // nil: the workload has no server
	raw    workload.Raw
	used   testbed.Usage // resources that the server used during the measured runs
}

// during calls run, and adds the resources that the server used meanwhile.
func (s *serving) during(ctx context.Context, run func() error) error {
	if s.server == nil {
		return run()
	}
	before, err := s.server.Account()
	if err != nil {
		return err
	}
	failed := run()
	if ended := s.server.BrokenRule(ctx); ended != nil {
		return ended // the end of the server explains a failure of the program
	}
	used, err := s.server.Since(before)
	s.used = s.used.Plus(used)
	return errors.Join(failed, err)
}

// keep writes the server's output to a raw file of the trial.
func (s *serving) keep() error {
	if s.server == nil {
		return nil
	}
	return s.server.Log(s.raw)
}
