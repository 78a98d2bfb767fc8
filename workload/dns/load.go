package dns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/orders"
	"tare/workload"
	"tare/workload/dns/query"
	"tare/workload/dns/zone"
	"tare/workload/http/load"
)

// usual is the rate of a file that gives neither rate nor proxies.
const usual = 1000

// rate is the rate in force, in 1/s.
func (c *Config) rate() float64 {
	if len(c.Rate) == 0 {
		return usual
	}
	return float64(c.Rate.One())
}

// loadMeasures says what a trial of queries at a rate measures.
func (c *Config) loadMeasures() experiment.Measures {
	m := experiment.Measures{
		Expected: (c.Warmup + c.Duration).Std() + 200*time.Millisecond,
		Limit:    (c.Warmup+c.Duration+c.Timeout).Std()*2 + 30*time.Second,
		Cost:     &experiment.Cost{Prefix: "query", Unit: "query", Parts: []string{"client", "server"}},
	}
	if c.Address != "" {
		m.Cost.Parts = m.Cost.Parts[:1]
	}
	judged := c.Judged
	if len(judged) == 0 {
		judged = []string{"latency-p50", "latency-p99"}
	}
	latency := func(name string) {
		m.Metrics = append(m.Metrics, experiment.Metric{Name: name, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Headline: slices.Contains(judged, name)})
	}
	for _, each := range load.Quantiles {
		if load.Enough(c.rate()*c.Duration.Std().Seconds(), each.Q) {
			latency(each.Name)
		}
	}
	latency("latency-mean")
	share := func(name string) experiment.Metric {
		return experiment.Metric{Name: name, Better: experiment.Lower, Scale: experiment.Difference, Discrete: true}
	}
	m.Metrics = append(m.Metrics, experiment.Metric{Name: "rate", Unit: "1/s", Better: experiment.Higher, Scale: experiment.Ratio, Discrete: true},
		share("lost"), share("errors"), experiment.Metric{Name: "send-lag-p99", Unit: "s", Better: experiment.Lower, Scale: experiment.Difference, Optional: true})
	return m
}

// clientOrder is one line to the generator; exactly one member is set.
type clientOrder struct {
	Open   *query.Config `json:"open,omitempty"`
	Begin  *load.Span    `json:"begin,omitempty"`  // answered by nothing, at once
	Result *struct{}     `json:"result,omitempty"` // answered by the load.Result of the span that was begun last
}

// beClient is the generator. It serves orders from standard input until that ends.
func beClient(ctx context.Context) error {
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
	return orders.Main(ctx, func(_ context.Context, o clientOrder) (any, error) {
		switch {
		case o.Open != nil && session == nil:
			var err error
			session, err = query.Open(ctx, *o.Open)
			return nil, err
		case o.Begin != nil && session != nil && done == nil:
			span, to := *o.Begin, make(chan outcome, 1)
			done = to
			go func() {
				result, err := session.Run(ctx, span)
				to <- outcome{result, err}
			}()
			return nil, nil
		case o.Result != nil && done != nil:
			one := <-done
			done = nil
			return one.result, one.err
		}
		return nil, errors.New("an order that says nothing, or comes too early")
	})
}

// loaded is a trial of queries at a rate under way.
type loaded struct {
	*Config
	t      *workload.Trial
	up     *standing
	client *orders.Helper
	label  string
	went   map[string]bool // the sockets and connections that queries went through, each kind once
}

// prepareLoad opens the sockets and warms up.
func (c *Config) prepareLoad(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	up, ok := t.Standing.(*standing)
	if !ok {
		return nil, errors.New("no server is up")
	}
	l := &loaded{Config: c, t: t, up: up, went: map[string]bool{}}
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

// open starts the generator, which opens the sockets.
func (l *loaded) open(ctx context.Context) error {
	to, err := l.destination()
	if err != nil {
		return err
	}
	if l.client, err = orders.StartSubject(ctx, l.t.Site, testbed.ClientPod, clientHelper.Name); err != nil {
		return fmt.Errorf("the client cannot be started: %w", err)
	}
	if err := l.client.Ask(ctx, clientOrder{Open: &to}, nil); err != nil {
		return errors.Join(fmt.Errorf("the client: %w", err), l.end(context.WithoutCancel(ctx)))
	}
	return nil
}

// destination is where queries go, and what they are.
func (l *loaded) destination() (query.Config, error) {
	to := query.Config{Address: l.Address, Transport: l.transport(l.t.Site), Sockets: l.Conns.One(),
		Names: l.Names, Families: l.Families.One(), Timeout: l.Timeout.Std()}
	if l.TLS != nil {
		to.CA, to.ServerName = l.TLS.trusted, l.TLS.ServerName
	}
	if l.Address != "" {
		return to, nil
	}
	at, err := l.at(l.up)
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

// run sends for that long. Stretches are numbered, so that what they draw differs.
func (l *loaded) run(ctx context.Context, duration time.Duration, stretch int) (*load.Result, error) {
	span := load.Span{Rate: l.rate(), Arrivals: load.Arrivals(l.Arrivals), Duration: duration, Seed: uint64(l.t.Round)<<32 | uint64(stretch)}
	if err := l.client.Ask(ctx, clientOrder{Begin: &span}, nil); err != nil {
		return nil, l.why(ctx, err)
	}
	if err := testbed.Pause(ctx, duration); err != nil {
		return nil, err
	}
	result := new(load.Result)
	if err := l.client.Ask(ctx, clientOrder{Result: &struct{}{}}, result); err != nil {
		return nil, l.why(ctx, err)
	}
	for agreed := range result.Handshakes {
		l.went[agreed] = true
	}
	return result, nil
}

// why says that the server has ended, if it has.
func (l *loaded) why(ctx context.Context, err error) error {
	if l.up.program != nil && ctx.Err() == nil {
		if ended := l.up.program.Judge(ctx); ended != nil {
			return errors.Join(ended, l.up.program.Log(l.t.Raw))
		}
	}
	return fmt.Errorf("the client: %w", err)
}

// end ends the generator, once.
func (l *loaded) end(ctx context.Context) error {
	if l.client == nil {
		return nil
	}
	client := l.client
	l.client = nil
	return client.Close(ctx)
}

// account begins an account of what the client and the server use. The function that it gives ends it.
func (l *loaded) account() (func() (map[string]testbed.Usage, error), error) {
	parts := map[string]func() (testbed.Usage, error){}
	var err error
	if parts["client"], err = account(l.client); err != nil {
		return nil, err
	}
	switch {
	case l.up.program != nil:
		before, err := l.up.program.Account()
		if err != nil {
			return nil, err
		}
		parts["server"] = func() (testbed.Usage, error) { return l.up.program.Since(before) }
	case l.up.builtin != nil:
		if parts["server"], err = account(l.up.builtin); err != nil {
			return nil, err
		}
	}
	return func() (map[string]testbed.Usage, error) {
		used := map[string]testbed.Usage{}
		for name, part := range parts {
			if used[name], err = part(); err != nil {
				return nil, err
			}
		}
		return used, nil
	}, nil
}

// measure sends for the duration, and holds what came of it against the rules.
func (l *loaded) measure(ctx context.Context) (workload.Result, error) {
	used, err := l.account()
	if err != nil {
		return workload.Result{}, err
	}
	sent, err := l.run(ctx, l.Duration.Std(), 1)
	if err != nil {
		return workload.Result{}, err
	}
	r := workload.Result{Work: float64(sent.OK), Failed: sent.ErrorShare(), Connections: slices.Sorted(maps.Keys(l.went)), Behaviour: sent.Behaviour()}
	if r.Used, err = used(); err != nil {
		return workload.Result{}, err
	}
	if err := errors.Join(l.keep(ctx, sent), l.end(ctx)); err != nil {
		return workload.Result{}, err
	}
	if l.up.program != nil {
		if err := errors.Join(l.up.program.Log(l.t.Raw), l.up.program.Judge(ctx)); err != nil {
			return workload.Result{}, err
		}
	}
	return l.judge(sent, r)
}

// keep keeps what was sent with the trial, and what the builtin server has counted of it.
func (l *loaded) keep(ctx context.Context, sent *load.Result) error {
	text, err := json.Marshal(sent)
	if err != nil {
		return err
	}
	if err := workload.Keep(l.t.Raw, "load.json", append(text, '\n')); err != nil || l.label == "" {
		return err
	}
	counts, err := l.up.count(ctx, l.label)
	if err != nil {
		return err
	}
	if text, err = json.Marshal(counts); err != nil {
		return err
	}
	return workload.Keep(l.t.Raw, "counts.json", append(text, '\n'))
}

// judge makes the values of a trial, and holds it against the rules.
func (l *loaded) judge(sent *load.Result, r workload.Result) (workload.Result, error) {
	if sent.OK == 0 {
		return r, workload.Invalidf(workload.RuleErrors, "none of %d queries was answered: %s", sent.Due, sent.Kinds())
	}
	r.Values, r.Unavailable = sent.Values()
	r.Values["lost"] = float64(sent.Errors[load.Timeout]) / float64(sent.Due)
	r.Values["send-lag-p99"] = sent.Lag.At(0.99).Seconds()
	return r, sent.Judge(l.t, l.Late, "queries")
}
