package churn

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"
)

// made returns requests. The i-th, from 1, has its response after i ms and is ready after 2i ms, except for requests
// that fail or are never ready.
func made(n int, failed, unready func(i int) bool) []*timedRequest {
	var list []*timedRequest
	for i := 1; i <= n; i++ {
		o := &timedRequest{verb: create, awaited: true}
		if failed(i) {
			o.failure, o.done = "no answer", 30*time.Second
			list = append(list, o)
			continue
		}
		o.done = time.Duration(i) * time.Millisecond
		if !unready(i) {
			o.readyAt.Store(int64(2 * o.done))
		}
		list = append(list, o)
	}
	return list
}

func none(int) bool { return false }

// from returns a function that selects the n-th request and all after it.
func from(first int) func(int) bool { return func(i int) bool { return i >= first } }

// TestTheMissingAreTheSlowest checks that quantiles are over all planned values, with missing values above all
// others.
func TestTheMissingAreTheSlowest(t *testing.T) {
	for _, c := range []struct {
		name            string
		requests        []*timedRequest
		latency, became map[string]float64 // quantiles and mean, in s
	}{
		{"nothing missing", made(1000, none, none),
			map[string]float64{"mean": 0.5005, "p50": 0.5, "p90": 0.9},
			map[string]float64{"mean": 1.001, "p50": 1, "p90": 1.8}},
		{"a few never ready", made(1000, none, from(998)),
			map[string]float64{"mean": 0.5005, "p50": 0.5, "p90": 0.9},
			map[string]float64{"p50": 1, "p90": 1.8}},
		{"a few without an answer", made(1000, from(998), none),
			map[string]float64{"p50": 0.5, "p90": 0.9},
			map[string]float64{"p50": 1, "p90": 1.8}},
		// The fastest are missing: the median is the 500th of the known values, not the 495th.
		{"missing ones shift what is seen", made(1000, none, func(i int) bool { return i <= 10 }),
			map[string]float64{"mean": 0.5005, "p50": 0.5, "p90": 0.9},
			map[string]float64{"p50": 1.02, "p90": 1.82}},
		{"exactly those beyond the quantile", made(1000, none, from(901)),
			map[string]float64{"mean": 0.5005, "p50": 0.5, "p90": 0.9},
			map[string]float64{"p50": 1, "p90": 1.8}},
		{"the quantile is among them", made(1000, none, from(900)),
			map[string]float64{"mean": 0.5005, "p50": 0.5, "p90": 0.9},
			map[string]float64{"p50": 1}},
		{"0.4 % of 100,000", made(100_000, from(99_601), none), // 99.6 % is above p99 and below p99.9
			map[string]float64{"p50": 50, "p90": 90, "p99": 99},
			map[string]float64{"p50": 100, "p90": 180, "p99": 198}},
		{"most of them", made(1000, from(100), none), map[string]float64{}, map[string]float64{}},
		{"all", made(1000, from(1), none), map[string]float64{}, map[string]float64{}},
	} {
		got := summarize(c.requests, 1000, time.Now()).values()
		for prefix, want := range map[string]map[string]float64{"create-latency-": c.latency, "ready-": c.became} {
			values := map[string]float64{}
			for name, v := range got {
				if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "rate" {
					values[rest] = v
				}
			}
			near := func(a, b float64) bool { return math.Abs(a-b) <= 0.001*b } // histograms have three significant digits
			if !maps.EqualFunc(values, want, near) {
				t.Errorf("%s: %s %v, want %v", c.name, prefix, values, want)
			}
		}
	}
}
