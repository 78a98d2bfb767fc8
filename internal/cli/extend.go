package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
)

// extendable returns the reason why a run cannot be extended to this many rounds, with a hint.
func extendable(run *journal.Run, rounds int) error {
	if run == nil { // opening the run has failed, and the caller reports that error
		return nil
	}
	err := run.Extendable(rounds)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s cannot be extended to %d rounds: %w", run.Dir, rounds, err)
	switch {
	case run.Plan.Import != nil:
		return hintedUsage(err, "import more files with the tool that made these")
	case run.Plan.Precision > 0:
		return hintedUsage(err, "begin a new run with a finer design.precision, or with design.rounds")
	case len(run.Plan.DecideAt) > 0:
		return hintedUsage(err, "begin a new run with more rounds at most: rounds: {atMost: %d}", rounds)
	case !run.Finished:
		return hintedUsage(err, "tare resume %s finishes it first", run.Dir)
	}
	return hintedUsage(err, "--rounds is the number of rounds in all, those at hand included")
}

// mostLooked is the largest number of verdicts of the first look in the note of an extension.
const mostLooked = 20

// extendRun lets a finished run continue, and keeps its results so far: the headline verdicts in the note, and
// the report under another name.
func extendRun(j *journal.Journal, plan *experiment.Plan, rounds int) error {
	before := plan.Total()
	seen := analysis.Analyze(plan, j.Trials(), j.Environment())
	var verdicts []string
	for i := range seen.Comparisons {
		if c := &seen.Comparisons[i]; c.Metric.Headline {
			verdicts = append(verdicts, fmt.Sprintf("%s, %s in %s: %s", c.Arm, c.Metric.Name, c.Cell, wording.Verdict(c)))
		}
	}
	if more := len(verdicts) - mostLooked; more > 0 {
		verdicts = append(verdicts[:mostLooked], fmt.Sprintf("and %d more", more))
	}
	text := fmt.Sprintf("extended from %d to %d rounds after a look, at which it said: %s", before, rounds, strings.Join(verdicts, "; "))
	if err := j.Extend(rounds, text); err != nil {
		return err
	}
	plan.Looks, plan.Fixed, plan.Ended = append(plan.Looks, before), rounds, 0
	page := filepath.Join(j.Dir(), reportFile)
	err := os.Rename(page, filepath.Join(j.Dir(), fmt.Sprintf("report-%d.html", before)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, journal.SyncDir(j.Dir()))
}
