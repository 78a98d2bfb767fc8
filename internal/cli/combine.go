package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/runs/combine"
	"tare/internal/runs/compare"
)

func newCombine(s State) *cobra.Command {
	p := paged{page: "combination.html"}
	var all bool
	c := &cobra.Command{
		Use:   "combine RUN RUN...",
		Short: "Join runs of one experiment to an answer beyond a single occasion",
		Long: `Join runs of one experiment into one answer. A single run describes its occasion: all
its rounds share the load, the neighbours and the placement of that hour. tare combine
treats each run as one occasion. It shows the mean overhead of a layer over occasions,
how much the overhead differs between them, and the range in which another run would
find it.

The runs must ask the same question: layers, workloads, testbed, confidence and
margin. Seed, time, number of rounds, machine and versions may differ, and are
listed. Runs that are unfinished or give no verdicts are left out, and named. Two
runs are the minimum; five or more give useful answers.`,
		Example: `  tare combine runs/gvisor-20260102-150405 runs/gvisor-20260103-150405 runs/gvisor-20260104-150405
  tare combine nightly/* -o markdown
  tare combine nightly/* -o html --to gvisor.html
  tare combine nightly/* -o json | jq -r '.comparisons[] | [.arm, .cell, .text, .spread.point, .prediction.lo, .prediction.hi] | @tsv'`,
		Args:              atLeastTwoRuns,
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := combineRuns(args)
			if err != nil {
				return err
			}
			return view(s, r, p, report.CombineCSV, func(form document.Forms) *document.Document {
				shown := form == document.Page || all && form == document.Terminal
				return report.Combine(r, report.CompareOptions{All: shown, Generated: time.Now()})
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "show exploratory metrics, too")
	p.add(c)
	return c
}

func atLeastTwoRuns(_ *cobra.Command, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("%d given, at least two runs of one experiment are needed", len(args))
	}
	return nil
}

// combineRuns opens and combines run directories.
func combineRuns(dirs []string) (*combine.Result, error) {
	in, err := openInputs(dirs)
	if err != nil {
		return nil, err
	}
	r, err := combine.Runs(in)
	switch {
	case errors.Is(err, combine.ErrOtherQuestion), errors.Is(err, compare.ErrNothingInCommon):
		return nil, hintedUsage(err, "tare compare says what differs between them, and by how much")
	case errors.Is(err, compare.ErrSameRun):
		return nil, hintedUsage(err, "a run counts once")
	case err != nil:
		return nil, usage(err)
	}
	return r, nil
}
