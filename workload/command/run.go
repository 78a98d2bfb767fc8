package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/experiment/environ"
	"tare/testbed"
	"tare/workload"
)

// Prepare carries out the warm-up runs.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	r, err := c.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	return r.measure, nil
}

// begin carries out the warm-up runs, and gives what runs the program.
func (c *Config) begin(ctx context.Context, t *workload.Trial) (runner, error) {
	variables, err := c.variables(ctx, t.Site)
	if err != nil {
		return runner{}, err
	}
	r := runner{config: c, site: t.Site, raw: t.Raw, env: variables}
	for n := range c.Warmup {
		if _, _, err := r.run(ctx, fmt.Sprintf("warmup-%d-", n+1), false); err != nil {
			return runner{}, of("warm-up run", n+1, err)
		}
	}
	return r, nil
}

// of says which of several runs it was that broke a rule.
func of(which string, n int, err error) error {
	var invalid *workload.Invalid
	if errors.As(err, &invalid) {
		return &workload.Invalid{Rule: invalid.Rule, Detail: fmt.Sprintf("%s %d: %s", which, n, invalid.Detail)}
	}
	return fmt.Errorf("%s %d: %w", which, n, err)
}

// variables are the program's: those given, and where the peers are.
func (c *Config) variables(ctx context.Context, site testbed.Site) ([]string, error) {
	values, err := c.Env.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	variables := environ.Assignments(values)
	if c.In == testbed.Host {
		return variables, nil
	}
	network, ok := testbed.As[testbed.Network](site)
	if !ok {
		return nil, fmt.Errorf("the program is to run in the %s, but the site has no network", c.In)
	}
	for _, peer := range []struct {
		name string
		path testbed.Path
	}{{"TARE_PEER", testbed.PodToPod}, {"TARE_SERVICE", testbed.PodToService}} {
		if address := network.Address(peer.path); address.IsValid() {
			variables = append(variables, peer.name+"="+address.String())
		}
	}
	return variables, nil
}

type runner struct {
	config *Config
	site   testbed.Site
	raw    workload.Raw
	env    []string
}

// measure is the run that counts.
func (r runner) measure(ctx context.Context) (workload.Result, error) {
	t := tally{runner: r}
	if err := t.add(ctx, ""); err != nil {
		return workload.Result{}, err
	}
	return t.result(), nil
}

// run runs the program once. Its outputs go to PREFIXstdout.txt and PREFIXstderr.txt, and
// are kept for metrics to be read from them if it counts.
func (r runner) run(ctx context.Context, prefix string, counts bool) (used testbed.Usage, outputs map[Output]*output, err error) {
	outputs = map[Output]*output{}
	for _, name := range []Output{Stdout, Stderr} {
		file, err := r.raw.Create(prefix + string(name) + ".txt")
		if err != nil {
			return used, nil, errors.Join(err, closeAll(outputs))
		}
		outputs[name] = &output{file: file, keep: counts && r.config.reads(name)}
	}
	defer func() { err = errors.Join(err, closeAll(outputs)) }()

	c := r.config
	args, err := c.arguments(ctx)
	if err != nil {
		return used, outputs, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.Timeout.Std(), errTimeout)
	defer cancel()
	process, err := r.site.Start(limited, c.In, testbed.Command{
		Args: args, Env: r.env, Dir: c.Dir, Stdout: outputs[Stdout], Stderr: outputs[Stderr], Subject: true,
	})
	if err != nil {
		return used, nil, err
	}
	used, err = process.Wait()
	return used, outputs, c.judge(ctx, limited, used, err)
}

// arguments are what is started.
func (c *Config) arguments(ctx context.Context) ([]string, error) {
	if c.Shell != "" {
		return []string{"/bin/sh", "-c", c.Shell}, nil
	}
	return c.Command.Resolve(ctx, nil)
}

var errTimeout = errors.New("timeout")

// judge says whether the end of the program breaks a rule.
func (c *Config) judge(ctx, limited context.Context, used testbed.Usage, err error) error {
	var exit *testbed.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && errors.Is(context.Cause(limited), errTimeout):
		return workload.Invalidf(workload.RuleTimeout, "not done after %v, the limit is %v", used.Wall.Round(time.Millisecond), c.Timeout)
	case errors.As(err, &exit):
		if slices.Contains(c.OK, exit.Code) {
			return nil
		}
		return &workload.Invalid{Rule: workload.RuleExit, Detail: exit.Error()}
	case err == nil && !slices.Contains(c.OK, 0):
		return workload.Invalidf(workload.RuleExit, "exit status 0, which is not one of %v", c.OK)
	}
	return err
}

func (c *Config) reads(name Output) bool {
	return slices.ContainsFunc(c.metrics(), func(m Metric) bool { return m.From == "" && m.from() == name })
}

func closeAll(outputs map[Output]*output) error {
	var errs []error
	for _, o := range outputs {
		errs = append(errs, o.file.Close())
	}
	return errors.Join(errs...)
}
