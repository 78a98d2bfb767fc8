package http

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/testbed"
	"tare/workload"
	"tare/workload/http/load"
	"tare/workload/staircase"
)

// Objective is what the answers must be for a rate to be carried. At least one limit on the
// latency is given.
type Objective struct {
	P50    quantity.Duration `yaml:"latency-p50" json:"latency-p50,omitempty" doc:"most that half of the requests may exceed"`
	P90    quantity.Duration `yaml:"latency-p90" json:"latency-p90,omitempty" doc:"most that one in ten may exceed"`
	P99    quantity.Duration `yaml:"latency-p99" json:"latency-p99,omitempty" doc:"most that one in a hundred may exceed"`
	P999   quantity.Duration `yaml:"latency-p99.9" json:"latency-p99.9,omitempty" doc:"most that one in a thousand may exceed"`
	Errors quantity.Percent  `yaml:"errors" json:"errors,omitempty" doc:"largest share of requests that may fail; 0% if absent"`
	Probe  quantity.Duration `yaml:"probe" json:"probe,omitempty" doc:"how long each rate is tried, at least; 1s if absent. It is tried for longer where its quantile takes more requests"`
}

// limits are those on quantiles, in the order of load.Quantiles.
func (o *Objective) limits() []quantity.Duration {
	return []quantity.Duration{o.P50, o.P90, o.P99, o.P999}
}

// String writes the limits: "p99 ≤ 20 ms, errors ≤ 0.1 %".
func (o *Objective) String() string {
	var list []string
	for i, most := range o.limits() {
		if most > 0 {
			list = append(list, staircase.AtMost(strings.TrimPrefix(load.Quantiles[i].Name, "latency-"), most))
		}
	}
	if o.Errors > 0 {
		list = append(list, staircase.AtMost("errors", o.Errors))
	}
	return strings.Join(list, ", ")
}

func (o *Objective) validate(errs *experiment.FieldErrors) {
	given := false
	for i, limit := range o.limits() {
		given = given || limit > 0
		if limit < 0 || limit.Std() > time.Minute {
			errs.Add("objective."+load.Quantiles[i].Name, "%v is not a time from 0s to 1m", limit)
		}
	}
	if !given {
		errs.Add("objective", "no latency is limited: without a limit a server carries whatever it is sent")
	}
	if o.Probe < 0 || o.Probe.Std() > time.Hour {
		errs.Add("objective.probe", "%v is not a time from 0s to 1h", o.Probe)
	}
}

// met says whether the answers are as they must be: all of the offered rate answered in time, but
// for the share of errors that is allowed.
func (o *Objective) met(r *load.Result) bool {
	if r.ErrorShare() > float64(o.Errors) || r.Rate() < load.LeastRate*r.Offered()*(1-float64(o.Errors)) {
		return false
	}
	for i, limit := range o.limits() {
		if limit <= 0 {
			continue
		}
		if v, ok := r.Quantile(load.Quantiles[i].Q); !ok || v > limit.Std() {
			return false
		}
	}
	return true
}

// probe is how long a rate is tried, so that every quantile has its requests.
func (o *Objective) probe(rate float64) time.Duration {
	longest := time.Second
	if o.Probe > 0 {
		longest = o.Probe.Std()
	}
	for i, limit := range o.limits() {
		if limit > 0 {
			longest = max(longest, time.Duration(1.1*load.Beyond/(1-load.Quantiles[i].Q)/rate*float64(time.Second)))
		}
	}
	return longest
}

const (
	overload = 1.25 // times its capacity, at which collapse is looked for
	drain    = time.Second
)

// capacity measures by a search what a server carries.
func (c *Config) capacity(ctx context.Context, r *trial) (workload.Result, error) {
	stretch, search := 0, staircase.Search{Fineness: staircase.Fine, Near: c.rate(), Least: 1, Most: 10e6, Unit: "per second"}
	record := staircase.Record[tried]{Began: search.First(r.t.Seed)}
	count, err := r.count()
	if err != nil {
		return workload.Result{}, r.broken(ctx, err)
	}
	var requests, bytes int64
	try := func(rate float64) (*load.Result, error) {
		stretch++
		meter := testbed.StartMeter(ctx, r.t.Site)
		results, err := r.at(ctx, rate, load.Span{Duration: c.Objective.probe(rate), Drain: drain}, stretch)
		if err != nil {
			return nil, err
		}
		result := load.Merge(results...)
		requests, bytes = requests+result.OK, bytes+result.BytesSent+result.BytesReceived
		record.Tries = append(record.Tries, tried{rate, c.Objective.met(result), result, meter(ctx)})
		return result, nil
	}
	found, err := search.Find(r.t.Seed, func(rate float64) (bool, error) {
		result, err := try(rate)
		return err == nil && c.Objective.met(result), err
	})
	var beyond *load.Result
	var resources []testbed.Resource
	for _, t := range record.Tries[max(0, len(record.Tries)-search.Turns):] { // near the capacity
		resources = testbed.Joined(resources, t.Resources)
	}
	if err == nil {
		beyond, err = try(overload * found)
	}
	var used map[string]testbed.Usage
	if err == nil {
		used, err = count()
	}
	if err = errors.Join(err, r.write("search", record)); err != nil {
		return workload.Result{}, r.broken(ctx, err)
	}
	if err := cmp.Or(errors.Join(r.log(), r.end(ctx)), r.ended(ctx)); err != nil {
		return workload.Result{}, err
	}
	return workload.Result{
		Values: map[string]float64{"capacity": found, "rate-beyond": beyond.Rate() / found},
		Used:   used, Resources: resources, Work: float64(requests), Sent: uint64(bytes),
	}, nil
}

// tried is one try of a search.
type tried struct {
	Rate      float64            `json:"rate"`
	Carried   bool               `json:"carried"`
	Result    *load.Result       `json:"result"`
	Resources []testbed.Resource `json:"resources,omitempty"`
}

// capacityMetrics are those of a search.
func (o *Objective) capacityMetrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: "capacity", Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio, Objective: o.String()},
		{Name: "rate-beyond", Better: experiment.Higher, Scale: experiment.Ratio},
	}
}
