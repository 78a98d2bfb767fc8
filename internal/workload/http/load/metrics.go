package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/workload"
)

// timing is one of the times within a request, such as its latency. A histogram of a Result collects this time from
// all requests.
type timing struct {
	histogram func(*Result) **Histogram
	time      func(Exchange) (d time.Duration, covered bool) // covered is false for a request that the histogram omits
}

var (
	latency = timing{func(r *Result) **Histogram { return &r.Latency }, func(x Exchange) (time.Duration, bool) { return x.Last - x.Due, x.Kind == "" }}
	// In an open loop, the time to first byte counts from the intended time, as the latency does.
	ttfb    = timing{func(r *Result) **Histogram { return &r.FirstByte }, func(x Exchange) (time.Duration, bool) { return x.First - x.Due, x.Kind == "" }}
	failed  = timing{func(r *Result) **Histogram { return &r.Failed }, func(x Exchange) (time.Duration, bool) { return x.Last - x.Due, x.Kind != "" }}
	lag     = timing{func(r *Result) **Histogram { return &r.Lag }, func(x Exchange) (time.Duration, bool) { return x.Sent - max(x.Due, x.Free), x.Paced }}
	waited  = timing{func(r *Result) **Histogram { return &r.Waited }, func(x Exchange) (time.Duration, bool) { return x.Free - x.Due, x.Paced }}
	connect = timing{func(r *Result) **Histogram { return &r.Connect }, func(Exchange) (time.Duration, bool) { return 0, false }}
)

// timings lists all histograms of a Result, except for Named. Connect is no time of a request: a new
// connection fills its histogram.
var timings = []timing{latency, ttfb, failed, lag, waited, connect}

// metricRow is a metric of a load: a quantile of a timing, another function of a timing (such as the mean), or a
// function of the result.
type metricRow struct {
	experiment.Metric
	timing   timing
	quantile float64 // such as 0.99 for latency-p99; 0: the metric is no quantile
	of       func(*Histogram) time.Duration
	value    func(*Result) float64
	openLoop bool // the metric has no value in a closed loop
	extra    bool // the metric is only for workloads that ask for it
}

// metrics lists the metrics of loads, in the order of output. http, dns and vault have all metrics but those with extra
// = true, which a workload must name.
var metrics = []metricRow{
	{Metric: seconds("latency-p50"), timing: latency, quantile: 0.5},
	{Metric: seconds("latency-p90"), timing: latency, quantile: 0.9},
	{Metric: seconds("latency-p99"), timing: latency, quantile: 0.99},
	{Metric: seconds("latency-p99.9"), timing: latency, quantile: 0.999},
	{Metric: seconds("latency-mean"), timing: latency, of: (*Histogram).Mean},
	{Metric: seconds("ttfb-p50"), timing: ttfb, quantile: 0.5},
	{Metric: seconds("ttfb-p99"), timing: ttfb, quantile: 0.99},
	{
		Metric: experiment.Metric{Name: "rate", Unit: "1/s", Better: experiment.Higher, Scale: experiment.Ratio, Discrete: true},
		value:  (*Result).Rate,
	},
	{Metric: share("lost"), value: (*Result).lostShare, extra: true},
	{Metric: share("errors"), value: (*Result).ErrorShare},
	{
		Metric: experiment.Metric{Name: "send-lag-p99", Unit: "s", Better: experiment.Lower, Scale: experiment.Difference, Optional: true},
		timing: lag, of: func(h *Histogram) time.Duration { return h.At(0.99) }, openLoop: true,
	},
	{Metric: seconds("latency-max"), timing: latency, of: (*Histogram).Max, extra: true},
	{Metric: seconds("latency-min"), timing: latency, of: (*Histogram).Min, extra: true},
}

func seconds(name string) experiment.Metric {
	return experiment.Metric{Name: name, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio}
}

func share(name string) experiment.Metric {
	return experiment.Metric{Name: name, Better: experiment.Lower, Scale: experiment.Difference, Discrete: true}
}

func (r *Result) lostShare() float64 { return float64(r.Errors[Timeout]) / float64(r.Due) }

// Metrics returns the metrics of a trial. requests decides which quantiles an open loop has; 0: a closed loop. judged
// names the headlines; empty: the defaults. extra names further metrics.
func Metrics(requests float64, judged []string, extra ...string) (list []experiment.Metric) {
	closed := requests == 0
	switch {
	case len(judged) > 0:
	case closed:
		judged = []string{"rate", "latency-mean"}
	default:
		judged = []string{"latency-p50", "latency-p99"}
	}
	for _, m := range metrics {
		if m.extra && !slices.Contains(extra, m.Name) || m.quantile > 0 && !closed && !enough(requests, m.quantile) {
			continue
		}
		m.Headline = slices.Contains(judged, m.Name)
		m.Optional = !m.Headline && (m.Optional || m.quantile > 0 && closed)
		list = append(list, m.Metric)
	}
	return list
}

// Values returns the values of the metrics, and the names of metrics without a known value. The argument extra
// names the extra metrics.
func (r *Result) Values(extra ...string) (values map[string]float64, unavailable []string) {
	values = map[string]float64{}
	for _, m := range metrics {
		if m.extra && !slices.Contains(extra, m.Name) || m.openLoop && r.Closed {
			continue
		}
		if m.value != nil {
			values[m.Name] = m.value(r)
		} else if h := *m.timing.histogram(r); m.of != nil {
			values[m.Name] = m.of(h).Seconds()
		} else if v, known := r.quantile(h, m.quantile); known {
			values[m.Name] = v.Seconds()
		} else {
			unavailable = append(unavailable, m.Name)
		}
	}
	return values, unavailable
}

// Beyond is the smallest number of requests that must take longer than a quantile. With fewer, the quantile is too
// uncertain to be reported.
const Beyond = 100

func enough(requests, q float64) bool { return requests*(1-q) >= Beyond*(1-1e-9) }

// CheckHeadline adds an error for each name in judged that is no quantile and not in others, or a quantile with too few
// requests in the measured time at one of the rates. noun is "requests" or "queries".
func CheckHeadline(errs *experiment.FieldErrors, judged, others []string, rates []quantity.Frequency, measured func(rate float64) quantity.Duration, noun string) {
	names := slices.Clone(others)
	quantiles := map[string]float64{}
	for _, m := range metrics {
		if m.quantile > 0 {
			names = append(names, m.Name)
			quantiles[m.Name] = m.quantile
		}
	}
	for i, name := range judged {
		at := fmt.Sprintf("headline[%d]", i)
		if !slices.Contains(names, name) {
			errs.Add(at, "%q is not one of %v", name, names)
		}
		for _, rate := range rates {
			d := measured(float64(rate))
			n := float64(rate) * d.Std().Seconds()
			if q := quantiles[name]; q > 0 && !enough(n, q) {
				errs.Add(at, "%s needs %d %s beyond it, and %v over %v are %.0f in all: measure for longer", name, Beyond, noun, rate, d, n)
			}
		}
	}
}

// timerError is by how much any timer may be late. A load that is late by at most timerError breaks no rule.
const timerError = 50 * time.Microsecond

// LeastRate is the share of the offered rate that a load must reach.
const LeastRate = 0.99

// Judge returns an error if an open loop broke a rule: the mean lag exceeds the share late of the mean latency, or too
// few requests were answered. noun is the word for requests in errors.
func (r *Result) Judge(t *workload.Trial, late quantity.Percent, noun string) error {
	lag, latency := r.Lag.Mean(), r.Latency.Mean()
	if lag > timerError && t.Late(lag, time.Duration(float64(late)*float64(latency))) {
		return workload.Invalidf(workload.RuleLate, "the generator was late by %v on average, at a latency of %v: more than %v of it", lag, latency, late)
	}
	if offered := r.Offered(); r.Rate() < LeastRate*offered && r.ErrorShare() == 0 {
		return workload.Invalidf(workload.RuleRate, "%.0f of %.0f %s per second were answered", r.Rate(), offered, noun)
	}
	return nil
}

// Failures lists the errors of requests by kind: "closed 12 (connection reset by peer)".
func (r *Result) Failures() string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
		text := fmt.Sprintf("%s %d", kind, r.Errors[kind])
		if example := r.Examples[kind]; example != "" {
			text += " (" + example + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
