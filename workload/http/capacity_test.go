package http

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tare/experiment/quantity"
	"tare/workload/http/load"
)

// A search ends near the rate that is carried in half of the tries, wherever it begins.
func TestStaircase(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, first := range []float64{10, 1000, 50_000} {
		var sum, squares float64
		const searches, truth = 400, 3000.0
		for range searches {
			tries := 0
			found, err := staircase(first, func(rate float64) (bool, error) {
				tries++
				return math.Log(rate/truth) < 0.03*draw.NormFloat64(), nil // a server whose capacity moves by 3 %
			})
			if err != nil || tries > mostSteps {
				t.Fatalf("from %v: %v after %d tries", first, err, tries)
			}
			x := math.Log(found / truth)
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / searches
		sd := math.Sqrt(squares/searches - mean*mean)
		if math.Abs(mean) > 0.02 || sd > 0.06 {
			t.Errorf("from %v: off by %.1f %% on average, a deviation of %.1f %%", first, 100*mean, 100*sd)
		}
	}
}

func TestStaircaseWithoutEnd(t *testing.T) {
	if _, err := staircase(1000, func(float64) (bool, error) { return true, nil }); err == nil {
		t.Error("a server that carries anything has a capacity")
	}
	if _, err := staircase(1000, func(float64) (bool, error) { return false, nil }); err == nil || err.Error() != "not even 1 request per second" {
		t.Errorf("a server that carries nothing: %v", err)
	}
	broken := errors.New("broken")
	if _, err := staircase(1000, func(float64) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

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
		{20_000, 100, 150, time.Second, false},         // those that fail are slower than any
		{20_000, 0, 300, time.Second, false},           // too many fail
		{20_000, 0, 0, 1050 * time.Millisecond, false}, // not all of it was answered in time
		{5_000, 0, 0, time.Second, false},              // too few requests to tell
	} {
		if got := o.met(answers(c.n, c.slow, c.failed, c.elapsed)); got != c.want {
			t.Errorf("%+v: met %v", c, got)
		}
	}
	if got := o.probe(1000).Round(time.Millisecond); got != 11*time.Second {
		t.Errorf("1000/s is tried for %v: a p99 takes 10,000 requests", got)
	}
	if got := o.probe(100_000); got != time.Second {
		t.Errorf("100000/s is tried for %v", got)
	}
}

func TestObjectiveInWords(t *testing.T) {
	for want, o := range map[string]Objective{
		"p99 ≤ 20 ms, errors ≤ 0.1 %": {P99: quantity.Duration(20 * time.Millisecond), Errors: 0.001},
		"p50 ≤ 1.5 ms, p99.9 ≤ 1 s":   {P50: quantity.Duration(1500 * time.Microsecond), P999: quantity.Duration(time.Second)},
	} {
		if got := o.String(); got != want {
			t.Errorf("%+v is written %q, want %q", o, got, want)
		}
	}
}
