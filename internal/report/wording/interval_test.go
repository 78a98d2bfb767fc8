package wording

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

func TestEstimateText(t *testing.T) {
	ratio := experiment.Metric{Scale: experiment.Ratio}
	in := func(unit string) experiment.Metric {
		return experiment.Metric{Scale: experiment.Difference, Unit: unit}
	}
	for _, c := range []struct {
		at     analysis.Interval
		metric experiment.Metric
		want   string
	}{
		{analysis.Interval{Point: 0.071, Lo: 0.062, Hi: 0.080}, ratio, "7.1 % [6.2, 8.0]"},
		{analysis.Interval{Point: -0.004, Lo: -0.031, Hi: 0.022}, ratio, "−0.4 % [−3.1, 2.2]"},
		{analysis.Interval{Point: -0.0001, Lo: -0.003, Hi: 0.003}, ratio, "0.0 % [−0.3, 0.3]"},
		{analysis.Interval{Point: 0.00012, Lo: 0.00008, Hi: 0.00016}, ratio, "0.012 % [0.008, 0.016]"},
		{analysis.Interval{Point: 1.5, Lo: 0.9, Hi: 2.3}, ratio, "150 % [90, 230]"},
		{analysis.Interval{Point: 0.05, Lo: 0.05, Hi: 0.05}, ratio, "5.0 % [5.0, 5.0]"},
		{analysis.Interval{Point: 1e300, Lo: 1, Hi: 1e308}, ratio, "1.00e302 % [100, 1.80e308]"},
		{analysis.Interval{Point: 3, Lo: -1.5, Hi: 7.5}, in(""), "3.0 [−1.5, 7.5]"},
		{analysis.Interval{Point: 0.0012, Lo: 0.0010, Hi: 0.0014}, in("s"), "1.2 ms [1.0, 1.4]"},
		{analysis.Interval{Point: 1.2e9, Lo: 1.1e9, Hi: 1.3e9}, in("bit/s"), "1.2 Gbit/s [1.1, 1.3]"},
		{analysis.Interval{Point: 1.5, Lo: 1.4, Hi: 1.6}, in("s/Gbit"), "1.5 s/Gbit [1.4, 1.6]"},
	} {
		if got := plain.Interval(c.metric, c.at); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.at, c.metric.Unit, got, c.want)
		}
	}
}

func TestShareOfTwoDigits(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0.04, "4 %"}, {0.0432, "4.3 %"}, {0.0035, "0.35 %"}, {1.234, "123 %"}, {0, "0 %"}} {
		if got := Share(c.v); got != c.want {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
}

func TestScalingText(t *testing.T) {
	memory := experiment.Metric{Name: "memory-istiod", Unit: "B"}
	cores := experiment.Metric{Name: "cpu-istiod", Unit: "cores"}
	seconds := experiment.Metric{Name: "ready-mean", Unit: "s"}
	for _, c := range []struct {
		at        analysis.Interval
		m         experiment.Metric
		pointOnly bool
		want      string
	}{
		{analysis.Interval{Point: 0.00123, Lo: 0.0011, Hi: 0.0014}, cores, false, "1.2 millicores [1.1, 1.4]"},
		{analysis.Interval{Point: 1.23, Lo: 1.1, Hi: 1.4}, cores, false, "1.2 cores [1.1, 1.4]"},
		{analysis.Interval{Point: 12_345, Lo: 11_000, Hi: 13_000}, memory, false, "12.1 KiB [10.7, 12.7]"},
		{analysis.Interval{Point: 0.000012, Lo: 0.00001, Hi: 0.000013}, seconds, false, "12.0 µs [10.0, 13.0]"},
		{analysis.Interval{Point: -0.002, Lo: -0.003, Hi: -0.001}, seconds, false, "−2.0 ms [−3.0, −1.0]"},
		{analysis.Interval{Point: 0.002, Lo: 0.002, Hi: 0.002}, seconds, true, "2.00 ms"},
	} {
		if got := amountText(plain, c.at, c.pointOnly, c.m); got != c.want {
			t.Errorf("%v is written %q, want %q", c.at, got, c.want)
		}
	}
	for _, c := range []struct {
		at   analysis.Interval
		want string
	}{
		{analysis.Interval{Point: 500, Lo: 400, Hi: 600}, "500 B more [400, 600] per object than plain"},
		{analysis.Interval{Point: -500, Lo: -600, Hi: -400}, "500 B less [400, 600] per object than plain"},
		{analysis.Interval{Point: 50, Lo: -40, Hi: 140}, "no difference from plain resolved: 50 B more [40 less, 140 more] per object than plain"},
	} {
		if got := lineDifference(&analysis.Scaling{Factor: "objects", Baseline: "plain", Metric: memory}, &analysis.RoundValue{Interval: c.at}, " per object"); got != c.want {
			t.Errorf("%v is written %q, want %q", c.at, got, c.want)
		}
	}
}

func TestPer(t *testing.T) {
	for _, c := range []struct{ factor, unit, want string }{
		{"objects", "", "object"}, {"status", "", "1 of status"}, {"n", "", "1 of n"}, {"policies", "", "policy"}, {"addresses", "", "address"}, {"series", "", "1 of series"}, {"rate", "1/s", "1/s of rate"},
		{"churn", "%", "1 % of churn"}, {"size", "KiB", "KiB of size"}, {"delay", "s", "s of delay"}, {"link", "Mbit/s", "Mbit/s of link"},
	} {
		if got := Per(&analysis.Scaling{Factor: c.factor, Unit: c.unit}); got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.factor, c.unit, got, c.want)
		}
	}
}

func TestHeldLoad(t *testing.T) {
	m := experiment.Metric{Name: "capacity", Unit: "1/s", Better: experiment.Higher, Headline: true, Objective: "p99 ≤ 20 ms"}
	for _, c := range []struct {
		verdict analysis.Verdict
		grade   analysis.Grade
		at      analysis.Interval
		want    string
	}{
		{analysis.Costs, analysis.Measured, analysis.Interval{Point: 0.11, Lo: 0.08, Hi: 0.14}, "holds 11.0 % [8.0, 14.0] less load at p99 ≤ 20 ms"},
		{analysis.Gains, analysis.Normal, analysis.Interval{Point: -0.11, Lo: -0.14, Hi: -0.08}, "holds (if noise is normal) 11.0 % [8.0, 14.0] more load at p99 ≤ 20 ms"},
		{analysis.Gains, analysis.Measured, analysis.Interval{Point: -1.1, Lo: -1.3, Hi: -0.9}, "holds 110 % [90, 130] more load at p99 ≤ 20 ms, 2.1 times as much [1.9, 2.3]"},
		{analysis.NotResolved, analysis.Measured, analysis.Interval{Point: 0, Lo: -0.1, Hi: 0.1}, "differs by 0 % [10 more, 10 less] in the load held at p99 ≤ 20 ms"},
	} {
		if got := Effect(&analysis.Comparison{Metric: m, Verdict: c.verdict, Grade: c.grade, Overhead: c.at, Rounds: 12}); got != c.want {
			t.Errorf("%v is told %q, want %q", c.at, got, c.want)
		}
	}
}
