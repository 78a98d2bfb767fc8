package xds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"tare/internal/experiment/reference"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
	"tare/internal/workload"
	"tare/internal/workload/http/pause"
	"tare/internal/workload/service"
	"tare/internal/workload/xds/fleet"
)

// trial is the state of a running trial.
type trial struct {
	config  *Config
	t       *workload.Trial
	up      *xdsServer
	clients []*client
	stages  []*stage
	shared  []testbed.Resource // use of each resource that clients and server share, in the stage that used it most
	peak    int64              // highest resident memory of the server, in bytes; 0: unknown
}

// Prepare starts the clients. With churn it also connects all sidecars.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	r := &trial{config: c, t: t, up: t.Standing.(*xdsServer)}
	t.Clear = r.clear
	if err := r.prepare(ctx); err != nil {
		return nil, errors.Join(r.broken(ctx, err), r.keep())
	}
	measure := r.measure
	if c.Objective != nil {
		measure = r.capacity
	}
	return func(ctx context.Context) (workload.Result, error) {
		result, err := measure(ctx)
		err = r.broken(ctx, err)
		result.Connections = r.connections()
		return result, errors.Join(err, r.keep())
	}, nil
}

func (r *trial) prepare(ctx context.Context) error {
	if r.config.Objective != nil {
		return nil
	}
	n := r.config.Sidecars.One()
	if err := r.configure(ctx, n); err != nil {
		return err
	}
	if err := r.start(ctx, n); err != nil {
		return err
	}
	if r.config.Churn.One() <= 0 {
		return nil
	}
	s, err := r.ramp(ctx, "before", n, true, r.config.Ready.Std())
	if err != nil {
		return err
	}
	if _, n, _ := s.sum(); len(s.times()) < n {
		return workload.Invalidf(workload.RuleErrors, "before the churn not all sidecars were ready %v after the last was due: %s", r.config.Ready, s.missing())
	}
	return nil
}

func (r *trial) measure(ctx context.Context) (workload.Result, error) {
	usage, err := r.parts().Begin()
	if err != nil {
		return workload.Result{}, err
	}
	r.peak, r.shared = 0, nil
	n, wait := r.config.measured(), r.config.Ready.Std()
	if r.config.Churn.One() > 0 {
		if _, err := r.ramp(ctx, "down", n, false, wait); err != nil {
			return workload.Result{}, err
		}
	}
	up, err := r.ramp(ctx, "up", n, true, wait)
	if err != nil {
		return workload.Result{}, err
	}
	var pushes []*stage
	for p, err := range r.changes(ctx, wait) {
		if err != nil {
			return workload.Result{}, err
		}
		pushes = append(pushes, p)
	}
	used, err := usage() // memory is read now, while all sidecars are connected
	if err != nil {
		return workload.Result{}, err
	}
	result, err := r.config.result(r.t, up, pushes)
	if err == nil && r.peak > 0 {
		result.Values[memoryReady], result.Values[memoryPeak] = float64(up.Memory), float64(r.peak)
	}
	result.Used, result.Resources = used, r.shared
	return result, err
}

// ramp connects or disconnects the first n sidecars, and waits for them. The wait ends when the time wait has passed
// since the last sidecar's due time.
func (r *trial) ramp(ctx context.Context, name string, n int, up bool, wait time.Duration) (*stage, error) {
	clients, rate, meter := len(r.clients), float64(r.config.Rate.One()), testbed.StartMeter(ctx, r.t.Site)
	_, err := r.sendAll(ctx, func(i int, _ *client) fleet.Request {
		ramp := &fleet.Ramp{Count: share(n, clients, i), Rate: rate / float64(clients), Phase: float64(i) / float64(clients)}
		if up {
			return fleet.Request{Up: ramp}
		}
		return fleet.Request{Down: ramp}
	})
	if err != nil {
		return nil, err
	}
	return r.awaitStage(ctx, name, r.config.rampTime(n)+wait, meter)
}

// parts lists the processes whose resources the trial measures: clients and server.
func (r *trial) parts() service.Parts {
	parts := service.Parts{}
	for _, c := range r.clients {
		parts["client"] = append(parts["client"], c)
	}
	if r.up.server != nil {
		parts["server"] = []service.Process{r.up.server}
	}
	return parts
}

// connections lists the kinds of connections on which sidecars became ready.
func (r *trial) connections() []string {
	seen := map[string]int{}
	for _, s := range r.stages {
		counts, _, _ := s.sum()
		maps.Copy(seen, counts.Ready)
	}
	return slices.Sorted(maps.Keys(seen))
}

// keep writes two raw files of the trial: the record of its stages, and the server's output.
func (r *trial) keep() error {
	err := workload.KeepJSON(r.t.Raw, "sidecars.json", r.stages)
	if r.up.server != nil {
		err = errors.Join(err, r.up.server.Log(r.t.Raw))
	}
	return err
}

// broken returns the error with which a trial ends. If the server has ended, this error describes the server's end
// in place of err.
func (r *trial) broken(ctx context.Context, err error) error {
	if err == nil || r.up.server == nil || ctx.Err() != nil {
		return err
	}
	if ended := r.up.server.BrokenRule(ctx); ended != nil {
		return ended
	}
	return err
}

// clear ends the clients, which disconnects their sidecars, and waits for the server to come to rest.
func (r *trial) clear(ctx context.Context) error {
	errs := lists.Map(r.clients, func(c *client) error { return c.Close(ctx) })
	r.clients = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the clients: %w", err)
	}
	return testbed.Pause(ctx, r.config.Settle.Std())
}

// changes makes the changes of the server's configuration, and yields a stage for each. It waits for a push to reach
// all sidecars, or for the limit, before the next change.
func (r *trial) changes(ctx context.Context, limit time.Duration) iter.Seq2[*stage, error] {
	return func(yield func(*stage, error) bool) {
		due := time.Now()
		for i := range r.config.times() {
			var s *stage
			err := testbed.Pause(ctx, time.Until(due))
			if err == nil {
				due = time.Now().Add(r.config.Change.every())
				s, err = r.change(ctx, i, limit)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// Clients learn of a change before it happens: at least leastLead before, and at most mostLead before.
const (
	leastLead = 20 * time.Millisecond
	mostLead  = 5 * time.Second
)

// change makes one change, by the experiment's command. The clients know its time in advance. The push is timed from
// then on.
func (r *trial) change(ctx context.Context, i int, limit time.Duration) (*stage, error) {
	meter := testbed.StartMeter(ctx, r.t.Site) // starts the meter first, since starting it takes time
	since, err := r.announce(ctx)
	if err != nil {
		return nil, err
	}
	pause.For(time.Until(since))
	number := time.Now().UnixMicro()
	if r.up.istiod != nil {
		err = r.up.istiod.Change(number)
	} else {
		err = r.command(ctx, "the change", r.config.Change.Run, fmt.Sprintf("TARE_CHANGE=%d", number))
	}
	if err != nil {
		return nil, err
	}
	return r.awaitStage(ctx, fmt.Sprintf("change-%d", i+1), limit, meter)
}

// announce tells all clients the time of the next change, by each client's clock, before that time. It returns the time
// by this machine's clock.
func (r *trial) announce(ctx context.Context) (time.Time, error) {
	for lead := leastLead; lead <= mostLead; lead *= 2 {
		since := time.Now().Add(lead)
		_, err := r.sendAll(ctx, func(_ int, c *client) fleet.Request {
			return fleet.Request{Push: &fleet.Push{Since: since.Add(c.ahead), Types: r.config.Change.types()}}
		})
		if err != nil || time.Now().Before(since) {
			return since, err
		}
	}
	return time.Time{}, workload.Invalidf(workload.RuleLate, "not all clients knew the time of a change %v ahead of it", mostLead)
}

// configure makes the server's configuration for n sidecars, and then waits for the server to come to rest.
func (r *trial) configure(ctx context.Context, n int) error {
	var err error
	switch {
	case r.up.istiod != nil:
		err = r.up.istiod.Configure(ctx, n)
	case len(r.config.Configure) == 0:
		return nil
	default:
		err = r.command(ctx, "the configuration", r.config.Configure, fmt.Sprintf("TARE_SIDECARS=%d", n))
	}
	if err != nil {
		return err
	}
	return testbed.Pause(ctx, r.config.Settle.Std())
}

// command runs a program that changes the configuration: in the server's pod, or on this machine if the workload does
// not start the server.
func (r *trial) command(ctx context.Context, title string, run reference.Arguments, variable string) error {
	args, err := run.Resolve(ctx, nil)
	if err != nil {
		return err
	}
	limited, cmd, where := ctx, testbed.Command{Args: args, Env: []string{variable}}, testbed.Host
	if r.up.server != nil {
		cmd.Env, where = append(cmd.Env, r.up.server.Variables()...), testbed.ServerPod
		var stop context.CancelFunc
		limited, stop = testbed.Until(ctx, r.up.server.Ended()) // stop waiting if the server ends
		defer stop()
	}
	var why bytes.Buffer
	cmd.Stderr = &why
	_, err = testbed.Run(limited, r.t.Site, where, cmd)
	if exit, ok := errors.AsType[*testbed.ExitError](err); ok && ctx.Err() == nil {
		text := exit.Error()
		if said := safetext.Line(why.String()); said != "" && exit.Stderr == "" {
			text += ": " + said
		}
		return workload.Invalidf(workload.RuleExit, "%s: %s", title, text)
	}
	return err
}
