package report

import (
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/text"
)

// TestFailuresAreShown: what fails is told before the results in every form, arm by arm
// and rule by rule, and of what grade a claim is stands beside it.
func TestFailuresAreShown(t *testing.T) {
	r := wireguard().run()
	cell := r.Comparisons[0].Cell
	share := func(count int, point, lo, hi float64) analysis.Frequency {
		return analysis.Frequency{Count: count, Of: 40, Share: analysis.Interval{Point: point, Lo: lo, Hi: hi}}
	}
	none := share(0, 0, 0, 0.088)
	r.Failures = []analysis.Failures{
		{Cell: cell, Arm: "plain", Role: experiment.Baseline, Failed: none, P: 1, PAdjusted: 1},
		{Cell: cell, Arm: "wireguard", Role: experiment.Treatment, Verdict: analysis.Fails, Failed: share(12, 0.3, 0.166, 0.468), Reference: &none, Difference: analysis.Interval{Point: 0.3, Lo: 0.166, Hi: 0.44}, P: 0.0002, PAdjusted: 0.001,
			Rules: []analysis.RuleFailures{{Rule: "exit-status", Frequency: share(9, 0.225, 0.108, 0.385)}, {Rule: "timeout", Frequency: share(3, 0.075, 0.016, 0.204)}}},
	}
	r.Comparisons[0].Verdict, r.Comparisons[0].Grade = analysis.Costs, analysis.Normal
	r.Comparisons[1].Verdict, r.Comparisons[1].Reason = analysis.Interim, analysis.RoundsMissing{Rounds: 7, Of: 12}
	for name, c := range map[string]struct {
		doc  string
		want []string
	}{
		"text": {asText(t, Run(r, RunOptions{}), text.Options{Width: 160}), []string{"12 failed", "Failures", "12 of 40", "30 % [17, 47]", "exit-status", "22 % [11, 38]", "timeout", "if normal", "interim", "after 7 of 12 rounds"}},
		"markdown": {strings.ReplaceAll(asMarkdown(t, Run(r, RunOptions{})), `\`, ""), []string{"wireguard in " + cell + ": fails in 30 % [17, 47] of trials; plain 0.0 % [0.0, 8.8]; 30 points more [17, 44].", "## Failures", "| ▲ fails | 12 of 40 | 30 % | [17, 47] | 30 points more [17, 44] | any | 0.0010 |",
			"9 of 40 | 22 % | [11, 38] |  | exit-status |", "is interim, after 7 of 12 rounds: ", "costs (if noise is normal)"}},
		"page": {words(render(t, r, RunOptions{})), []string{"fails in 30 % [17, 47] of trials", "if normal", "is interim, after 7 of 12 rounds"}},
	} {
		says(t, name, c.doc, c.want...)
		if failures, results := strings.Index(c.doc, "12 of 40"), strings.Index(c.doc, "\n  TCP round-trip time "); name == "text" && failures > results {
			t.Errorf("%s: results stand before failures", name)
		}
	}
}
