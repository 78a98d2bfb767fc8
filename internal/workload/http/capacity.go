package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
	"tare/internal/workload/service"
	"tare/internal/workload/staircase"
)

// Objective holds limits on errors and latency. A server carries a load if the load meets all limits. The load is a
// rate, or in a closed loop a number of workers. For a rate, at least one limit is on the latency.
type Objective struct {
	P50    quantity.Duration `yaml:"latency-p50" json:"latency-p50,omitempty" min:"0s" max:"1m" doc:"latency that at most half of the requests may exceed"`
	P90    quantity.Duration `yaml:"latency-p90" json:"latency-p90,omitempty" min:"0s" max:"1m" doc:"latency that at most one request in ten may exceed"`
	P99    quantity.Duration `yaml:"latency-p99" json:"latency-p99,omitempty" min:"0s" max:"1m" doc:"latency that at most one request in a hundred may exceed"`
	P999   quantity.Duration `yaml:"latency-p99.9" json:"latency-p99.9,omitempty" min:"0s" max:"1m" doc:"latency that at most one request in a thousand may exceed"`
	Errors quantity.Percent  `yaml:"errors" json:"errors,omitempty" doc:"largest share of requests that may fail; 0% if absent"`
	Probe  quantity.Duration `yaml:"probe" json:"probe,omitempty" min:"0s" max:"1h" doc:"time for which each load is tried. For workers it is duration if absent. For a rate it is 1s if absent, and longer if a quantile needs more requests"`
	Most   int               `yaml:"most" json:"most,omitempty" min:"0" max:"100000" doc:"most workers that the search tries; 16 times workers if absent"`
}

type limit struct {
	name     string
	quantile float64
	most     quantity.Duration
}

func (o *Objective) limits() []limit {
	all := []limit{{"p50", 0.5, o.P50}, {"p90", 0.9, o.P90}, {"p99", 0.99, o.P99}, {"p99.9", 0.999, o.P999}}
	return slices.DeleteFunc(all, func(l limit) bool { return l.most <= 0 })
}

// String writes the limits: "p99 ≤ 20 ms, errors ≤ 0.1 %".
func (o *Objective) String() string {
	var list []string
	for _, l := range o.limits() {
		list = append(list, staircase.AtMost(l.name, l.most))
	}
	if o.Errors > 0 || len(list) == 0 {
		list = append(list, staircase.AtMost("errors", o.Errors))
	}
	return strings.Join(list, ", ")
}

// Validate adds the errors of an objective to errs. workers is empty if the search is for a rate.
func (o *Objective) Validate(errs *experiment.FieldErrors, workers []int) {
	if len(workers) == 0 && len(o.limits()) == 0 {
		errs.Add("objective", "it limits no latency: without a limit a server carries any rate")
	}
	if len(workers) == 0 && o.Most > 0 {
		errs.Add("objective.most", "the load is a rate: most is for workers")
	}
	for i, n := range workers {
		if most := o.most(n); n > most {
			errs.Add(fmt.Sprintf("workers[%d]", i), "%d is more than the %d of objective.most", n, most)
		}
	}
}

// most returns the largest number of workers that a search may try, if the file has n workers.
func (o *Objective) most(n int) int { return cmp.Or(o.Most, min(16*n, mostWorkers)) }

// mostWorkers is the largest number of workers in an experiment file.
const mostWorkers = 100_000

// met reports whether a load met the objective. The errors, the rate of good responses and the latencies must all be
// within their limits. Workers send no more requests than are answered, so their rate has no limit.
func (o *Objective) met(r *load.Result) bool {
	if r.ErrorShare() > float64(o.Errors) || !r.Closed && r.Rate() < load.LeastRate*r.Offered()*(1-float64(o.Errors)) {
		return false
	}
	return !slices.ContainsFunc(o.limits(), func(l limit) bool {
		v, known := r.Quantile(l.quantile)
		return !known || v > l.most.Std()
	})
}

// probe returns how long the search tries one load. A rate is tried long enough to send the requests that each quantile
// with a limit needs.
func (c *Config) probe(rate float64) time.Duration {
	o := c.Objective
	if rate == 0 {
		return cmp.Or(o.Probe, c.Duration).Std()
	}
	longest := cmp.Or(o.Probe.Std(), time.Second)
	for _, l := range o.limits() {
		longest = max(longest, load.TimeFor(l.quantile, rate))
	}
	return longest
}

// search describes the search for a rate, or in a closed loop for a number of workers. The tries of workers are longer
// than those of rates, so there are fewer of them.
func (c *Config) search() staircase.Search {
	if c.rate() > 0 {
		return staircase.Search{Fineness: staircase.Fine, Near: c.rate(), Least: 1, Most: 10e6, Unit: "per second"}
	}
	n := c.Workers.One()
	return staircase.Search{Fineness: staircase.Coarse, Near: float64(n), Least: float64(c.Clients.One()), Most: float64(c.Objective.most(n)), Unit: "workers"}
}

const (
	// overload is the last rate of the search, divided by the capacity. It shows how the server behaves beyond its
	// capacity.
	overload = 1.25
	drain    = time.Second
)

// Capacity searches the highest load that a server can carry: a rate, or in a closed loop a number of workers. Unless
// after is nil, it is called after each try. It returns the URL for the next try, and why the server failed in this try
// though requests may have been answered; "": it did not fail.
func (r *Trial) Capacity(ctx context.Context, after func(context.Context) (url, failed string, err error)) (workload.Result, error) {
	search := r.config.search()
	record := staircase.Record[searchTry]{Began: search.First(r.t.Seed)}
	usage, err := r.parts().Begin()
	if err != nil {
		return workload.Result{}, r.fail(ctx, err)
	}
	var requests, bytes int64
	try := func(at float64) (t searchTry, err error) {
		meter := testbed.StartMeter(ctx, r.t.Site)
		if t, err = r.try(ctx, at, len(record.Tries)+1); err != nil {
			return t, err
		}
		t.Resources = meter(ctx)
		requests, bytes = requests+t.Result.OK, bytes+t.Result.BytesSent+t.Result.BytesReceived
		if t.Carried = r.config.Objective.met(t.Result); after != nil {
			r.session.URL, t.Why, err = after(ctx)
			t.Carried = t.Carried && t.Why == ""
		}
		record.Tries = append(record.Tries, t)
		return t, err
	}
	found, err := search.Find(r.t.Seed, func(at float64) (bool, error) {
		t, err := try(at)
		return t.Carried, err
	})
	values := map[string]float64{"capacity": found}
	var resources []testbed.Resource
	for _, t := range record.Tries[max(0, len(record.Tries)-search.Turns):] { // only the last tries count, since they are near the capacity
		resources = testbed.Joined(resources, t.Resources)
	}
	if err == nil && r.config.rate() > 0 {
		var beyond searchTry
		if beyond, err = try(overload * found); err == nil {
			values["rate-beyond"] = beyond.Result.Rate() / found
		}
	}
	var used map[string]testbed.Usage
	if err == nil {
		used, err = usage()
	}
	if err = errors.Join(err, workload.KeepJSON(r.t.Raw, "search.json", record)); err != nil {
		return workload.Result{}, r.fail(ctx, err)
	}
	if err := cmp.Or(errors.Join(r.recordLogs(), r.endClients(ctx)), r.serverEnded(ctx)); err != nil {
		return workload.Result{}, err
	}
	return workload.Result{Values: values, Used: used, Resources: resources, Work: float64(requests), Sent: uint64(bytes)}, nil
}

// try sends one load of a search. Workers get new connections, as many as they need: a server may refuse connections. A
// try of workers lasts until each request has its response or has failed by the timeout.
func (r *Trial) try(ctx context.Context, at float64, number int) (searchTry, error) {
	t, span := searchTry{Rate: at}, load.Span{Duration: r.config.probe(at), Drain: drain}
	if r.config.rate() == 0 {
		n := int(math.Round(at))
		t, span = searchTry{Workers: n}, load.Span{Duration: r.config.probe(0), Workers: n}
		if err := r.reconnect(ctx, n); err != nil {
			return t, err
		}
	}
	results, err := r.send(ctx, t.Rate, span, number)
	if err == nil {
		t.Result = load.Merge(results...)
	}
	return t, err
}

// reconnect gives the clients new connections for a number of workers. The next span of load opens them.
func (r *Trial) reconnect(ctx context.Context, workers int) error {
	_, err := service.Each(r.clients, func(i int, one *client) (*load.Result, error) {
		session := r.session
		session.Connections = r.connections(workers, i)
		result, _, err := one.ask(ctx, load.ClientRequest{Open: &session})
		return result, err
	})
	return err
}

type searchTry struct {
	Rate      float64            `json:"rate,omitempty"`
	Workers   int                `json:"workers,omitempty"`
	Carried   bool               `json:"carried"`
	Why       string             `json:"why,omitempty"` // why the server failed, if not by its responses
	Result    *load.Result       `json:"result"`
	Resources []testbed.Resource `json:"resources,omitempty"`
}

// capacityMetrics lists the metrics of a search.
func (c *Config) capacityMetrics() []experiment.Metric {
	m := experiment.Metric{Name: "capacity", Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio, Objective: c.Objective.String()}
	if c.rate() == 0 {
		m.Unit = "workers"
		return []experiment.Metric{m}
	}
	return []experiment.Metric{m, {Name: "rate-beyond", Better: experiment.Higher, Scale: experiment.Ratio}}
}
