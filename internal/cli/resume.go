package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
	"tare/internal/version"
)

func newResume(s State) *cobra.Command {
	var out, key string
	var quiet bool
	var rounds int
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Continue a run that was interrupted, or extend a finished one",
		Long: `Continue a run that was interrupted, with the same plan and seed. At most the
trial that was running is lost. Without RUN, the newest run below runs/.

With --rounds, extend a finished run to this total number of rounds. This is a second
look at the same question, which would make false claims more likely. The extended run is
therefore judged with a quarter of the first look's error probability, at 98.75 % instead
of 95 %, and its report states this. The verdicts of the first look are kept.`,
		Example: `  tare resume
  tare resume runs/quickstart-20260102-150405
  tare resume --rounds 32 runs/quickstart-20260102-150405`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := runDir(args)
			if err != nil {
				return err
			}
			if journal.IsArchive(dir) {
				return hintedUsage(fmt.Errorf("%s is an archive, and only a run directory can grow", dir), "tar -xzf %s", dir)
			}
			if err := undoRun(c.Context(), s, dir); err != nil {
				return err
			}
			extend := c.Flags().Changed("rounds")
			run, result, err := openRun([]string{dir})
			if err == nil && !extend && run.Plan.Ended > 0 { // without --rounds, a run that ended early is extended to its planned rounds
				extend, rounds = true, run.Plan.Planned()
			}
			if extend {
				if err := errors.Join(err, extendable(run, rounds)); err != nil {
					return err
				}
			} else if err == nil && run.Finished {
				if exists(filepath.Join(dir, reportFile)) {
					fmt.Fprintf(s.Stderr, "%s is complete: nothing to resume\n", dir)
					return show(s, result, out, false)
				}
				fmt.Fprintf(s.Stderr, "%s is complete but for its report\n", dir)
				return conclusion(s, dir, quiet, func(r *analysis.Run, _ string) error { return show(s, r, out, false) })
			}
			if err := enough(toMeasure); err != nil {
				return err
			}
			x, expansion, err := replan(dir)
			if err != nil {
				return err
			}
			if err := ready(c.Context(), x); err != nil {
				return err
			}
			if _, err := sign(c.Context(), key, ""); err != nil {
				return err
			}
			values, err := readValues(x, nil)
			if err != nil {
				return err
			}
			j, err := journal.Resume(dir)
			if err != nil {
				return err
			}
			if err := endStrays(c.Context(), s, values); err != nil {
				return errors.Join(err, j.Close())
			}
			if extend {
				if err := extendRun(j, &expansion.Plan, rounds); err != nil {
					return errors.Join(err, j.Close())
				}
			}
			return signed(c.Context(), s, dir, key, carryOut(c.Context(), s, j, expansion, values, environment(c.Context(), expansion), out, quiet))
		},
	}
	c.Flags().IntVar(&rounds, "rounds", 0, "extend a finished run to this total number of rounds")
	addSign(c, &key)
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "no progress on stderr")
	addFormat(c, &out, formats...)
	return c
}

// replan expands a run's recorded experiment file, and returns the recorded plan. If this version of Tare makes another
// plan, the error is an otherPlanError.
func replan(dir string) (*experiment.Experiment, *experiment.Expansion, error) {
	run, err := journal.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	known := catalog.Kinds()
	known.Read, known.Recorded = journal.ReadNamed(dir), true
	x, err := experiment.Load(filepath.Join(dir, journal.ExperimentFile), run.Experiment, known)
	if err != nil {
		return nil, nil, err
	}
	x.Design.Seed = &run.Plan.Seed
	if run.Plan.Busy != "" {
		x.GoOnBusy(run.Plan.Busy)
	}
	expansion, err := experiment.Expand(x, version.String())
	if err != nil {
		return nil, nil, err
	}
	if parts := otherParts(&expansion.Plan, run.Plan); len(parts) > 0 {
		return nil, nil, &otherPlanError{dir, strings.Join(parts, ", ")}
	}
	expansion.Plan = *run.Plan
	return x, expansion, nil
}

// otherPlanError is the error of a run whose plan.json differs from the plan of its experiment.yaml.
type otherPlanError struct {
	dir   string
	parts string // parts of the plan that differ
}

func (e *otherPlanError) Error() string {
	return fmt.Sprintf("%s: this version of tare (%s) expands experiment.yaml to other %s than plan.json holds; resume it with the version that made it, and experiment.yaml as it was", e.dir, version.String(), e.parts)
}

// otherParts names the parts in which two plans of a run differ, such as arms or limits. Seed and rounds may differ:
// the command line may set them.
func otherParts(a, b *experiment.Plan) (names []string) {
	one, errOne := compared(a)
	other, errOther := compared(b)
	if errOne != nil || errOther != nil {
		return []string{"parameters"}
	}
	for name := range one {
		if !reflect.DeepEqual(one[name], other[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// compared returns, as JSON values, the parts of a plan that must stay the same in all sessions of a run.
func compared(p *experiment.Plan) (parts map[string]any, err error) {
	cells := slices.Clone(p.Cells)
	for i := range cells {
		cells[i].Expected, cells[i].Tests = 0, "" // may differ: Expected is an estimate, and plans of older versions lack Tests
	}
	text, err := json.Marshal(map[string]any{
		"name": p.Name, "description": p.Description, "testbed": p.Testbed,
		"arms": p.Arms, "cells": cells, "confidence": p.Confidence, "equivalence": p.Equivalence, "power": p.Power,
		"attempts": p.Attempts, "limits": p.Limits, "budget": p.Budget,
	})
	if err != nil {
		return nil, err
	}
	return parts, json.Unmarshal(text, &parts)
}

// extendable returns the error, with a hint, if a run cannot be extended to this number of rounds.
func extendable(run *journal.Run, rounds int) error {
	if run == nil { // nil: the run could not be opened, which the caller reports
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

const mostLooked = 20 // largest number of verdicts that the note of an extension lists

// extendRun adds rounds to a finished run. A note keeps the run's headline verdicts so far, and its report gets another
// name.
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
