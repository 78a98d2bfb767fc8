package xds

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"tare/testbed"
	"tare/testbed/orders"
	"tare/workload"
	"tare/workload/service"
	"tare/workload/xds/fleet"
)

// client is a process that holds sidecars.
type client struct {
	*orders.Helper
	ahead  time.Duration   // by which the clock of its place is ahead of this machine's
	before service.Account // of what it had used before the measured part
}

// start starts the clients of so many sidecars, and tells each of its own.
func (r *trial) start(ctx context.Context, sidecars int) error {
	open, err := r.order(ctx)
	if err != nil {
		return err
	}
	places, n := r.places(), r.config.Clients.One()
	for i := range n {
		helper, err := orders.StartSubject(ctx, r.t.Site, places[i%len(places)], fleet.Helper.Name)
		if err != nil {
			return err
		}
		c := &client{Helper: helper}
		r.clients = append(r.clients, c)
		open.Sidecars, open.First, open.Fleets = share(sidecars, n, i), i, n
		if _, err := c.tell(ctx, fleet.Order{Open: &open}); err != nil {
			return fmt.Errorf("the sidecars: %w", err)
		}
		if remote, ok := testbed.As[testbed.Remote](r.t.Site); ok && remote.Self(places[i%len(places)]) != "" {
			if err := c.compare(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// places are where clients run. On this machine the sidecars of a server that is elsewhere are in no
// pod, since nothing outside can be reached from there.
func (r *trial) places() []testbed.Place {
	remote, ok := testbed.As[testbed.Remote](r.t.Site)
	if r.config.Address != "" && (!ok || remote.Self(testbed.ClientPod) == "") {
		return []testbed.Place{testbed.Host}
	}
	if pods, ok := testbed.As[testbed.Clients](r.t.Site); ok {
		return pods.Clients()
	}
	return []testbed.Place{testbed.ClientPod}
}

// share is client i's part of n among so many clients.
func share(n, clients, i int) int {
	part := n / clients
	if i < n%clients {
		part++
	}
	return part
}

// tell gives an order.
func (c *client) tell(ctx context.Context, o fleet.Order) (a fleet.Answer, err error) {
	err = c.Ask(ctx, o, &a)
	return a, err
}

// compare compares the clock of the client's place with this machine's: the answer of three that
// came soonest tells, to half the time that it took. What may be alike is taken to be so.
func (c *client) compare(ctx context.Context) error {
	var best time.Duration
	for i := range 3 {
		before := time.Now()
		a, err := c.tell(ctx, fleet.Order{})
		if err != nil {
			return err
		}
		half := time.Since(before) / 2
		if i > 0 && half >= best {
			continue
		}
		best, c.ahead = half, a.Now.Sub(before.Add(half).Round(0))
		if c.ahead.Abs() <= half {
			c.ahead = 0
		}
	}
	return nil
}

// all gives each client an order at the same time.
func (r *trial) all(ctx context.Context, order func(i int, c *client) fleet.Order) ([]fleet.Answer, error) {
	answers, errs := make([]fleet.Answer, len(r.clients)), make([]error, len(r.clients))
	var wait sync.WaitGroup
	for i, c := range r.clients {
		wait.Go(func() { answers[i], errs[i] = c.tell(ctx, order(i, c)) })
	}
	wait.Wait()
	return answers, errors.Join(errs...)
}

// atATime is how long clients are asked to wait at a time, after which the server's memory is looked at.
const atATime = time.Second

// reached waits until all clients have done what they were told, or the limit has passed, and gives what
// became of it.
func (r *trial) reached(ctx context.Context, name string, limit time.Duration, meter func(context.Context) []testbed.Resource) (*stage, error) {
	end := time.Now().Add(limit)
	for {
		left := time.Until(end)
		answers, err := r.all(ctx, func(int, *client) fleet.Order {
			return fleet.Order{Look: &fleet.Look{For: min(max(left, 0), atATime), Final: left <= 0}}
		})
		if err != nil {
			return nil, err
		}
		s := &stage{Name: name}
		done := true
		for _, a := range answers {
			done = done && a.Done
			s.Reports = append(s.Reports, a.Report)
		}
		if r.up.server != nil {
			if err := r.up.server.Judge(ctx); err != nil {
				return nil, err
			}
			used, err := r.up.server.Since(service.Account{})
			if err != nil {
				return nil, err
			}
			s.Memory = used.MaxRSS
			r.peak = max(r.peak, s.Memory)
		}
		if done || left <= 0 {
			r.shared = testbed.Joined(r.shared, meter(ctx))
			if done && r.config.Metrics > 0 {
				if s.Heap, err = r.heap(ctx); err != nil {
					return nil, err
				}
			}
			r.stages = append(r.stages, s)
			return s, nil
		}
	}
}

// heap asks the server, from the first client's place, how much of its heap is in use.
func (r *trial) heap(ctx context.Context) (int64, error) {
	at := netip.AddrPortFrom(r.up.server.Address[testbed.PodToPod].Addr(), uint16(r.config.Metrics))
	a, err := r.clients[0].tell(ctx, fleet.Order{Heap: "http://" + at.String() + "/metrics"})
	if err != nil && ctx.Err() == nil {
		err = workload.Invalidf(workload.RuleMetric, "%v", err)
	}
	return a.Heap, err
}

// end ends the clients.
func (r *trial) end(ctx context.Context) error {
	var errs []error
	for _, c := range r.clients {
		errs = append(errs, c.Close(ctx))
	}
	r.clients = nil
	return errors.Join(errs...)
}
