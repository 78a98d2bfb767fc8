package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/experiment/quantity"
	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/run/journal"
	"tare/internal/runs/history"
)

type historyFlags struct {
	paged
	name    string
	all     bool
	options history.Options
}

func newHistory(s State) *cobra.Command {
	f := historyFlags{paged: paged{page: "history.html"}}
	alpha := quantity.Percent(history.DefaultAlpha)
	c := &cobra.Command{
		Use:   "history [DIR|RUN]...",
		Short: "Show many runs over time and where something changed",
		Long: `Show many runs over time: every overhead and every level of a baseline from run
to run, and the runs at which something changed. Runs are found below each DIR
(default runs/) and ordered by their start. Invalid and unfinished runs are marked
and left out of the statistics. A directory that cannot be read is named and skipped.

The exit code is 0 with or without a change; tare gate --against judges a run by a
history.`,
		Example: `  tare history
  tare history nightly --name wireguard --all
  tare history nightly -o html --to history.html
  tare history nightly -o json | jq '.experiments[].series[] | select(.changes != []) | {cell, arm, changes}'`,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if alpha <= 0 || alpha >= 0.5 {
				return usage(fmt.Errorf("--alpha %s: between 0%% and 50%% is possible", alpha))
			}
			if f.options.Segment < history.LeastSegment {
				return usage(fmt.Errorf("--segment %d: at least %d runs are needed to tell two levels apart", f.options.Segment, history.LeastSegment))
			}
			f.options.Alpha = float64(alpha)
			runs, skipped, err := f.read(c, s, args)
			if err != nil {
				return err
			}
			h := history.New(runs, skipped, f.options)
			return view(s, h, f.paged, report.HistoryCSV, func(form document.Forms) *document.Document {
				if form != document.Page {
					return report.History(h, report.HistoryOptions{All: f.all})
				}
				o := report.HistoryOptions{Page: f.file(), Reports: map[string]bool{}, Generated: time.Now()}
				for _, e := range h.Experiments {
					for _, r := range e.Runs {
						o.Reports[r.Directory] = exists(filepath.Join(r.Directory, reportFile))
					}
				}
				return report.History(h, o)
			})
		},
	}
	c.Flags().StringVar(&f.name, "name", "", "only runs of the experiment of this name")
	_ = c.RegisterFlagCompletionFunc("name", completeExperiments)
	c.Flags().BoolVar(&f.all, "all", false, "show exploratory metrics, too")
	c.Flags().Var((*percentFlag)(&alpha), "alpha", "share of histories without a change that may falsely show one")
	c.Flags().IntVar(&f.options.Segment, "segment", history.DefaultSegment, "fewest runs between two changes, before the first and after the last")
	f.add(c)
	return c
}

func (f *historyFlags) read(c *cobra.Command, s State, dirs []string) ([]*history.Run, []history.Skipped, error) {
	for _, dir := range dirs {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, usage(fmt.Errorf("%s does not exist", dir))
		}
	}
	if len(dirs) == 0 {
		dirs = []string{journal.DefaultRoot}
	}
	runs, skipped, err := readHistory(c.Context(), s, dirs...)
	if err != nil {
		return nil, nil, err
	}
	names := map[string]bool{}
	for _, r := range runs {
		names[r.Name] = true
	}
	if f.name != "" {
		runs = slices.DeleteFunc(runs, func(r *history.Run) bool { return r.Name != f.name })
	}
	switch {
	case len(names) == 0:
		return nil, nil, hintedUsage(fmt.Errorf("no run below %s", strings.Join(dirs, ", ")), "tare run makes one; or name a directory that holds runs")
	case len(runs) == 0:
		known := slices.Sorted(maps.Keys(names))
		return nil, nil, hintedUsage(fmt.Errorf("no run of experiment %q below %s", f.name, strings.Join(dirs, ", ")), "there are: %s", strings.Join(known, ", "))
	}
	return runs, skipped, nil
}

// readHistory reads the runs below directories. It prints on stderr the directories that cannot be read.
func readHistory(ctx context.Context, s State, dirs ...string) ([]*history.Run, []history.Skipped, error) {
	runs, skipped, err := history.Read(ctx, dirs...)
	for _, skip := range skipped {
		fmt.Fprintln(s.Stderr, "skipped "+skip.Directory+": "+skip.Reason)
	}
	return runs, skipped, err
}

func completeExperiments(_ *cobra.Command, dirs []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(dirs) == 0 {
		dirs = []string{journal.DefaultRoot}
	}
	var names []string
	for _, dir := range dirs {
		runs, _ := journal.Find(dir) // an error is ignored: the shell then has nothing to complete
		for _, run := range runs {
			if plan := planOf(run); plan.Name != "" {
				names = append(names, plan.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// percentFlag is a share as a flag's value, such as 2%.
type percentFlag quantity.Percent

func (p *percentFlag) String() string { return quantity.Percent(*p).String() }
func (p *percentFlag) Type() string   { return "percent" }
func (p *percentFlag) Set(text string) error {
	return (*quantity.Percent)(p).UnmarshalText([]byte(text))
}
