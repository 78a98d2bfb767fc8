package http

import (
	"testing"
	"time"

	"tare/internal/experiment/quantity"
	"tare/internal/workload/http/load"
)

func TestObjective(t *testing.T) {
	o := &Objective{P99: quantity.Duration(20 * time.Millisecond), Errors: 0.01}
	answers := func(n, slow, failed int, elapsed time.Duration) *load.Result {
		r := &load.Result{Due: int64(n), OK: int64(n - failed), Latency: load.NewHistogram(), Duration: time.Second, Elapsed: elapsed}
		for i := range n - failed {
			d := time.Millisecond
			if i < slow {
				d = 50 * time.Millisecond
			}
			r.Latency.Record(d)
		}
		return r
	}
	for _, c := range []struct {
		n, slow, failed int
		elapsed         time.Duration
		want            bool
	}{
		{20_000, 0, 0, time.Second, true},
		{20_000, 190, 0, time.Second, true},
		{20_000, 210, 0, time.Second, false},           // more than one in a hundred is slow
		{20_000, 0, 150, time.Second, true},            // under 1 % fail
		{20_000, 100, 150, time.Second, false},         // failed requests count as slowest
		{20_000, 0, 300, time.Second, false},           // too many fail
		{20_000, 0, 0, 1050 * time.Millisecond, false}, // the rate was not reached in time
		{5_000, 0, 0, time.Second, false},              // too few requests for a p99
	} {
		if got := o.met(answers(c.n, c.slow, c.failed, c.elapsed)); got != c.want {
			t.Errorf("%+v: met %v", c, got)
		}
	}
	c := &Config{Objective: o, Duration: quantity.Duration(3 * time.Second)}
	if got := c.probe(1000).Round(time.Millisecond); got != 10500*time.Millisecond {
		t.Errorf("1000/s is tried for %v: a p99 takes 10,000 requests", got)
	}
	if got := c.probe(100_000); got != time.Second {
		t.Errorf("100000/s is tried for %v", got)
	}
	if got := c.probe(0); got != 3*time.Second {
		t.Errorf("workers are tried for %v, not for the duration", got)
	}
	late := &load.Result{Due: 10, OK: 10, Latency: load.NewHistogram(), Duration: time.Second, Elapsed: time.Minute}
	if none := new(Objective); none.met(late) {
		t.Error("an open loop whose last answer comes after a minute kept its rate")
	} else if late.Closed = true; !none.met(late) {
		t.Error("a closed loop has no rate to keep")
	}
}

func TestObjectiveInWords(t *testing.T) {
	for want, o := range map[string]Objective{
		"p99 ≤ 20 ms, errors ≤ 0.1 %": {P99: quantity.Duration(20 * time.Millisecond), Errors: 0.001},
		"errors ≤ 0 %":                {},
		"p50 ≤ 1.5 ms, p99.9 ≤ 1 s":   {P50: quantity.Duration(1500 * time.Microsecond), P999: quantity.Duration(time.Second)},
	} {
		if got := o.String(); got != want {
			t.Errorf("%+v is written %q, want %q", o, got, want)
		}
	}
}
