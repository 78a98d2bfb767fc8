package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/run/journal"
	"tare/internal/runs/published"
)

func newShow(s State) *cobra.Command {
	var out, as string
	var table publishedFlags
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show the results of a run",
		Long: `Show the results of a run: one line per metric and arm with the verdict, the
overhead and its interval. Without RUN, the newest run below runs/. For a run that is
unfinished, the results so far are shown.

With --as published, show the table that articles on benchmarks print: means with
their variances, and differences in percent of either side, each with the result of
its interval.`,
		Example: `  tare show
  tare show runs/quickstart-20260102-150405 --all
  tare show -o json | jq '.comparisons[] | {arm, metric: .metric.name, text}'
  tare show --as published`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			switch as {
			case asPublished:
			case "":
				if err := table.refuse(c, "--as published"); err != nil {
					return err
				}
			default:
				return hintedUsage(errors.New("--as "+as+": not known"), "--as published is the table of means and variances that write-ups print")
			}
			run, result, err := openRun(args)
			if err != nil {
				return err
			}
			if len(run.Trials) == 0 {
				fmt.Fprintf(s.Stderr, "%s has no finished trial yet\n", run.Dir)
			}
			if as == asPublished {
				t, err := table.table(run, result)
				if err != nil {
					return err
				}
				return view(s, t, paged{out: out}, report.PublishedCSV, func(document.Forms) *document.Document {
					return report.Published(table.shown(t), table.digits)
				})
			}
			return show(s, result, out, table.all)
		},
	}
	c.Flags().BoolVar(&table.all, "all", false, "show exploratory metrics, too")
	c.Flags().StringVar(&as, "as", "", "another form: published")
	_ = c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{asPublished}, cobra.ShellCompDirectiveNoFileComp))
	table.add(c)
	addFormat(c, &out, formats...)
	return c
}

func openRun(args []string) (*journal.Run, *analysis.Run, error) {
	dir, err := runDir(args)
	if err != nil {
		return nil, nil, err
	}
	run, err := journal.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	return run, analysis.OfRun(run), nil
}

// runDir returns the run directory that the arguments name, or else the newest run directory.
func runDir(args []string) (string, error) {
	if len(args) == 1 {
		if _, err := os.Stat(filepath.Join(args[0], "plan.json")); err != nil {
			if _, err := journal.Open(args[0]); errors.As(err, new(*journal.DamageError)) {
				return "", err
			}
			return "", noRun(args[0], err)
		}
		return args[0], nil
	}
	dirs, err := journal.Find("runs")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if len(dirs) == 0 {
		return "", hintedUsage(errors.New("no run below runs/"), "tare run examples/quickstart.yaml makes one; or name a run directory")
	}
	return newest(dirs), nil
}

func each[T, R any](list []T, result func(T) R) []R {
	out := make([]R, len(list))
	for i, item := range list {
		out[i] = result(item)
	}
	return out
}

// oneByOne returns a list of arguments for each of the named runs, or for the newest run.
func oneByOne(args []string) [][]string {
	if len(args) == 0 {
		return [][]string{nil}
	}
	return slices.Collect(slices.Chunk(args, 1))
}

// noRun returns the error of a directory that is not a run. If the directory contains runs, the hint names one of
// these runs.
func noRun(dir string, err error) error {
	err = fmt.Errorf("%s is not a run directory: %w", dir, err)
	below, _ := journal.Find(dir)
	switch len(below) {
	case 0:
		return hintedUsage(err, "a run directory is what tare run and tare import make; it holds plan.json and trials.jsonl")
	case 1:
		return hintedUsage(err, "there is a run below it: %s", below[0])
	}
	return hintedUsage(err, "there are %d runs below it, of which %s is the newest; name one", len(below), newest(below))
}

func newest(dirs []string) string {
	return slices.MaxFunc(dirs, func(a, b string) int { return made(a).Compare(made(b)) })
}

func made(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "plan.json"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

const asPublished = "published" // value of show --as

const mostDigits = 12 // largest number of decimals in a published table

type publishedFlags struct {
	published.Options
	wanted bool // set if tare report shows the table
	all    bool // set if exploratory metrics are in the text formats, too
	digits int  // number of decimals; -1 to choose it by how much the values vary
}

func (f *publishedFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.Reference, "reference", "", "arm whose differences the published table shows (default: all pairs of up to four arms)")
	_ = c.RegisterFlagCompletionFunc("reference", completeArms)
	c.Flags().IntVar(&f.digits, "digits", report.AsTheyVary, "decimals of the published table (-1: chosen by how much the values vary)")
	c.Flags().BoolVar(&f.WithInvalid, "with-invalid", false, "include invalid trials in the published table, like tables that do not check errors")
}

func (f *publishedFlags) refuse(c *cobra.Command, flag string) error {
	names := []string{"reference", "with-invalid", "digits"}
	if flag == "--published" { // tare show has an --all of its own
		names = append(names, "all")
	}
	for _, name := range names {
		if c.Flags().Changed(name) {
			return hintedUsage(fmt.Errorf("--%s is about the published table", name), "add %s", flag)
		}
	}
	return nil
}

// shown returns the part of a table for text formats. JSON and CSV get the whole table.
func (f *publishedFlags) shown(t *published.Table) *published.Table {
	if f.all {
		return t
	}
	return t.Headline()
}

func (f *publishedFlags) table(run *journal.Run, result *analysis.Run) (*published.Table, error) {
	if f.digits < report.AsTheyVary || f.digits > mostDigits {
		return nil, hintedUsage(fmt.Errorf("--digits %d: not a number of decimals", f.digits), "0 to %d, or -1 for as many as show what the values vary by", mostDigits)
	}
	t, err := published.Of(result, run.Trials, f.Options)
	return t, usage(err)
}
