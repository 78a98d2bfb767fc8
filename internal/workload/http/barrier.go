package http

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
)

// Several clients begin a span at the same time. Each client's request states this time by the client's own
// clock. Before a trial Tare therefore reads the clocks of clients on other nodes of a cluster.

// minLead is the least time between a request to clients and their common start.
const minLead = 300 * time.Millisecond

// commonStart returns the clients' common start, by this machine's clock. By then, all clients will have
// received their request. For one client, the common start is zero. Each call measures how long requests
// take, since requests take longer on a busy machine.
func (r *Trial) commonStart(ctx context.Context) (time.Time, error) {
	if len(r.clients) == 1 {
		return time.Time{}, nil
	}
	asked := time.Now()
	_, err := eachClient(r, func(_ int, c *client) (time.Time, error) {
		_, now, err := c.ask(ctx, load.ClientRequest{Clock: true})
		return now, err
	})
	return time.Now().Add(max(r.lead, minLead, 3*time.Since(asked))), err
}

// eachClient calls do for all clients at the same time.
func eachClient[T any](r *Trial, do func(i int, c *client) (T, error)) ([]T, error) {
	all, errs := make([]T, len(r.clients)), make([]error, len(r.clients))
	var wait sync.WaitGroup
	for i, c := range r.clients {
		wait.Go(func() { all[i], errs[i] = do(i, c) })
	}
	wait.Wait()
	return all, errors.Join(errs...)
}

// warmUp makes all clients send the warm-up. If a client receives its request after the common start, all
// clients repeat the warm-up. From then on, more time lies between a request and its common start.
func (r *Trial) warmUp(ctx context.Context) error {
	for {
		_, err := r.send(ctx, r.config.rate(), load.Span{Duration: r.config.Warmup.Std()}, 0)
		var invalid *workload.Invalid
		if !errors.As(err, &invalid) || invalid.Rule != workload.RuleLate || r.lead > 4*minLead {
			return err
		}
		r.lead = 2 * max(r.lead, minLead)
	}
}

// clock is the difference between a client's clock and this machine's clock.
type clock struct {
	Client string        `json:"client"`
	Place  testbed.Place `json:"place"`
	Ahead  time.Duration `json:"ahead"`  // by which the client's clock is ahead of this machine's
	Within time.Duration `json:"within"` // the error of Ahead: half the time that the response took
	Used   bool          `json:"used"`   // whether Ahead is used; false: the clocks agree within the error
}

// readClocks reads the clocks of several clients that run on other machines, and records them with the trial.
// If a client's clock and this machine's clock agree within the error, they count as equal, since nodes
// synchronise their clocks better than Tare can measure.
func (r *Trial) readClocks(ctx context.Context) error {
	remote, ok := testbed.As[testbed.Remote](r.t.Site)
	if !ok || len(r.clients) == 1 {
		return nil
	}
	all, err := eachClient(r, func(_ int, c *client) (clock, error) {
		if remote.Self(c.Where) == "" {
			return clock{}, nil
		}
		return c.readClock(ctx)
	})
	if err != nil {
		return err
	}
	for i, c := range all {
		if c.Used {
			r.clients[i].ahead = c.Ahead
		}
	}
	text, err := json.MarshalIndent(slices.DeleteFunc(all, func(c clock) bool { return c.Client == "" }), "", "  ")
	if err != nil {
		return err
	}
	return workload.Keep(r.t.Raw, "clocks.json", append(text, '\n'))
}

// readClock asks three times for the time, and uses the fastest response.
func (c *client) readClock(ctx context.Context) (clock, error) {
	best := clock{Client: c.Name, Place: c.Where}
	for i := range 3 {
		before := time.Now()
		_, now, err := c.ask(ctx, load.ClientRequest{Clock: true})
		if err != nil {
			return best, err
		}
		half := time.Since(before) / 2
		if i == 0 || half < best.Within {
			best.Within, best.Ahead = half, now.Sub(before.Add(half).Round(0))
		}
	}
	best.Used = best.Ahead.Abs() > best.Within
	return best, nil
}
