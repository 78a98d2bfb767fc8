package wording

import (
	"math"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

func TestValue(t *testing.T) {
	tests := []struct {
		v    float64
		unit string
		want string
	}{
		{941.3e6, "bit/s", "941.3 Mbit/s"},
		{1e9, "bit/s", "1 Gbit/s"},
		{999.97e6, "bit/s", "1.000 Gbit/s"},
		{12.34e12, "bit/s", "12.34 Tbit/s"},
		{0.007134, "s", "7.134 ms"},
		{412e-6, "s", "412 µs"},
		{3.1e-9, "s", "3.100 ns"},
		{1234.5, "s", "1,234 s"},
		{0.5, "ms", "500 µs"},
		{1500, "ms", "1.500 s"},
		{0.41, "s/Gbit", "410 ms/Gbit"},
		{1.5 * (1 << 20), "B", "1.500 MiB"},
		{100, "B", "100 B"},
		{12340, "req/s", "12,340 req/s"},
		{7.64e12, "op/s", "7.64e12 op/s"},
		{3.2e-7, "op/s", "3.20e−7 op/s"},
		{14, "", "14"},
		{1.5, "%", "1.500 %"},
		{0, "bit/s", "0 bit/s"},
		{-0.0032, "s", "−3.200 ms"},
		{math.NaN(), "s", "–"},
		{math.Inf(1), "bit/s", "–"},
		{5, "frobs", "5 frobs"},
	}
	for _, tt := range tests {
		if got := Value(tt.v, tt.unit); got != tt.want {
			t.Errorf("Value(%v, %q) = %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
}

func TestShare(t *testing.T) {
	for v, want := range map[float64]string{0: "0 %", 0.02: "2 %", 0.013: "1.3 %", 0.0025: "0.25 %", 1.4: "140 %", -0.02: "−2 %",
		0.00068: "0.068 %", 48.13: "4,813 %", 1e-9: "under 0.001 %"} {
		if got := Share(v); got != want {
			t.Errorf("share(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{40 * time.Millisecond: "40 ms", 3200 * time.Millisecond: "3.2 s",
		125 * time.Second: "2 min 5 s", 72 * time.Minute: "1 h 12 min"} {
		if got := Span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestOverhead(t *testing.T) {
	ratio := experiment.Metric{Unit: "bit/s", Scale: experiment.Ratio}
	difference := experiment.Metric{Unit: "s", Scale: experiment.Difference}
	tests := []struct {
		name          string
		m             experiment.Metric
		point, lo, hi float64
		want          string
		interval      string
	}{
		{"a cost", ratio, 0.071, 0.062, 0.080, "7.1 % more", "[6.2, 8.0]"},
		{"a gain", ratio, -0.032, -0.044, -0.02, "3.2 % less", "[2.0, 4.4]"},
		{"around zero", ratio, 0.0001, -0.005, 0.011, "0.0 %", "[0.5 less, 1.1 more]"},
		{"wide intervals need no decimals", ratio, 0.68, 0.54, 0.83, "68 % more", "[54, 83]"},
		{"narrow intervals need more", ratio, 0.02, 0.01999, 0.02001, "2.000 % more", "[1.999, 2.001]"},
		{"a bound near zero keeps its side", ratio, 0.06, 0.0002, 0.1198, "6.00 % more", "[0.02, 11.98]"},
		{"differences are in units", difference, 0.0032, 0.002, 0.0044, "3.2 ms more", "[2.0, 4.4]"},
		{"not a number", ratio, math.NaN(), 0, 0, "–", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := analysis.Comparison{Metric: tt.m, Rounds: 12, Verdict: analysis.Costs,
				Overhead: analysis.Interval{Point: tt.point, Lo: tt.lo, Hi: tt.hi}}
			if got, interval := Overhead(c); got != tt.want || interval != tt.interval {
				t.Errorf("overhead = %q %q, want %q %q", got, interval, tt.want, tt.interval)
			}
			c.Verdict = analysis.Invalid
			if got, interval := Overhead(c); got != Missing || interval != "" {
				t.Errorf("an invalid comparison shows %q %q", got, interval)
			}
		})
	}
}
