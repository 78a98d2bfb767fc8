package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/workload"
)

// metricRow is a metric of a load, and how a Result gives its value.
type metricRow struct {
	experiment.Metric
	quantile float64 // the share of requests that a quantile of the latency is for; 0 for other metrics
	openLoop bool    // only an open loop has a value
	extra    bool    // only workloads that name the metric have it
	value    func(*Result) (value float64, known bool)
}

// metrics lists the metrics of loads, in the order in which results show them. The workloads http, dns and
// vault all have these metrics, except for metrics marked extra. A workload asks for an extra metric by its
// name.
var metrics = []metricRow{
	latencyQuantile("latency-p50", 0.5),
	latencyQuantile("latency-p90", 0.9),
	latencyQuantile("latency-p99", 0.99),
	latencyQuantile("latency-p99.9", 0.999),
	{Metric: cost("latency-mean", "s", experiment.Ratio), value: func(r *Result) (float64, bool) { return r.Latency.Mean().Seconds(), true }},
	{
		Metric: experiment.Metric{Name: "rate", Unit: "1/s", Better: experiment.Higher, Scale: experiment.Ratio, Discrete: true},
		value:  func(r *Result) (float64, bool) { return r.Rate(), true },
	},
	{Metric: share("lost"), extra: true, value: func(r *Result) (float64, bool) { return float64(r.Errors[Timeout]) / float64(r.Due), true }},
	{Metric: share("errors"), value: func(r *Result) (float64, bool) { return r.ErrorShare(), true }},
	{
		Metric:   experiment.Metric{Name: "send-lag-p99", Unit: "s", Better: experiment.Lower, Scale: experiment.Difference, Optional: true},
		openLoop: true, value: func(r *Result) (float64, bool) { return r.Lag.At(0.99).Seconds(), true },
	},
	{Metric: cost("latency-max", "s", experiment.Ratio), extra: true, value: func(r *Result) (float64, bool) { return r.Latency.Max().Seconds(), true }},
	{Metric: cost("latency-min", "s", experiment.Ratio), extra: true, value: func(r *Result) (float64, bool) { return r.Latency.Min().Seconds(), true }},
}

func cost(name, unit string, scale experiment.Scale) experiment.Metric {
	return experiment.Metric{Name: name, Unit: unit, Better: experiment.Lower, Scale: scale}
}

// share is a metric whose value is a share of the requests.
func share(name string) experiment.Metric {
	m := cost(name, "", experiment.Difference)
	m.Discrete = true
	return m
}

func latencyQuantile(name string, q float64) metricRow {
	return metricRow{Metric: cost(name, "s", experiment.Ratio), quantile: q, value: func(r *Result) (float64, bool) {
		v, known := r.Quantile(q)
		return v.Seconds(), known
	}}
}

// Metrics returns the metrics of a trial that sends a number of requests; 0: it sends in a closed loop. An
// open loop lacks quantiles for which it sends too few requests. In a closed loop quantiles are optional.
// Judged names the headlines. If judged is empty, the headlines are p50 and p99, or rate and latency-mean of
// a closed loop. Extra names the extra metrics.
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

// Values returns the values of the metrics, and the names of metrics without a known value. Extra names the
// extra metrics.
func (r *Result) Values(extra ...string) (values map[string]float64, unavailable []string) {
	values = map[string]float64{}
	for _, m := range metrics {
		if m.extra && !slices.Contains(extra, m.Name) || m.openLoop && r.Closed {
			continue
		}
		if v, known := m.value(r); known {
			values[m.Name] = v
		} else {
			unavailable = append(unavailable, m.Name)
		}
	}
	return values, unavailable
}

// Beyond is the number of samples that a quantile needs beyond it.
const Beyond = 100

// enough reports whether a number of requests suffices for a quantile.
func enough(requests, q float64) bool { return requests*(1-q) >= Beyond*(1-1e-9) }

// CheckHeadline checks the names of headline metrics: quantiles, for which each rate must send enough
// requests, or others. Noun is the word for requests in messages: "requests", "queries".
func CheckHeadline(errs *experiment.FieldErrors, judged, others []string, rates []quantity.Frequency, d quantity.Duration, noun string) {
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
			n := float64(rate) * d.Std().Seconds()
			if q := quantiles[name]; q > 0 && !enough(n, q) {
				errs.Add(at, "%s needs %d %s beyond it, and %v over %v are %.0f in all: measure for longer", name, Beyond, noun, rate, d, n)
			}
		}
	}
}

// timerError is a lateness that any timer may have.
const timerError = 50 * time.Microsecond

// LeastRate is the share of the offered rate that must be reached.
const LeastRate = 0.99

// Judge applies the rules to an open loop. The generator may be late by at most a share of the latency, and
// the rate must be reached. Noun is the word for requests in messages: "requests", "queries".
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
