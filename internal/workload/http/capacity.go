package http

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
	"tare/internal/workload/staircase"
)

// objective holds limits on errors and latency. A server carries a rate if a load at this rate meets all limits. At
// least one is on the latency.
type objective struct {
	P50    quantity.Duration `yaml:"latency-p50" json:"latency-p50,omitempty" min:"0s" max:"1m" doc:"latency that at most half of the requests may exceed"`
	P90    quantity.Duration `yaml:"latency-p90" json:"latency-p90,omitempty" min:"0s" max:"1m" doc:"latency that at most one request in ten may exceed"`
	P99    quantity.Duration `yaml:"latency-p99" json:"latency-p99,omitempty" min:"0s" max:"1m" doc:"latency that at most one request in a hundred may exceed"`
	P999   quantity.Duration `yaml:"latency-p99.9" json:"latency-p99.9,omitempty" min:"0s" max:"1m" doc:"latency that at most one request in a thousand may exceed"`
	Errors quantity.Percent  `yaml:"errors" json:"errors,omitempty" doc:"largest share of requests that may fail; 0% if absent"`
	Probe  quantity.Duration `yaml:"probe" json:"probe,omitempty" min:"0s" max:"1h" doc:"least time for which each rate is tried; 1s if absent. A rate is tried for longer if a quantile needs more requests"`
}

type limit struct {
	name     string
	quantile float64
	most     quantity.Duration
}

func (o *objective) limits() []limit {
	all := []limit{{"p50", 0.5, o.P50}, {"p90", 0.9, o.P90}, {"p99", 0.99, o.P99}, {"p99.9", 0.999, o.P999}}
	return slices.DeleteFunc(all, func(l limit) bool { return l.most <= 0 })
}

// String writes the limits: "p99 ≤ 20 ms, errors ≤ 0.1 %".
func (o *objective) String() string {
	var list []string
	for _, l := range o.limits() {
		list = append(list, staircase.AtMost(l.name, l.most))
	}
	if o.Errors > 0 {
		list = append(list, staircase.AtMost("errors", o.Errors))
	}
	return strings.Join(list, ", ")
}

func (o *objective) validate(errs *experiment.FieldErrors) {
	if len(o.limits()) == 0 {
		errs.Add("objective", "it limits no latency: without a limit a server carries any rate")
	}
}

// met reports whether a load met the objective. The errors, the rate of good responses and the latencies must all be
// within their limits.
func (o *objective) met(r *load.Result) bool {
	if r.ErrorShare() > float64(o.Errors) || r.Rate() < load.LeastRate*r.Offered()*(1-float64(o.Errors)) {
		return false
	}
	for _, l := range o.limits() {
		if v, known := r.Quantile(l.quantile); !known || v > l.most.Std() {
			return false
		}
	}
	return true
}

// probe returns how long the search tries one rate. The time is long enough to send the requests that each quantile
// with a limit needs.
func (o *objective) probe(rate float64) time.Duration {
	longest := cmp.Or(o.Probe.Std(), time.Second)
	for _, l := range o.limits() {
		longest = max(longest, time.Duration(1.1*load.Beyond/(1-l.quantile)/rate*float64(time.Second)))
	}
	return longest
}

const (
	// overload is the last rate of the search, divided by the capacity. It shows how the server behaves beyond its
	// capacity.
	overload = 1.25
	drain    = time.Second
)

// capacity searches the highest rate that a server can carry.
func (r *Trial) capacity(ctx context.Context) (workload.Result, error) {
	c, search := r.config, staircase.Search{Fineness: staircase.Fine, Near: r.config.rate(), Least: 1, Most: 10e6, Unit: "per second"}
	record := staircase.Record[searchTry]{Began: search.First(r.t.Seed)}
	usage, err := r.parts().Begin()
	if err != nil {
		return workload.Result{}, r.fail(ctx, err)
	}
	var requests, bytes int64
	try := func(rate float64) (*load.Result, error) {
		meter := testbed.StartMeter(ctx, r.t.Site)
		results, err := r.send(ctx, rate, load.Span{Duration: c.Objective.probe(rate), Drain: drain}, len(record.Tries)+1)
		if err != nil {
			return nil, err
		}
		result := load.Merge(results...)
		requests, bytes = requests+result.OK, bytes+result.BytesSent+result.BytesReceived
		record.Tries = append(record.Tries, searchTry{rate, c.Objective.met(result), result, meter(ctx)})
		return result, nil
	}
	found, err := search.Find(r.t.Seed, func(rate float64) (bool, error) {
		result, err := try(rate)
		return err == nil && c.Objective.met(result), err
	})
	var beyond *load.Result
	var resources []testbed.Resource
	for _, t := range record.Tries[max(0, len(record.Tries)-search.Turns):] { // only the last tries count, since they are near the capacity
		resources = testbed.Joined(resources, t.Resources)
	}
	if err == nil {
		beyond, err = try(overload * found)
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
	return workload.Result{
		Values: map[string]float64{"capacity": found, "rate-beyond": beyond.Rate() / found},
		Used:   used, Resources: resources, Work: float64(requests), Sent: uint64(bytes),
	}, nil
}

type searchTry struct {
	Rate      float64            `json:"rate"`
	Carried   bool               `json:"carried"`
	Result    *load.Result       `json:"result"`
	Resources []testbed.Resource `json:"resources,omitempty"`
}

func (o *objective) capacityMetrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: "capacity", Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio, Objective: o.String()},
		{Name: "rate-beyond", Better: experiment.Higher, Scale: experiment.Ratio},
	}
}
