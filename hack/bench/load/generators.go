package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"fortio.org/fortio/fhttp"
	"fortio.org/fortio/periodic"
	"fortio.org/log"

	"tare/internal/workload/http/load"
)

// byTare is Tare's generator.
func byTare(ctx context.Context, t task) (figures, error) {
	s, err := load.Open(load.Config{URL: t.URL, Protocol: load.HTTP1, Connections: t.Connections})
	if err != nil {
		return figures{}, err
	}
	defer s.Close()
	span := load.Span{Rate: t.Rate, Duration: t.Duration}
	if t.Rate == 0 {
		span.Workers = t.Connections
	}
	r, err := s.Run(ctx, span)
	if err != nil {
		return figures{}, err
	}
	f := figures{Requests: r.OK, Errors: r.Due - r.OK, Seconds: r.Elapsed.Seconds()}
	for i, q := range quantiles {
		f.At[i] = ms(r.Latency.At(q))
	}
	f.Lag = [2]float64{ms(r.Lag.At(0.5)), ms(r.Lag.At(0.99))}
	for _, bar := range r.Latency.Raw().Distribution() {
		if bar.From >= int64(stall/2) {
			f.Long += bar.Count
		}
	}
	return f, nil
}

// byFortio is Fortio's library: its fast client, without catching up, connections staggered,
// as Istio's benchmark has it.
func byFortio(t task) (figures, error) {
	log.SetLogLevelQuiet(log.Error)
	qps := t.Rate
	if qps == 0 {
		qps = -1 // as fast as it goes
	}
	o := fhttp.HTTPRunnerOptions{
		RunnerOptions: periodic.RunnerOptions{
			QPS: qps, Duration: t.Duration, NumThreads: t.Connections, Resolution: 1e-5, Out: io.Discard,
			Uniform: true, NoCatchUp: true, Percentiles: []float64{50, 90, 99, 99.9},
		},
		HTTPOptions: fhttp.HTTPOptions{URL: t.URL, NumConnections: t.Connections},
	}
	r, err := fhttp.RunHTTPTest(&o)
	if err != nil {
		return figures{}, err
	}
	h := r.DurationHistogram
	f := figures{Requests: r.RetCodes[200], Errors: h.Count - r.RetCodes[200], Seconds: r.ActualDuration.Seconds()}
	for i, p := range h.Percentiles {
		f.At[i] = 1000 * p.Value
	}
	for _, bucket := range h.Data {
		if bucket.Start >= (stall / 2).Seconds() {
			f.Long += bucket.Count
		}
	}
	return f, nil
}

// wrkScript makes a script that has wrk say its figures as JSON, in its last line.
func wrkScript() (string, error) {
	file, err := os.CreateTemp("", "wrk-*.lua")
	if err != nil {
		return "", err
	}
	defer file.Close()
	_, err = fmt.Fprintf(file, `done = function(summary, latency, requests)
  local long = 0
  for i = 1, #latency do
    local value, count = latency(i)
    if value >= %d then long = long + count end
  end
  local e = summary.errors
  io.write(string.format('\n{"requests": %%d, "errors": %%d, "seconds": %%f, "at": [%%f, %%f, %%f, %%f], "long": %%d}\n',
    summary.requests, e.connect + e.read + e.write + e.status + e.timeout, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(90) / 1e3, latency:percentile(99) / 1e3, latency:percentile(99.9) / 1e3, long))
end
`, (stall / 2).Microseconds())
	return file.Name(), err
}

// fortioVersion is the version of the library that is linked in.
func fortioVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "fortio.org/fortio" {
				return m.Version
			}
		}
	}
	return "of unknown version"
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
