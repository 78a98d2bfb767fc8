package churn

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tare/internal/workload"
)

var quantiles = []workload.Quantile{0.5, 0.9, 0.99, 0.999}

// shortestSeen and longestSeen bound histograms, in ns, the unit of HdrHistogram's logs. digits is the number of
// significant digits.
const (
	shortestSeen = int64(time.Microsecond)
	longestSeen  = int64(time.Hour)
	digits       = 3
)

type histogram struct {
	*hdrhistogram.Histogram
	planned int // number of values that the histogram gets if nothing fails
}

func newHistogram() *histogram {
	return &histogram{Histogram: hdrhistogram.New(shortestSeen, longestSeen, digits)}
}

func (h *histogram) add(d time.Duration) {
	_ = h.RecordValue(min(max(int64(d), shortestSeen), longestSeen)) // RecordValue cannot fail within its bounds
}

// values adds the mean and quantiles, in s, to a map of metrics. Failed requests, and objects never ready, count as
// slowest. A mean or quantile that needs them is left out.
func (h *histogram) values(name string, into map[string]float64) {
	n := int(h.TotalCount())
	if n > 0 && n >= h.planned {
		into[name+"-mean"] = h.Mean() / float64(time.Second)
	}
	for _, q := range quantiles {
		rank := max(1, int(float64(q)*float64(h.planned)+0.5)) // rank of the quantile among all planned values in ascending order, from 1
		if q.Supported(h.planned) && rank <= n {
			into[name+"-"+q.String()] = float64(h.ValueAtPercentile(100*float64(rank)/float64(n))) / float64(time.Second)
		}
	}
}

// outcome is the result of the measured part of a trial.
type outcome struct {
	offered   float64 // offered rate, in requests per second
	requests  []*timedRequest
	start     time.Time
	latencies map[verb]*histogram
	ready     *histogram
	lag       *histogram
	succeeded int
	throttled int
	unready   int           // number of objects that were made or changed, and never seen ready
	lastSent  time.Duration // time when the last successful request was sent
	last      time.Duration // time of the last response
	lastReady time.Duration
	failures  map[string]int // number of failures by message
	unseen    time.Duration  // longest time for which a watch was broken
	breaks    int
}

// summarize computes the outcome from the requests of the measured part.
func summarize(requests []*timedRequest, offered float64, start time.Time) *outcome {
	out := &outcome{offered: offered, requests: requests, start: start, failures: map[string]int{},
		latencies: map[verb]*histogram{}, ready: newHistogram(), lag: newHistogram()}
	for _, o := range requests {
		if out.latencies[o.verb] == nil {
			out.latencies[o.verb] = newHistogram()
		}
		out.latencies[o.verb].planned++
		if o.awaited {
			out.ready.planned++
		}
		out.lag.add(o.taken - o.at)
		out.throttled += o.throttled
		if o.failure != "" {
			message := strings.ReplaceAll(o.failure, o.name, "NAME")
			if _, known := out.failures[message]; !known && len(out.failures) >= mostFailures {
				message = "others"
			}
			out.failures[message]++
			continue
		}
		out.succeeded++
		out.lastSent, out.last = max(out.lastSent, o.sent), max(out.last, o.done)
		out.latencies[o.verb].add(o.done - o.at)
		switch at := time.Duration(o.readyAt.Load()); {
		case !o.awaited:
		case at == 0:
			out.unready++
		default:
			out.ready.add(at - o.at)
			out.lastReady = max(out.lastReady, at)
		}
	}
	return out
}

// mostFailures is the greatest number of different messages that are kept.
const mostFailures = 20

// rate returns the number of successful requests per second of sending. If sending took longer than planned, rate uses
// the longer time.
func (out *outcome) rate() float64 {
	return out.perSecond(out.succeeded, out.lastSent+due(1, out.offered))
}

// readyRate returns the number of objects that became ready per second, over the time until the last object was ready.
func (out *outcome) readyRate() float64 {
	return out.perSecond(int(out.ready.TotalCount()), out.lastReady)
}

func (out *outcome) perSecond(n int, took time.Duration) float64 {
	return float64(n) / max(due(len(out.requests), out.offered), took).Seconds()
}

func (out *outcome) values() map[string]float64 {
	values := map[string]float64{"rate": out.rate(), "throttled": float64(out.throttled)}
	for v, h := range out.latencies {
		h.values(v.metric(), values)
	}
	out.ready.values(readyMetric, values)
	if out.ready.TotalCount() > 0 {
		values["ready-rate"] = out.readyRate()
	}
	return values
}

// failed returns the share of requests that failed. A request whose object was never ready counts as a failed request.
func (out *outcome) failed() float64 {
	return float64(len(out.requests)-out.succeeded+out.unready) / float64(len(out.requests))
}

// write writes the raw files from which the metrics can be computed again.
func (out *outcome) write(raw workload.Raw) error {
	err := errors.Join(
		workload.KeepIndented(raw, "summary.json", out.summary()),
		keep(raw, "requests.csv", out.writeRequests),
		keep(raw, "send-lag.hlog", out.log(out.lag)),
		keep(raw, "ready.hlog", out.log(out.ready)),
	)
	for v, h := range out.latencies {
		err = errors.Join(err, keep(raw, v.metric()+".hlog", out.log(h)))
	}
	return err
}

func keep(raw workload.Raw, name string, write func(io.Writer) error) error {
	f, err := raw.Create(name)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	if err := errors.Join(write(b), b.Flush(), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// log returns a function that writes a histogram in the format of HdrHistogram's logs: values in nanoseconds, the
// column of maxima in milliseconds.
func (out *outcome) log(h *histogram) func(io.Writer) error {
	return func(w io.Writer) error {
		log := hdrhistogram.NewHistogramLogWriter(w)
		h.SetStartTimeMs(out.start.UnixMilli())
		h.SetEndTimeMs(out.start.Add(max(out.last, out.lastReady)).UnixMilli())
		return errors.Join(log.OutputLogFormatVersion(), log.OutputLegend(), log.OutputIntervalHistogram(h.Histogram))
	}
}

func (out *outcome) summary() map[string]any {
	return map[string]any{
		"start": out.start.UTC().Format(time.RFC3339Nano), "requests": len(out.requests), "succeeded": out.succeeded,
		"throttled": out.throttled, "neverReady": out.unready, "failures": out.failures,
		"offeredPerSecond": out.offered, "reachedPerSecond": out.rate(), "readyPerSecond": out.readyRate(),
		"sendLagP99Seconds": float64(out.lag.ValueAtPercentile(99)) / float64(time.Second), "sendLagMaxSeconds": float64(out.lag.Max()) / float64(time.Second),
		"watchBreaks": out.breaks, "watchUnseenSeconds": out.unseen.Seconds(),
	}
}

// writeRequests writes one CSV line for each request, with times in seconds since the start. The time of an event
// that did not happen is empty.
func (out *outcome) writeRequests(w io.Writer) error {
	c := csv.NewWriter(w)
	// c.Error below returns the error of this call
	_ = c.Write([]string{"verb", "object", "intended", "sent", "answered", "ready", "throttled", "failure"})
	seconds := func(d time.Duration) string {
		if d <= 0 {
			return ""
		}
		return strconv.FormatFloat(d.Seconds(), 'f', 6, 64)
	}
	for _, o := range out.requests {
		_ = c.Write([]string{o.verb.String(), o.name, strconv.FormatFloat(o.at.Seconds(), 'f', 6, 64), seconds(o.sent), seconds(o.done),
			seconds(time.Duration(o.readyAt.Load())), strconv.Itoa(o.throttled), o.failure})
	}
	c.Flush()
	return c.Error()
}
