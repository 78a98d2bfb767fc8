package xds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/testbed"
	"tare/internal/workload"
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
	shared  []testbed.Resource // use of resources that clients and server share; for each resource, the stage with the highest use counts
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

// measure runs the measured part.
func (r *trial) measure(ctx context.Context) (workload.Result, error) {
	count, err := r.count()
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
	used, err := count()
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

// ramp connects or disconnects the first n sidecars, and waits for them. The wait ends at the latest when the
// time wait has passed since the last sidecar was due.
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

// count begins an account of the resources of clients and server. The returned function ends the account. The memory
// is the resident memory at that time, with all sidecars connected.
func (r *trial) count() (func() (map[string]testbed.Usage, error), error) {
	begun := time.Now()
	var server service.Account
	var err error
	if r.up.server != nil {
		if server, err = r.up.server.Account(); err != nil {
			return nil, err
		}
	}
	for _, c := range r.clients {
		if c.before, err = service.Begin(c); err != nil {
			return nil, err
		}
	}
	return func() (map[string]testbed.Usage, error) {
		used := map[string]testbed.Usage{}
		if r.up.server != nil {
			if used["server"], err = r.up.server.Since(server); err != nil {
				return nil, err
			}
		}
		all := testbed.Usage{Wall: time.Since(begun)}
		for _, c := range r.clients {
			part, err := c.before.Since(c)
			if err != nil {
				return nil, err
			}
			all.User, all.MaxRSS, all.Unavailable = all.User+part.User, all.MaxRSS+part.MaxRSS, all.Unavailable || part.Unavailable
		}
		used["client"] = all
		return used, nil
	}, nil
}

// connections lists the kinds of connections by which sidecars became ready.
func (r *trial) connections() []string {
	seen := map[string]int{}
	for _, s := range r.stages {
		counts, _, _ := s.sum()
		maps.Copy(seen, counts.Ready)
	}
	return slices.Sorted(maps.Keys(seen))
}

// keep writes the stages and the server's output to raw files of the trial.
func (r *trial) keep() error {
	err := workload.KeepJSON(r.t.Raw, "sidecars.json", r.stages)
	if r.up.server != nil {
		err = errors.Join(err, r.up.server.Log(r.t.Raw))
	}
	return err
}

// broken returns the error of a trial. If the trial failed because the server has ended, this is the server's end.
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
	var errs []error
	for _, c := range r.clients {
		errs = append(errs, c.Close(ctx))
	}
	r.clients = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the clients: %w", err)
	}
	return testbed.Pause(ctx, r.config.Settle.Std())
}
