package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
	"tare/internal/workload/service"
)

// Prepare opens the connections and sends the warm-up.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	if c.Objective == nil {
		return workload.Uncut(ctx, c, t)
	}
	r, err := c.begin(ctx, t, 1)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (workload.Result, error) { return r.Capacity(ctx, nil) }, nil
}

// PrepareSlices opens the connections and sends the warm-up. Slices share the trial's duration and its
// connections.
func (c *Config) PrepareSlices(ctx context.Context, t *workload.Trial, n int) (workload.Sliced, error) {
	return c.begin(ctx, t, n)
}

// Trial is a trial under way: its clients, the load that they send, and the results so far.
type Trial struct {
	config  *Config
	t       *workload.Trial
	session load.Config
	servers []*service.Running // servers that Tare has started; empty if there are none
	clients []*client
	slices  int
	results []*load.Result // one result for each client, with its slices joined
	used    map[string]testbed.Usage
	lead    time.Duration // least time between the request to begin and the clients' common start; 0: minLead
}

func (c *Config) begin(ctx context.Context, t *workload.Trial, n int) (*Trial, error) {
	up, _ := t.Standing.(*server)
	config, err := c.session(up)
	if err != nil {
		return nil, err
	}
	var servers []*service.Running
	if up != nil {
		servers = append(servers, up.Running)
	}
	return c.Drive(ctx, t, n, config, servers)
}

// Drive starts the clients of a trial with n slices, opens their connections and sends the warm-up. session says how
// clients connect. The usage of all servers is added up as "server".
func (c *Config) Drive(ctx context.Context, t *workload.Trial, n int, session load.Config, servers []*service.Running) (*Trial, error) {
	r := &Trial{config: c, t: t, servers: servers, slices: n, used: map[string]testbed.Usage{}}
	clients, places := c.Clients.One(), []testbed.Place{testbed.ClientPod}
	if pods, ok := testbed.As[testbed.Clients](t.Site); ok {
		places = pods.Clients()
	}
	session.Threads = c.Threads
	r.session = session
	for i := range clients {
		part := "client"
		if clients > 1 {
			part = fmt.Sprintf("client-%d", i+1)
		}
		if session.Connections = share(c.Connections.One(), clients, i); c.Objective != nil && c.rate() == 0 {
			session.Connections = r.connections(c.Workers.One(), i)
		}
		one, err := startClient(ctx, t.Site, part, places[i%len(places)], session)
		if err != nil {
			return nil, r.fail(ctx, err)
		}
		r.clients, r.results = append(r.clients, one), append(r.results, load.NewResult())
	}
	if err := r.readClocks(ctx); err != nil {
		return nil, r.fail(ctx, err)
	}
	if c.Warmup > 0 {
		if err := r.warmUp(ctx); err != nil {
			return nil, r.fail(ctx, err)
		}
	}
	return r, nil
}

// share divides n connections or workers among the clients, and returns the part of client i, at least 1.
func share(n, clients, i int) int {
	return max((n+clients-1-i)/clients, 1)
}

// connections returns the number of connections that client i needs for its share of the workers.
func (r *Trial) connections(workers, i int) int {
	streams := max(r.session.Streams, 1)
	return (share(workers, r.config.Clients.One(), i) + streams - 1) / streams
}

func (c *Config) session(up *server) (load.Config, error) {
	config := load.Config{
		Protocol: c.Protocol.One(), RequestsPerConnection: c.PerConn.One(), Timeout: c.Timeout.Std(),
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
		config.TLS = c.TLS.Client()
		if up != nil && up.authority != "" {
			config.TLS.CA = up.authority
		}
	}
	return config, nil
}

// send makes all clients send at the same time. They share the rate; 0: a closed loop. number goes into the seed: 0 for
// the warm-up, different for each span.
func (r *Trial) send(ctx context.Context, rate float64, span load.Span, number int) ([]*load.Result, error) {
	start, err := r.commonStart(ctx)
	if err != nil {
		return nil, err
	}
	results, err := service.Each(r.clients, func(i int, one *client) (*load.Result, error) {
		part := r.clientSpan(span, rate, number, i)
		if !start.IsZero() {
			part.Start = start.Add(one.ahead)
		}
		result, _, err := one.ask(ctx, load.ClientRequest{Run: &part})
		return result, err
	})
	if errors.Is(err, load.ErrLate) {
		return nil, workload.Invalidf(workload.RuleLate, "not all clients learned of their common start in time: %v", err)
	}
	return results, err
}

// clientSpan returns the part of a span's load that client i sends. Phases differ so that clients send in turn, and
// seeds so that their requests differ.
func (r *Trial) clientSpan(span load.Span, rate float64, number, i int) load.Span {
	n := len(r.clients)
	span.Arrivals, span.Phase = r.config.Arrivals, float64(i)/float64(n)
	span.Seed = uint64(r.t.Round)<<32 | uint64(number)<<16 | uint64(i)
	if span.Rate = rate / float64(n); span.Rate == 0 {
		span.Workers = share(cmp.Or(span.Workers, r.config.Workers.OrZero()), n, i)
	}
	return span
}

// Run sends the load of one slice.
func (r *Trial) Run(ctx context.Context, i int) error {
	used, err := r.parts().Begin()
	if err != nil {
		return r.fail(ctx, err)
	}
	results, err := r.send(ctx, r.config.rate(), load.Span{Duration: r.config.measured(r.config.rate()).Std() / time.Duration(r.slices)}, i+1)
	if err != nil {
		return r.fail(ctx, err)
	}
	parts, err := used()
	if err != nil {
		return r.fail(ctx, err)
	}
	for part, u := range parts {
		r.used[part] = r.used[part].Plus(u)
	}
	for k, result := range results {
		r.results[k] = load.Join(r.results[k], result)
	}
	return nil
}

func (r *Trial) parts() service.Parts {
	parts := service.Parts{}
	for _, c := range r.clients {
		parts["client"] = append(parts["client"], c)
	}
	for _, s := range r.servers {
		parts["server"] = append(parts["server"], s)
	}
	return parts
}

// Finish ends the clients and returns the result of the trial.
func (r *Trial) Finish(ctx context.Context) (workload.Result, error) {
	result, _, err := r.End(ctx)
	return result, err
}

// End ends the clients. It returns the results of the trial and of its load.
func (r *Trial) End(ctx context.Context) (workload.Result, *load.Result, error) {
	sent := load.Merge(r.results...)
	if err := cmp.Or(errors.Join(r.record(sent), r.endClients(ctx)), r.serverEnded(ctx)); err != nil {
		return workload.Result{}, nil, err
	}
	result, err := r.judge(sent)
	return result, sent, err
}

func (r *Trial) serverEnded(ctx context.Context) error {
	for _, s := range r.servers {
		if err := s.BrokenRule(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *Trial) record(sent *load.Result) error {
	errs := []error{workload.KeepJSON(r.t.Raw, "load.json", sent)}
	if len(r.results) > 1 {
		for i, one := range r.results {
			errs = append(errs, workload.KeepJSON(r.t.Raw, fmt.Sprintf("load-%d.json", i+1), one))
		}
	}
	return errors.Join(append(errs, r.recordLogs())...)
}

func (r *Trial) recordLogs() error {
	return errors.Join(lists.Map(r.servers, func(s *service.Running) error { return s.Log(r.t.Raw) })...)
}

func (r *Trial) endClients(ctx context.Context) error {
	return errors.Join(lists.Map(r.clients, func(c *client) error { return c.Down(ctx) })...)
}

// fail ends the clients after an error. If a server has ended, fail returns an error about this server, and
// otherwise err.
func (r *Trial) fail(ctx context.Context, err error) error {
	_ = r.endClients(context.WithoutCancel(ctx))
	if ctx.Err() == nil {
		if ended := r.serverEnded(ctx); ended != nil {
			return errors.Join(ended, r.recordLogs())
		}
	}
	return err
}

func (r *Trial) judge(sent *load.Result) (workload.Result, error) {
	if sent.OK == 0 {
		return workload.Result{}, workload.Invalidf(workload.RuleErrors, "none of %d requests was answered: %s", sent.Due, sent.Failures())
	}
	if r.config.rate() > 0 {
		if err := sent.Judge(r.t, r.config.Late, "requests"); err != nil {
			return workload.Result{}, err
		}
	}
	values, unavailable := sent.Values()
	return workload.Result{
		Values: values, Used: r.used, Unavailable: unavailable, Work: float64(sent.OK),
		Sent: uint64(sent.BytesSent + sent.BytesReceived), Failed: sent.ErrorShare(), Behaviour: sent.Behaviour(),
	}, nil
}
