package load

import (
	"slices"
	"testing"
	"time"

	"tare/internal/experiment/quantity"
)

// A trial is as long as its highest quantile needs at the rate, with five standard deviations of a Poisson process.
func TestMeasured(t *testing.T) {
	const d = quantity.Duration(5 * time.Second)
	for _, c := range []struct {
		q    Quantiles
		rate float64
		want time.Duration
	}{
		{nil, 100, 5 * time.Second},
		{Quantiles{"p90", "p99"}, 100, 105 * time.Second}, // 10,000 requests and 5 %
		{Quantiles{"p90", "p99"}, 1000, 10500 * time.Millisecond},
		{Quantiles{"p90", "p99"}, 4000, 5 * time.Second},      // the duration of the file is longer
		{Quantiles{"p90"}, 100, 11600 * time.Millisecond},     // 1,000 requests and 16 %
		{Quantiles{"p50"}, 10, 27100 * time.Millisecond},      // 200 requests and 35 %
		{Quantiles{"p99.9"}, 1000, 101600 * time.Millisecond}, // 100,000 requests and 1.6 %
		{Quantiles{"p99"}, 0, 5 * time.Second},
	} {
		if got := c.q.Measured(c.rate, d).Std(); got != c.want {
			t.Errorf("%v at %v/s: %v, want %v", c.q, c.rate, got, c.want)
		}
	}
}

func TestQuantileNames(t *testing.T) {
	if got := Quantile("").Values(); !slices.Equal(got, []string{"p50", "p90", "p99", "p99.9"}) {
		t.Errorf("quantiles: %v", got)
	}
	if got := (Quantiles{"p90", "p99.9"}).Headline(nil); !slices.Equal(got, []string{"latency-p90", "latency-p99.9"}) {
		t.Errorf("headline: %v", got)
	}
	if got := (Quantiles{"p90"}).Headline([]string{"latency-mean"}); !slices.Equal(got, []string{"latency-mean"}) {
		t.Errorf("headline of the file: %v", got)
	}
}
