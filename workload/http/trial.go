package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tare/testbed"
	"tare/workload"
	"tare/workload/http/load"
	"tare/workload/service"
)

// Prepare opens the connections and warms up.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	if c.Objective == nil {
		return workload.Uncut(ctx, c, t)
	}
	one, err := c.begin(ctx, t, 1)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (workload.Result, error) { return c.capacity(ctx, one) }, nil
}

// PrepareSlices opens the connections and warms up. Slices share the duration of the trial,
// and its connections.
func (c *Config) PrepareSlices(ctx context.Context, t *workload.Trial, n int) (workload.Sliced, error) {
	return c.begin(ctx, t, n)
}

// trial is one under way.
type trial struct {
	config  *Config
	t       *workload.Trial
	servers []*service.Running // none: the server is elsewhere
	clients []*session
	slices  int
	results []*load.Result // of each client, its slices joined
	used    map[string]testbed.Usage
	lead    time.Duration // how long before a common start orders are given, where more than usual
}

// begin starts the clients and sends the warm-up.
func (c *Config) begin(ctx context.Context, t *workload.Trial, n int) (*trial, error) {
	up, _ := t.Standing.(*standing)
	config, err := c.session(up)
	if err != nil {
		return nil, err
	}
	var servers []*service.Running
	if up != nil {
		servers = append(servers, up.Running)
	}
	return c.start(ctx, t, n, config, servers)
}

// start does so for given requests and servers.
func (c *Config) start(ctx context.Context, t *workload.Trial, n int, config load.Config, servers []*service.Running) (*trial, error) {
	r := &trial{config: c, t: t, servers: servers, slices: n, used: map[string]testbed.Usage{}}
	clients, places := c.Clients.One(), []testbed.Place{testbed.ClientPod}
	if pods, ok := testbed.As[testbed.Clients](t.Site); ok {
		places = pods.Clients()
	}
	r.results = make([]*load.Result, clients)
	for i := range clients {
		part := "client"
		if clients > 1 {
			part = fmt.Sprintf("client-%d", i+1)
		}
		config.Connections = share(c.Connections.One(), clients, i)
		s, err := openSession(ctx, t.Site, part, places[i%len(places)], config, c.Threads)
		if err != nil {
			return nil, r.broken(ctx, err)
		}
		r.clients = append(r.clients, s)
	}
	if err := r.clocks(ctx); err != nil {
		return nil, r.broken(ctx, err)
	}
	if c.Warmup > 0 {
		if err := r.warmUp(ctx); err != nil {
			return nil, r.broken(ctx, err)
		}
	}
	return r, nil
}

// share is client i's part of n among so many clients; at least 1.
func share(n, clients, i int) int {
	part := n / clients
	if i < n%clients {
		part++
	}
	return max(part, 1)
}

// session is what all clients do.
func (c *Config) session(up *standing) (load.Config, error) {
	config := load.Config{
		Protocol: load.Protocol(c.Protocol.One()), RequestsPerConnection: c.PerConn.One(), Timeout: c.Timeout.Std(),
		Requests: []load.Request{{Payload: int(c.Payload.One())}},
	}
	if config.Protocol != load.HTTP1 {
		config.Streams = c.Streams.One()
	}
	if c.builtin() {
		size := int(c.Answer.OrZero())
		config.Requests[0].Answer = &size
	}
	var err error
	if config.URL, err = c.destination(up); err != nil {
		return config, err
	}
	if strings.HasPrefix(config.URL, "https:") {
		config.TLS = &load.TLS{}
		if c.TLS != nil {
			config.TLS.CA, config.TLS.ServerName = c.TLS.trusted, c.TLS.ServerName
		}
		if up != nil && up.authority != "" {
			config.TLS.CA = up.authority
		}
	}
	return config, nil
}

// all has every client send for that long, at the same time. Stretches are numbered, so that
// what they draw differs; that of the warm-up is 0.
func (r *trial) all(ctx context.Context, duration time.Duration, stretch int) ([]*load.Result, error) {
	return r.at(ctx, r.config.rate(), load.Span{Duration: duration}, stretch)
}

// at does so at a rate; 0 is a closed loop.
func (r *trial) at(ctx context.Context, rate float64, span load.Span, stretch int) ([]*load.Result, error) {
	c, n := r.config, len(r.clients)
	results, errs := make([]*load.Result, n), make([]error, n)
	var wait sync.WaitGroup
	start, err := r.start(ctx)
	if err != nil {
		return nil, err
	}
	for i, s := range r.clients {
		if n > 1 {
			span.Start = start.Add(s.ahead)
		}
		span.Arrivals, span.Phase = load.Arrivals(c.Arrivals), float64(i)/float64(n)
		span.Seed = uint64(r.t.Round)<<32 | uint64(stretch)<<16 | uint64(i)
		if span.Rate = rate / float64(n); span.Rate == 0 {
			span.Workers = share(c.Workers.One(), n, i)
		}
		wait.Go(func() { results[i], errs[i] = s.run(ctx, span) })
	}
	wait.Wait()
	if err := errors.Join(errs...); errors.Is(err, load.ErrLate) {
		return nil, workload.Invalidf(workload.RuleLate, "not all clients were told of their common start in time: %v", err)
	} else if err != nil {
		return nil, err
	}
	return results, nil
}

// Run sends one slice's part of the load.
func (r *trial) Run(ctx context.Context, i int) error {
	count, err := r.count()
	if err != nil {
		return r.broken(ctx, err)
	}
	results, err := r.all(ctx, r.config.Duration.Std()/time.Duration(r.slices), i+1)
	if err != nil {
		return r.broken(ctx, err)
	}
	used, err := count()
	if err != nil {
		return r.broken(ctx, err)
	}
	for part, u := range used {
		if i > 0 {
			u = r.used[part].Plus(u)
		}
		r.used[part] = u
	}
	for k, result := range results {
		if r.results[k] == nil {
			r.results[k] = result
		} else {
			r.results[k] = load.Join(r.results[k], result)
		}
	}
	return nil
}

// count begins an account of what clients and server use. The function that it gives ends it,
// and adds the clients up, and the servers.
func (r *trial) count() (func() (map[string]testbed.Usage, error), error) {
	type part struct {
		name   string
		of     counted
		before service.Account
	}
	var parts []part
	for _, s := range r.clients {
		parts = append(parts, part{name: "client", of: s.Running})
	}
	for _, s := range r.servers {
		parts = append(parts, part{name: "server", of: s})
	}
	for i, p := range parts {
		var err error
		if parts[i].before, err = p.of.Account(); err != nil {
			return nil, err
		}
	}
	return func() (map[string]testbed.Usage, error) {
		used := map[string]testbed.Usage{}
		for _, p := range parts {
			one, err := p.of.Since(p.before)
			if err != nil {
				return nil, err
			}
			sum := used[p.name]
			one.User, one.MaxRSS = one.User+sum.User, one.MaxRSS+sum.MaxRSS
			one.Unavailable = one.Unavailable || sum.Unavailable
			used[p.name] = one
		}
		return used, nil
	}, nil
}

// counted is a program whose use is counted.
type counted interface {
	Account() (service.Account, error)
	Since(service.Account) (testbed.Usage, error)
}

// Finish ends the clients and gives what they have measured.
func (r *trial) Finish(ctx context.Context) (workload.Result, error) {
	result, _, err := r.finish(ctx)
	return result, err
}

// finish gives what was sent beside the values of the trial.
func (r *trial) finish(ctx context.Context) (workload.Result, *load.Result, error) {
	result := load.Merge(r.results...)
	if err := errors.Join(r.keep(result), r.end(ctx)); err != nil {
		return workload.Result{}, nil, err
	}
	if err := r.ended(ctx); err != nil {
		return workload.Result{}, nil, err
	}
	values, err := r.judge(result)
	return values, result, err
}

// ended says that a server has ended, which breaks a rule.
func (r *trial) ended(ctx context.Context) error {
	for _, s := range r.servers {
		if err := s.Judge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keep writes what was measured, and what the server printed, beside the trial.
func (r *trial) keep(result *load.Result) error {
	errs := []error{r.write("load", result)}
	if len(r.results) > 1 {
		for i, one := range r.results {
			errs = append(errs, r.write(fmt.Sprintf("load-%d", i+1), one))
		}
	}
	return errors.Join(append(errs, r.log())...)
}

func (r *trial) write(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return workload.Keep(r.t.Raw, name+".json", append(text, '\n'))
}

func (r *trial) log() error {
	var errs []error
	for _, s := range r.servers {
		errs = append(errs, s.Log(r.t.Raw))
	}
	return errors.Join(errs...)
}

// end ends the clients.
func (r *trial) end(ctx context.Context) error {
	var errs []error
	for _, s := range r.clients {
		errs = append(errs, s.Down(ctx))
	}
	return errors.Join(errs...)
}

// broken ends a trial that cannot go on. That the server has ended is why, if it has.
func (r *trial) broken(ctx context.Context, err error) error {
	_ = r.end(context.WithoutCancel(ctx))
	if ctx.Err() == nil {
		if ended := r.ended(ctx); ended != nil {
			return errors.Join(ended, r.log())
		}
	}
	return err
}

// judge makes the values of a trial, and holds it against the rules.
func (r *trial) judge(result *load.Result) (workload.Result, error) {
	c := r.config
	if result.OK == 0 {
		return workload.Result{}, workload.Invalidf(workload.RuleErrors, "none of %d requests was answered: %s", result.Due, result.Kinds())
	}
	values, unavailable := result.Values()
	if c.rate() > 0 {
		values["send-lag-p99"] = result.Lag.At(0.99).Seconds()
		if err := result.Judge(r.t, c.Late, "requests"); err != nil {
			return workload.Result{}, err
		}
	}
	return workload.Result{
		Values: values, Used: r.used, Unavailable: unavailable, Work: float64(result.OK),
		Sent: uint64(result.BytesSent + result.BytesReceived), Failed: result.ErrorShare(), Behaviour: result.Behaviour(),
	}, nil
}
