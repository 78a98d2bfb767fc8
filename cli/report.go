package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tare/analysis"
	"tare/journal"
	"tare/published"
	"tare/report"
)

// reportFile is the report in a run directory.
const reportFile = "report.html"

func newReport(s State) *cobra.Command {
	var out, to string
	var withTable bool
	var table publishedFlags
	c := &cobra.Command{
		Use:   "report [RUN]...",
		Short: "Write the report of a run",
		Long: `Write the report of a run: one self-contained HTML file, Markdown, or the
picture of the overheads as SVG. Without RUN, the newest run below runs/.`,
		Example: `  tare report
  tare report runs/quickstart-20260102-150405 -o markdown > result.md
  tare report -o svg --to overhead.svg`,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(out, "html", "markdown", "svg"); err != nil {
				return err
			}
			switch {
			case withTable && out == "svg":
				return usage(errors.New("--published: a picture has no table"))
			case !withTable:
				if err := table.refuse(c, "--published"); err != nil {
					return err
				}
			}
			if len(args) > 1 && to != "" {
				return usage(fmt.Errorf("--to names one file, but %d runs are to be reported", len(args)))
			}
			if len(args) == 0 {
				args = []string{""}
			}
			for _, arg := range args {
				var named []string
				if arg != "" {
					named = []string{arg}
				}
				var flags *publishedFlags
				if withTable {
					flags = &table
				}
				if err := reportRun(s, named, out, to, flags); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "", "file to write (default report.html in the run directory; stdout for markdown and svg)")
	c.Flags().BoolVar(&withTable, "published", false, "add the published table: means, variances, differences in percent")
	c.Flags().BoolVar(&table.all, "all", false, "exploratory metrics too in the published table")
	table.add(c)
	addFormat(c, &out, "html", "markdown", "svg")
	c.Flags().Lookup("output").DefValue = "html"
	out = "html"
	return c
}

// reportRun writes one run's report, with the published table if its flags are
// given.
func reportRun(s State, args []string, out, to string, flags *publishedFlags) error {
	run, result, err := openRun(args)
	if err != nil {
		return err
	}
	var table *published.Table
	if flags != nil {
		if table, err = flags.table(run, result); err != nil {
			return err
		}
		table = flags.shown(table)
	}
	if out == "html" {
		if to == "" {
			to = filepath.Join(run.Dir, reportFile)
		}
		if err := writePage(result, to, report.HTMLOptions{Experiment: run.Experiment, RunDir: run.Dir, Published: table}); err != nil {
			return err
		}
		fmt.Fprintln(s.Stdout, to)
		return nil
	}
	w := s.Stdout
	if to != "" {
		f, err := os.Create(to)
		if err != nil {
			return err
		}
		defer f.Close()
		w = f
	}
	if out == "svg" {
		_, err = fmt.Fprintln(w, report.Figure(result))
		return err
	}
	if err := report.Markdown(w, result); err != nil || table == nil {
		return err
	}
	fmt.Fprintln(w)
	return report.PublishedMarkdown(w, table)
}

// writeReport writes the HTML report of a run that has just been made.
func writeReport(r *analysis.Run, dir, to string, file []byte) error {
	return writePage(r, to, report.HTMLOptions{Experiment: file, RunDir: dir})
}

// writePage writes an HTML report whole or not at all.
func writePage(r *analysis.Run, to string, o report.HTMLOptions) error {
	o.Page, o.Command, o.Generated = to, "tare run "+journal.ExperimentFile, time.Now()
	if err := writeWhole(to, func(w io.Writer) error { return report.HTML(w, r, o) }); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
