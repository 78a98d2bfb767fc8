package xds

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
	"tare/internal/workload/service"
	"tare/internal/workload/xds/fleet"
)

// client is a process that simulates sidecars.
type client struct {
	*helperrpc.Helper
	ahead time.Duration // time by which the clock at the client's place is ahead of this machine's clock
}

// start starts the clients, and divides a number of sidecars among them.
func (r *trial) start(ctx context.Context, sidecars int) error {
	open, err := r.openRequest(ctx)
	if err != nil {
		return err
	}
	places, n := r.places(), r.config.Clients.One()
	for i := range n {
		place := places[i%len(places)]
		helper, err := helperrpc.StartSubject(ctx, r.t.Site, place, fleet.Helper.Name)
		if err != nil {
			return err
		}
		c := &client{Helper: helper}
		r.clients = append(r.clients, c)
		open.Sidecars, open.First, open.Fleets = share(sidecars, n, i), i, n
		if _, err := c.send(ctx, fleet.Request{Open: &open}); err != nil {
			return fmt.Errorf("the sidecars: %w", err)
		}
		if remote, ok := testbed.As[testbed.Remote](r.t.Site); ok && remote.Self(place) != "" {
			if err := c.compare(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// places lists the places where clients run. On this machine, sidecars of a server at an address run on the host,
// since a local pod reaches nothing outside.
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

// share returns the number of sidecars of client i when n sidecars are divided among this many clients.
func share(n, clients, i int) int { return (n + clients - 1 - i) / clients }

func (c *client) send(ctx context.Context, o fleet.Request) (a fleet.Response, err error) {
	err = c.Ask(ctx, o, &a)
	return a, err
}

// compare measures by how much the clock at the client's place is ahead of this machine's clock. It asks
// three times and uses the fastest response. The error is at most half of the time that this response took. A
// difference within the error counts as zero.
func (c *client) compare(ctx context.Context) error {
	var best time.Duration
	for i := range 3 {
		before := time.Now()
		a, err := c.send(ctx, fleet.Request{})
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

// sendAll sends a request to every client at the same time, and returns their responses.
func (r *trial) sendAll(ctx context.Context, request func(i int, c *client) fleet.Request) ([]fleet.Response, error) {
	answers, errs := make([]fleet.Response, len(r.clients)), make([]error, len(r.clients))
	var wait sync.WaitGroup
	for i, c := range r.clients {
		wait.Go(func() { answers[i], errs[i] = c.send(ctx, request(i, c)) })
	}
	wait.Wait()
	return answers, errors.Join(errs...)
}

// longestWait is the longest that a client waits in one request. The server's memory is read after each request.
const longestWait = time.Second

// awaitStage waits until all clients have finished their stage, or the limit has passed, and returns the stage's
// record.
func (r *trial) awaitStage(ctx context.Context, name string, limit time.Duration, meter func(context.Context) []testbed.Resource) (*stage, error) {
	end := time.Now().Add(limit)
	for {
		left := time.Until(end)
		answers, err := r.sendAll(ctx, func(int, *client) fleet.Request {
			return fleet.Request{Look: &fleet.Look{For: min(max(left, 0), longestWait), Final: left <= 0}}
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
			if err := r.up.server.BrokenRule(ctx); err != nil {
				return nil, err
			}
			used, err := service.Account{}.Since(r.up.server)
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

// heap returns the bytes in use on the server's heap. The first client asks the server.
func (r *trial) heap(ctx context.Context) (int64, error) {
	at := netip.AddrPortFrom(r.up.server.Address[testbed.PodToPod].Addr(), uint16(r.config.Metrics))
	a, err := r.clients[0].send(ctx, fleet.Request{Heap: "http://" + at.String() + "/metrics"})
	if err != nil && ctx.Err() == nil {
		err = workload.Invalidf(workload.RuleMetric, "%v", err)
	}
	return a.Heap, err
}
