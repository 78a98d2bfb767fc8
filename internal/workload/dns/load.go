package dns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
	"tare/internal/workload/dns/query"
	"tare/internal/workload/dns/zone"
	"tare/internal/workload/http/load"
	"tare/internal/workload/service"
)

// usual is the rate in queries per second if the file gives neither rate nor proxies.
const usual = 1000

func (c *Config) rate() float64 { return cmp.Or(float64(c.Rate.OrZero()), usual) }

// clientRequest is one request to the generator. Exactly one field is set.
type clientRequest struct {
	Open   *query.Config `json:"open,omitempty"`
	Begin  *load.Span    `json:"begin,omitempty"`  // request to begin a span; the response comes at once
	Result *struct{}     `json:"result,omitempty"` // request for the load.Result; the response comes at the end of the span
}

// runClient is the generator, which runs as a helper. It carries out requests from standard input until the input
// ends.
func runClient(ctx context.Context) error {
	var session *query.Session
	defer func() {
		if session != nil {
			session.Close()
		}
	}()
	type outcome struct {
		result *load.Result
		err    error
	}
	var done chan outcome
	return helperrpc.Main(ctx, func(_ context.Context, r clientRequest) (any, error) {
		switch {
		case r.Open != nil && session == nil:
			var err error
			session, err = query.Open(ctx, *r.Open)
			return nil, err
		case r.Begin != nil && session != nil && done == nil:
			span, to := *r.Begin, make(chan outcome, 1)
			done = to
			go func() {
				result, err := session.Run(ctx, span)
				to <- outcome{result, err}
			}()
			return nil, nil
		case r.Result != nil && done != nil:
			one := <-done
			done = nil
			return one.result, one.err
		}
		return nil, errEarly
	})
}

type loadTrial struct {
	*Config
	t           *workload.Trial
	up          *server
	client      *helperrpc.Helper
	label       string
	connections map[string]bool // kinds of sockets and connections that queries used
}

func (c *Config) prepareLoad(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	up, ok := t.Standing.(*server)
	if !ok {
		return nil, errors.New("no server is up")
	}
	l := &loadTrial{Config: c, t: t, up: up, connections: map[string]bool{}}
	t.Clear = l.end
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	if c.Warmup > 0 {
		if _, err := l.run(ctx, c.Warmup.Std(), 0); err != nil {
			return nil, err
		}
	}
	return l.measure, nil
}

func (l *loadTrial) open(ctx context.Context) error {
	to, err := l.destination()
	if err != nil {
		return err
	}
	if l.client, err = helperrpc.StartSubject(ctx, l.t.Site, testbed.ClientPod, clientHelper.Name); err != nil {
		return fmt.Errorf("the client cannot be started: %w", err)
	}
	if err := l.client.Ask(ctx, clientRequest{Open: &to}, nil); err != nil {
		return errors.Join(fmt.Errorf("the client: %w", err), l.end(context.WithoutCancel(ctx)))
	}
	return nil
}

// destination returns the configuration for the generator. It gives the address of the server and the names that
// queries ask for.
func (l *loadTrial) destination() (query.Config, error) {
	to := query.Config{Address: l.Address, Transport: l.transport(l.t.Site), Sockets: l.Conns.One(),
		Names: l.Names, Families: l.Families.One(), Timeout: l.Timeout.Std()}
	with := l.TLS.Client()
	to.CA, to.ServerName = with.CA, with.ServerName
	if l.Address != "" {
		return to, nil
	}
	at, err := l.up.address.On(l.Paths.One())
	if err != nil {
		return to, err
	}
	to.Address = at.String()
	if l.up.authority != "" {
		to.CA = l.up.authority
	}
	if l.builtin() {
		l.label = l.up.label()
		for i := range l.Hosts.One() {
			to.Names = append(to.Names, zone.Name(i, l.TTL.One().Std(), l.label))
		}
	}
	return to, nil
}

// run sends queries for the duration. number is a part of the seed: 0 for the warm-up, and different for each later
// span.
func (l *loadTrial) run(ctx context.Context, duration time.Duration, number int) (*load.Result, error) {
	span := load.Span{Rate: l.rate(), Arrivals: l.Arrivals, Duration: duration, Seed: uint64(l.t.Round)<<32 | uint64(number)}
	if err := l.client.Ask(ctx, clientRequest{Begin: &span}, nil); err != nil {
		return nil, l.cause(ctx, err)
	}
	if err := testbed.Pause(ctx, duration); err != nil {
		return nil, err
	}
	result := new(load.Result)
	if err := l.client.Ask(ctx, clientRequest{Result: &struct{}{}}, result); err != nil {
		return nil, l.cause(ctx, err)
	}
	for agreed := range result.Handshakes {
		l.connections[agreed] = true
	}
	return result, nil
}

// cause explains why a request to the client failed. If the server has ended, cause returns an error about the
// server. Otherwise it returns err.
func (l *loadTrial) cause(ctx context.Context, err error) error {
	if l.up.program != nil && ctx.Err() == nil {
		if ended := l.up.program.BrokenRule(ctx); ended != nil {
			return errors.Join(ended, l.up.program.Log(l.t.Raw))
		}
	}
	return fmt.Errorf("the client: %w", err)
}

func (l *loadTrial) end(ctx context.Context) error {
	if l.client == nil {
		return nil
	}
	client := l.client
	l.client = nil
	return client.Close(ctx)
}

func (l *loadTrial) parts() service.Parts {
	parts := service.Parts{"client": {l.client}}
	switch {
	case l.up.program != nil:
		parts["server"] = []service.Process{l.up.program}
	case l.up.builtin != nil:
		parts["server"] = []service.Process{l.up.builtin}
	}
	return parts
}

func (l *loadTrial) measure(ctx context.Context) (workload.Result, error) {
	used, err := l.parts().Begin()
	if err != nil {
		return workload.Result{}, err
	}
	sent, err := l.run(ctx, l.measured(l.rate()).Std(), 1)
	if err != nil {
		return workload.Result{}, err
	}
	r := workload.Result{Work: float64(sent.OK), Failed: sent.ErrorShare(), Connections: slices.Sorted(maps.Keys(l.connections)), Behaviour: sent.Behaviour()}
	if r.Used, err = used(); err != nil {
		return workload.Result{}, err
	}
	if err := errors.Join(l.record(ctx, sent), l.end(ctx)); err != nil {
		return workload.Result{}, err
	}
	if l.up.program != nil {
		if err := errors.Join(l.up.program.Log(l.t.Raw), l.up.program.BrokenRule(ctx)); err != nil {
			return workload.Result{}, err
		}
	}
	return l.judge(sent, r)
}

func (l *loadTrial) judge(sent *load.Result, r workload.Result) (workload.Result, error) {
	if sent.OK == 0 {
		return r, workload.Invalidf(workload.RuleErrors, "none of %d queries was answered: %s", sent.Due, sent.Failures())
	}
	r.Values, r.Unavailable = sent.Values("lost")
	return r, sent.Judge(l.t, l.Late, "queries")
}

// record writes raw files: the result of the load and, for the builtin server, the numbers of queries that the server
// counted.
func (l *loadTrial) record(ctx context.Context, sent *load.Result) error {
	if err := workload.KeepJSON(l.t.Raw, "load.json", sent); err != nil || l.label == "" {
		return err
	}
	counts, err := l.up.count(ctx, l.label)
	if err != nil {
		return err
	}
	return workload.KeepJSON(l.t.Raw, "counts.json", counts)
}
