package report

import (
	"math"
	"testing"
	"time"

	"tare/analysis"
	"tare/experiment"
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
		{5, "<b>\x1b[31mx", "5 <b>x"},
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
		if got := share(v); got != want {
			t.Errorf("share(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{40 * time.Millisecond: "40 ms", 3200 * time.Millisecond: "3.2 s",
		125 * time.Second: "2 min 5 s", 72 * time.Minute: "1 h 12 min"} {
		if got := span(d); got != want {
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
		{"a cost", ratio, 0.071, 0.062, 0.080, "+7.1 %", "[+6.2, +8.0]"},
		{"a gain", ratio, -0.032, -0.044, -0.02, "−3.2 %", "[−4.4, −2.0]"},
		{"around zero", ratio, 0.0001, -0.005, 0.011, "0.0 %", "[−0.5, +1.1]"},
		{"wide intervals need no decimals", ratio, 0.68, 0.54, 0.83, "+68 %", "[+54, +83]"},
		{"narrow intervals need more", ratio, 0.02, 0.01999, 0.02001, "+2.000 %", "[+1.999, +2.001]"},
		{"a bound near zero keeps its side", ratio, 0.06, 0.0002, 0.1198, "+6.00 %", "[+0.02, +11.98]"},
		{"differences are in units", difference, 0.0032, 0.002, 0.0044, "+3.2 ms", "[+2.0, +4.4]"},
		{"not a number", ratio, math.NaN(), 0, 0, "–", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := analysis.Comparison{Metric: tt.m, Rounds: 12, Verdict: analysis.Costs,
				Overhead: analysis.Interval{Point: tt.point, Lo: tt.lo, Hi: tt.hi}}
			if got, interval := overhead(c); got != tt.want || interval != tt.interval {
				t.Errorf("overhead = %q %q, want %q %q", got, interval, tt.want, tt.interval)
			}
			c.Verdict = analysis.Invalid
			if got, interval := overhead(c); got != missing || interval != "" {
				t.Errorf("an invalid comparison shows %q %q", got, interval)
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	s := arrange(&analysis.Run{Plan: &experiment.Plan{Confidence: 0.95, Equivalence: 0.02,
		Arms: []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}}}})
	tests := []struct {
		verdict       analysis.Verdict
		point, lo, hi float64
		text, want    string
	}{
		{analysis.Costs, 0.071, 0.062, 0.080, "", "wg costs 7.1 % [6.2, 8.0] on rtt in net (95 % interval; median 400 µs with plain, 428.4 µs with wg)."},
		{analysis.Gains, -0.032, -0.044, -0.02, "", "wg gains 3.2 % [2.0, 4.4] on rtt in net (95 % interval; median 400 µs with plain, 428.4 µs with wg)."},
		{analysis.Equivalent, 0.003, -0.005, 0.011, "", "wg and plain are equivalent on rtt in net: the overhead, +0.3 % [−0.5, +1.1], lies within ±2 %."},
		{analysis.NotResolved, -0.004, -0.03, 0.025, "",
			"What wg costs on rtt in net is not resolved (−0.4 % [−3.0, +2.5]): differences under 4 % cannot be seen here; about 22 rounds would."},
		{analysis.NotResolved, -0.004, -0.03, 0.025, "not resolved: −0.4 % [−3.0, 2.5] (differences under 4 % cannot be seen here)",
			"What wg costs on rtt in net is not resolved (−0.4 % [−3.0, +2.5]): differences under 4 % cannot be seen here."},
		{analysis.NotResolved, 0.02, 0.01, 0.03, "not resolved: 2.0 % [1.0, 3.0], but the control differs by up to 3 % itself",
			"What wg costs on rtt in net is not resolved (+2.0 % [+1.0, +3.0]): the control differs by up to 3 % itself."},
		{analysis.NotResolved, 0, 0, 0, "not resolved: only one valid pair", "What wg costs on rtt in net is not resolved: only one valid pair."},
		{analysis.Invalid, 0, 0, 0, "no verdict, the run is invalid", "wg on rtt in net: no verdict, the run is invalid."},
		{analysis.Invalid, 0, 0, 0, "", "wg on rtt in net has no verdict."},
	}
	for _, tt := range tests {
		c := analysis.Comparison{Paired: true, Arm: "wg", Cell: "net", Metric: experiment.Metric{Name: "rtt", Unit: "s", Scale: experiment.Ratio},
			Rounds: 12, Verdict: tt.verdict, MDE: 0.04, Needed: 22, Text: tt.text,
			Overhead: analysis.Interval{Point: tt.point, Lo: tt.lo, Hi: tt.hi},
			Baseline: analysis.Summary{N: 12, Median: 400e-6}, Treated: analysis.Summary{N: 12, Median: 428.4e-6}}
		if got := s.answer(c); got != tt.want {
			t.Errorf("answer = %q\n    want %q", got, tt.want)
		}
	}
}

func TestAxisTicks(t *testing.T) {
	tests := []struct {
		a    axis
		n    int
		want []string
	}{
		{axis{lo: -0.03, hi: 0.09}, 4, []string{"0", "+5 %"}},
		{axis{lo: -0.03, hi: 0.09}, 6, []string{"−2 %", "0", "+2 %", "+4 %", "+6 %", "+8 %"}},
		{axis{lo: -0.15, hi: 40, bend: 0.03}, 6, []string{"−10 %", "0", "+10 %", "+100 %", "+1,000 %"}},
		{axis{lo: 1, hi: 1}, 4, nil},
	}
	for _, tt := range tests {
		var got []string
		for _, v := range tt.a.ticks(tt.n) {
			got = append(got, percentTick(v))
		}
		if !equal(got, tt.want) {
			t.Errorf("%+v ticks(%d) = %q, want %q", tt.a, tt.n, got, tt.want)
		}
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
