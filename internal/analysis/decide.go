package analysis

import (
	"slices"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// Decided reports whether every headline comparison of a plan with looks is decided after a number of
// rounds. A comparison is decided if it has a verdict of grade measured, or if more rounds cannot give it
// such a verdict.
func Decided(plan *experiment.Plan, trials []journal.Trial, rounds int) bool {
	then := *plan
	then.Decided = rounds
	run := Judge(&then, countedTrials(&then, trials))
	return run.Valid && !slices.ContainsFunc(run.Comparisons, func(c Comparison) bool {
		return c.Metric.Headline && (c.Verdict == NotResolved || c.Verdict == Interim || c.Grade == Normal)
	})
}
