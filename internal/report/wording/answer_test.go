package wording

import (
	"slices"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

func TestAnswer(t *testing.T) {
	bandwidth := experiment.Metric{Name: "bandwidth", Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio}
	cpu := experiment.Metric{Name: "cpu", Unit: "s/Gbit", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio}
	retries := experiment.Metric{Name: "retries", Better: experiment.Lower, Headline: true, Scale: experiment.Difference}
	capacity := experiment.Metric{Name: "capacity", Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio, Objective: "p99 ≤ 20 ms"}
	const pod, service = "network.tcp.pod-to-pod", "network.tcp.pod-to-service"
	of := func(cell string, m experiment.Metric, v analysis.Verdict, point, lo, hi float64) analysis.Comparison {
		return analysis.Comparison{Cell: cell, Arm: "wireguard", Metric: m, Verdict: v, Margin: 0.02, Rounds: 12, Paired: true,
			Overhead: analysis.Interval{Point: point, Lo: lo, Hi: hi}}
	}
	normal := of(pod, cpu, analysis.Costs, 0.3, 0.2, 0.4)
	normal.Grade = analysis.Normal
	invalid := of(pod, cpu, analysis.Invalid, 0, 0, 0)
	invalid.Reason = analysis.InvalidRuns{}
	for _, tt := range []struct {
		name    string
		verdict analysis.Verdict
		want    string
		list    []analysis.Comparison
	}{
		{"the same on both paths", analysis.Costs,
			"wireguard: 3.9 to 4.0 % [3.1, 4.8] less bandwidth, 14 times [13, 15] the cpu; the same verdicts in pod-to-pod and pod-to-service",
			[]analysis.Comparison{of(pod, bandwidth, analysis.Costs, 0.039, 0.031, 0.047), of(service, bandwidth, analysis.Costs, 0.040, 0.033, 0.048),
				of(pod, cpu, analysis.Costs, 13, 12, 14), of(service, cpu, analysis.Costs, 13, 12, 14)}},
		{"sizes that differ", analysis.Costs, "wireguard: 10 to 40 % [8, 50] more cpu, most in pod-to-service; the same verdict in pod-to-pod and pod-to-service",
			[]analysis.Comparison{of(pod, cpu, analysis.Costs, 0.1, 0.08, 0.12), of(service, cpu, analysis.Costs, 0.4, 0.3, 0.5)}},
		{"verdicts that differ", analysis.Costs, "wireguard, cpu: 30 % [20, 40] more in pod-to-pod; equivalent within ±2 % (0.3 % more [0.5 less, 1.1 more]) in pod-to-service",
			[]analysis.Comparison{of(service, cpu, analysis.Equivalent, 0.003, -0.005, 0.011), of(pod, cpu, analysis.Costs, 0.3, 0.2, 0.4)}},
		{"a gain and a cost", "", "wireguard: 2.0 [1.0, 3.0] more retries, 2.5 times [2.0, 3.0] the bandwidth",
			[]analysis.Comparison{of(pod, bandwidth, analysis.Gains, -1.5, -2, -1), of(pod, retries, analysis.Costs, 2, 1, 3)}},
		{"a capacity", analysis.Costs, "wireguard: 11.0 % [8.0, 14.0] less load at p99 ≤ 20 ms", []analysis.Comparison{of(pod, capacity, analysis.Costs, 0.11, 0.08, 0.14)}},
		{"normal noise", analysis.Costs, "wireguard: 30 % [20, 40] more cpu (if noise is normal)", []analysis.Comparison{normal}},
		{"open", analysis.NotResolved, "wireguard: 1.0 % more cpu [3.0 less, 5.0 more], not resolved", []analysis.Comparison{of(pod, cpu, analysis.NotResolved, 0.01, -0.03, 0.05)}},
		{"not measurable", analysis.Costs, "wireguard: more cpu, by an amount that is not measurable", []analysis.Comparison{of(pod, cpu, analysis.Costs, 5, 0.1, 438807230.5)}},
		{"invalid", analysis.Invalid, "wireguard: no verdict, the run is invalid", []analysis.Comparison{invalid}},
	} {
		got := analysis.ArmSummaries(&analysis.Run{Comparisons: tt.list})
		if len(got) != 1 || got[0].Verdict != tt.verdict {
			t.Errorf("%s: answers %+v, want one that %s", tt.name, got, tt.verdict)
			continue
		}
		if text := Answer(&got[0], "plain"); text != tt.want {
			t.Errorf("%s: %q\n    want %q", tt.name, text, tt.want)
		}
	}
}

func TestUnmeasurableHasNoNumbers(t *testing.T) {
	c := analysis.Comparison{Arm: "a", Cell: "c", Metric: experiment.Metric{Name: "m", Better: experiment.Lower, Scale: experiment.Ratio}, Verdict: analysis.NotResolved, Reason: analysis.NothingShown{},
		Rounds: 6, Paired: true, Overhead: analysis.Interval{Point: 2, Lo: -0.99999, Hi: 438807230.5}, MDE: 1e6, Power: 0.8}
	if got, want := Verdict(&c), "not resolved: not measurable (the pairs vary so much that no difference could be seen)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if point, interval := Overhead(c); point != "not measurable" || interval != "" || HasNumbers(c) {
		t.Errorf("overhead %q %q, judged %v", point, interval, HasNumbers(c))
	}
	c.Overhead = analysis.Interval{Point: 13, Lo: 12, Hi: 14}
	if !HasNumbers(c) {
		t.Error("a clear interval counts as not measurable")
	}
}

func TestCellNames(t *testing.T) {
	for _, tt := range []struct{ ids, want []string }{
		{[]string{"network.tcp.pod-to-pod", "network.tcp.pod-to-service"}, []string{"pod-to-pod", "pod-to-service"}},
		{[]string{"one.cell"}, []string{"one.cell"}},
		{[]string{"a.rate=1.5", "a.rate=1.7"}, []string{"rate=1.5", "rate=1.7"}},
		{[]string{"a", "a.b"}, []string{"a", "a.b"}},
		{nil, nil},
	} {
		if got := CellNames(tt.ids); !slices.Equal(got, tt.want) {
			t.Errorf("CellNames(%q) = %q, want %q", tt.ids, got, tt.want)
		}
	}
}
