package report

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

func TestAnswer(t *testing.T) {
	s := arrange(&analysis.Run{Plan: &experiment.Plan{Confidence: 0.95, Equivalence: 0.02,
		Arms: []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}}}})
	tests := []struct {
		verdict       analysis.Verdict
		point, lo, hi float64
		reason        analysis.Reason
		want          string
	}{
		{analysis.Costs, 0.071, 0.062, 0.080, nil, "wg costs 7.1 % [6.2, 8.0] on rtt in net (95 % interval; median 400 µs with plain, 428.4 µs with wg)."},
		{analysis.Gains, -0.032, -0.044, -0.02, nil, "wg gains 3.2 % [2.0, 4.4] on rtt in net (95 % interval; median 400 µs with plain, 428.4 µs with wg)."},
		{analysis.Equivalent, 0.003, -0.005, 0.011, nil, "wg and plain are equivalent on rtt in net: the overhead, 0.3 % more [0.5 less, 1.1 more], lies within ±2 %."},
		{analysis.NotResolved, -0.004, -0.03, 0.025, analysis.NothingShown{},
			"What wg costs on rtt in net is not resolved (0.4 % less [2.5 more, 3.0 less]): differences of 4 % are found with 80 % chance; 13 to 44 rounds would resolve this, 22 with 80 % chance if the noise is as large as it seems."},
		{analysis.NotResolved, -0.004, -0.03, 0.025, analysis.FarReaching{},
			"What wg costs on rtt in net is not resolved (0.4 % less [2.5 more, 3.0 less]): the tests of equivalence pass, but the interval reaches beyond twice that margin: a few pairs decide."},
		{analysis.NotResolved, 0.02, 0.01, 0.03, analysis.WithinBias{Bias: 0.03},
			"What wg costs on rtt in net is not resolved (2.0 % more [1.0, 3.0]): the control differs by up to 3 % itself."},
		{analysis.NotResolved, 0, 0, 0, analysis.TooFewValues{}, "What wg costs on rtt in net is not resolved: no valid pairs."},
		{analysis.Invalid, 0, 0, 0, analysis.InvalidRuns{}, "wg on rtt in net: no verdict, the run is invalid."},
		{analysis.Invalid, 0, 0, 0, nil, "wg on rtt in net: no verdict."},
	}
	for _, tt := range tests {
		c := analysis.Comparison{Paired: true, Arm: "wg", Cell: "net", Metric: experiment.Metric{Name: "rtt", Unit: "s", Scale: experiment.Ratio},
			Rounds: 12, Verdict: tt.verdict, MDE: 0.04, Power: 0.8, Needed: 22, NeededRange: &[2]int{13, 44}, Reason: tt.reason, PointOnly: tt.verdict == analysis.Invalid,
			Overhead: analysis.Interval{Point: tt.point, Lo: tt.lo, Hi: tt.hi},
			Baseline: analysis.Summary{N: 12, Median: 400e-6}, Treated: analysis.Summary{N: 12, Median: 428.4e-6}}
		if got := s.answer(c); got != tt.want {
			t.Errorf("answer = %q\n    want %q", got, tt.want)
		}
	}
}
