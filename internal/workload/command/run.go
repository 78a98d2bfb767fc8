package command

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment/environ"
	"tare/internal/experiment/reference"
	"tare/internal/layer/program"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/service"
)

// Prepare does the warm-up runs.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	runs, err := c.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (workload.Result, error) {
		if err := errors.Join(runs.add(ctx, ""), runs.keep()); err != nil {
			return workload.Result{}, err
		}
		return runs.outcome(), nil
	}, nil
}

// PrepareSlices does the warm-up runs of the program. Each slice then executes the program once.
func (c *Config) PrepareSlices(ctx context.Context, t *workload.Trial, n int) (workload.Sliced, error) {
	runs, err := c.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	return runs, nil
}

// begin does the warm-up runs of the program. It returns empty totals, to which the measured runs are added later.
func (c *Config) begin(ctx context.Context, t *workload.Trial) (*totals, error) {
	r := runner{config: c, site: t.Site, raw: t.Raw}
	r.server, _ = t.Standing.(*service.Server)
	var err error
	if r.values, err = c.variables(ctx, t.Site, r.server); err != nil {
		return nil, err
	}
	for n := range c.Warmup {
		if _, _, err := r.run(ctx, fmt.Sprintf("warmup-%d-", n+1), false); err != nil {
			return nil, numbered("warm-up run", n+1, err)
		}
	}
	return &totals{runner: r, sums: map[string]float64{}, behaviour: workload.Behaviour{}}, nil
}

// numbered puts a title and a number before an error, such as "warm-up run 2".
func numbered(title string, n int, err error) error {
	if invalid, ok := errors.AsType[*workload.Invalid](err); ok {
		return workload.Invalidf(invalid.Rule, "%s %d: %s", title, n, invalid.Detail)
	}
	return fmt.Errorf("%s %d: %w", title, n, err)
}

// values holds the program's environment variables. Its replacer puts addresses into arguments, in place of variables
// such as $(TARE_PEER).
type values struct {
	variables []string
	fill      *strings.Replacer
}

// variables returns the program's environment variables: those in the experiment file and, in a pod or node, TARE_PEER,
// TARE_SERVICE and TARE_PORT.
func (c *Config) variables(ctx context.Context, site testbed.Site, server *service.Server) (v values, err error) {
	given, err := c.Env.Resolve(ctx)
	if err != nil {
		return v, err
	}
	levels := c.filler()
	for name, text := range given {
		given[name] = levels.Replace(text)
	}
	v.variables, v.fill = environ.Assignments(given), strings.NewReplacer()
	if c.place() == testbed.Host {
		return v, nil
	}
	network, ok := testbed.As[testbed.Network](site)
	if !ok {
		return v, fmt.Errorf("the program is to run in the %s, but the site has no network", c.place())
	}
	var pairs []string
	add := func(name, value string) {
		v.variables = append(v.variables, name+"="+value)
		pairs = append(pairs, "$("+name+")", value)
	}
	if address := network.Address(testbed.PodToPod); address.IsValid() {
		add("TARE_PEER", address.String())
	}
	if address := network.Address(testbed.PodToService); address.IsValid() {
		add("TARE_SERVICE", address.String())
	}
	if server != nil {
		add("TARE_PORT", fmt.Sprint(server.Address[testbed.PodToPod].Port()))
	}
	v.fill = strings.NewReplacer(pairs...)
	return v, nil
}

type runner struct {
	config *Config
	site   testbed.Site
	raw    workload.Raw
	values values
	server *service.Server // nil if the workload has no server
}

// run runs the program once. Its outputs go to the files PREFIXstdout.txt and PREFIXstderr.txt. counts is true for a
// measured run, whose metrics are read.
func (r runner) run(ctx context.Context, prefix string, counts bool) (used testbed.Usage, outputs map[stream]*output, err error) {
	outputs = map[stream]*output{}
	for _, name := range []stream{stdout, stderr} {
		file, err := r.raw.Create(prefix + string(name) + ".txt")
		if err != nil {
			return used, nil, errors.Join(err, closeAll(outputs))
		}
		reads := slices.ContainsFunc(r.config.metrics(), func(m metric) bool { return m.From == "" && m.from() == name })
		outputs[name] = &output{file: file, keep: counts && reads}
		if name == stdout && r.config.Expect == same {
			outputs[name].digest = sha256.New()
		}
	}
	defer func() { err = errors.Join(err, closeAll(outputs)) }()

	c := r.config
	args, err := c.arguments(ctx, r.site, r.values)
	if err != nil {
		return used, outputs, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.Timeout.Std(), errTimeout)
	defer cancel()
	process, err := r.site.Start(limited, c.place(), testbed.Command{
		Args: args, Env: r.values.variables, Dir: c.Dir, Stdout: outputs[stdout], Stderr: outputs[stderr], Subject: true,
	})
	if err != nil {
		return used, nil, err
	}
	used, err = process.Wait()
	return used, outputs, c.judge(ctx, limited, used, err)
}

func (c *Config) arguments(ctx context.Context, site testbed.Site, v values) ([]string, error) {
	own := program.At(site, program.Text(c.Command, c.Shell))
	args, err := reference.Arguments(filled(c.filler(), own)).Resolve(ctx, nil)
	return filled(v.fill, args), err
}

var errTimeout = errors.New("timeout")

// judge returns an *Invalid error if the program timed out, or ended with a status that does not count as success.
func (c *Config) judge(ctx, limited context.Context, used testbed.Usage, err error) error {
	exit, exited := errors.AsType[*testbed.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && errors.Is(context.Cause(limited), errTimeout):
		return workload.Invalidf(workload.RuleTimeout, "not done after %v, the limit is %v", used.Wall.Round(time.Millisecond), c.Timeout)
	case exited && slices.Contains(c.OK, exit.Code):
		return nil
	case exited:
		return workload.Invalidf(workload.RuleExit, "%v", exit)
	case err == nil && !slices.Contains(c.OK, 0):
		return workload.Invalidf(workload.RuleExit, "exit status 0, which is not one of %v", c.OK)
	}
	return err
}

func closeAll(outputs map[stream]*output) error {
	var errs []error
	for _, o := range outputs {
		errs = append(errs, o.file.Close())
	}
	return errors.Join(errs...)
}

// totals adds up the results of a trial's measured executions of the program.
type totals struct {
	runner
	runs      int
	used      testbed.Usage
	sums      map[string]float64 // by metric: sum of the numbers that the program printed in all executions
	behaviour workload.Behaviour
	served    testbed.Usage // resources that the server used during the measured runs
}

// Run runs the program once.
func (t *totals) Run(ctx context.Context, i int) error {
	if err := t.add(ctx, fmt.Sprintf("slice-%d-", i+1)); err != nil {
		return numbered("slice", i+1, errors.Join(err, t.keep()))
	}
	return nil
}

// add runs the program once and adds the run's results to the totals. The names of the run's raw files begin with
// the prefix.
func (t *totals) add(ctx context.Context, prefix string) error {
	var account service.Account
	var err error
	if t.server != nil {
		if account, err = service.Begin(t.server); err != nil {
			return err
		}
	}
	before := t.config.files()
	used, outputs, err := t.run(ctx, prefix, true)
	if t.server != nil {
		if ended := t.server.BrokenRule(ctx); ended != nil {
			return ended // the program failed because the server had ended
		}
		served, unread := account.Since(t.server)
		t.served = t.served.Plus(served)
		err = errors.Join(err, unread)
	}
	if err != nil {
		return err
	}
	t.recordBehaviour(outputs[stdout], before)
	t.runs, t.used = t.runs+1, t.used.Plus(used)
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

// Finish returns the averages over the executions of the program. For memory, it returns the maximum.
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
	r := workload.Result{Values: values, Used: map[string]testbed.Usage{"command": t.used}, Unavailable: unavailable, Behaviour: t.behaviour}
	if t.server != nil {
		r.Used, r.Work = map[string]testbed.Usage{"client": t.used, "server": t.served}, n
	}
	return r
}

// keep writes the server's output to a raw file of the trial.
func (t *totals) keep() error {
	if t.server == nil {
		return nil
	}
	return t.server.Log(t.raw)
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
