package analysis

import (
	"testing"

	"tare/experiment"
	"tare/experiment/quantity"
)

func percentValue(v float64) quantity.Percent { return quantity.Percent(v) }

func TestEstimateText(t *testing.T) {
	ratio := experiment.Metric{Scale: experiment.Ratio}
	in := func(unit string) experiment.Metric {
		return experiment.Metric{Scale: experiment.Difference, Unit: unit}
	}
	for _, c := range []struct {
		at     Interval
		metric experiment.Metric
		want   string
	}{
		{Interval{0.071, 0.062, 0.080}, ratio, "7.1 % [6.2, 8.0]"},
		{Interval{-0.004, -0.031, 0.022}, ratio, "−0.4 % [−3.1, 2.2]"},
		{Interval{-0.0001, -0.003, 0.003}, ratio, "0.0 % [−0.3, 0.3]"},
		{Interval{0.00012, 0.00008, 0.00016}, ratio, "0.012 % [0.008, 0.016]"},
		{Interval{1.5, 0.9, 2.3}, ratio, "150 % [90, 230]"},
		{Interval{0.05, 0.05, 0.05}, ratio, "5.0 % [5.0, 5.0]"},
		{Interval{1e300, 1, 1e308}, ratio, "1e+302 % [100, 1.798e+308]"},
		{Interval{3, -1.5, 7.5}, in(""), "3.0 [−1.5, 7.5]"},
		{Interval{0.0012, 0.0010, 0.0014}, in("s"), "1.2 ms [1.0, 1.4]"},
		{Interval{1.2e9, 1.1e9, 1.3e9}, in("bit/s"), "1.2 Gbit/s [1.1, 1.3]"},
		{Interval{1.5, 1.4, 1.6}, in("s/Gbit"), "1.5 s/Gbit [1.4, 1.6]"},
	} {
		if got := scaleFor(c.at, c.metric).estimate(c.at); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.at, c.metric.Unit, got, c.want)
		}
	}
}

func TestBoundText(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0.04, "4 %"}, {0.0432, "4.3 %"}, {0.0035, "0.35 %"}, {1.234, "120 %"}, {0, "0 %"}} {
		if got := percent(c.v); got != c.want {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
}

func TestLeast(t *testing.T) {
	for _, c := range []struct {
		alpha float64
		want  int
	}{{0.05, 6}, {1 - 0.95, 6}, {0.0625, 5}, {0.01, 8}, {0.05 / 12, 9}, {1, 1}} {
		if got := least(c.alpha); got != c.want {
			t.Errorf("alpha %v: %d pairs, want %d", c.alpha, got, c.want)
		}
	}
}
