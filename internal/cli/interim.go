package cli

import (
	"fmt"
	"strings"

	"tare/internal/analysis"
	"tare/internal/report/wording"
)

// interim shows the results of a run so far: estimates with their intervals. They are no verdicts, since the
// number of rounds does not depend on them. The rounds are analysed between trials.
type interim struct {
	analyze  func() *analysis.Run
	round    int    // the current round
	text     string // the estimates from the rounds before it
	quarters int    // the number of quarters of the run that were printed on a pipe
}

// mostInterim is the largest number of comparisons whose estimates are shown.
const mostInterim = 2

// begins is called when a trial of a round begins. It reports whether another quarter of the rounds is done
// since the last report.
func (i *interim) begins(round, rounds int) (quarter bool) {
	if i.analyze == nil || round <= i.round {
		return false
	}
	i.round = round
	if round < 3 { // one pair has no interval
		return false
	}
	i.text = estimates(i.analyze())
	if now := 4 * (round - 1) / max(rounds, 1); now > i.quarters && i.text != "" {
		i.quarters, quarter = now, true
	}
	return quarter
}

// estimates returns the estimates of the first headlines.
func estimates(r *analysis.Run) string {
	var all []string
	more := false
	for _, c := range r.Comparisons {
		if !c.Metric.Headline || !wording.HasNumbers(c) {
			continue
		}
		if more = len(all) == mostInterim; more {
			break
		}
		name := c.Arm
		if len(r.Plan.Cells) > 1 {
			name += ", " + c.Cell
		}
		all = append(all, fmt.Sprintf("%s %s %s", name, c.Metric.Name, wording.Estimate(c)))
	}
	if len(all) == 0 {
		return ""
	}
	if more {
		all = append(all, "…")
	}
	return "interim: " + strings.Join(all, "; ")
}
