package load

import (
	"slices"
	"testing"
	"time"
)

// Each declared metric has a value or is reported as unavailable, in both loops.
func TestMetrics(t *testing.T) {
	r := NewResult()
	for range 2000 {
		r.Add(Exchange{Due: time.Second - time.Millisecond, Last: time.Second}, 0)
	}
	r.Duration = time.Second
	values, unavailable := r.Values("lost")
	for _, m := range Metrics(2000, nil, "lost") {
		if _, known := values[m.Name]; !known {
			t.Errorf("%s has no value", m.Name)
		}
		if want := m.Name == "latency-p50"; m.Headline != want {
			t.Errorf("%s: headline %v", m.Name, m.Headline)
		}
	}
	if !slices.Equal(unavailable, []string{"latency-p99", "latency-p99.9", "ttfb-p99"}) {
		t.Errorf("unavailable: %v", unavailable)
	}
	r.Closed = true
	if values, _ := r.Values(); values["latency-mean"] == 0 || len(values) != 6 { // neither lost nor send-lag-p99
		t.Errorf("a closed loop: %v", values)
	}
	var names []string
	for _, m := range Metrics(0, nil) {
		names = append(names, m.Name)
		if m.Headline != (m.Name == "rate" || m.Name == "latency-mean") {
			t.Errorf("%s of a closed loop: headline %v", m.Name, m.Headline)
		}
	}
	want := []string{"latency-p50", "latency-p90", "latency-p99", "latency-p99.9", "latency-mean", "ttfb-p50", "ttfb-p99", "rate", "errors", "send-lag-p99"}
	if !slices.Equal(names, want) {
		t.Errorf("metrics of a closed loop: %v", names)
	}
}
