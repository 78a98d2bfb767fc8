package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tare/analysis"
	"tare/journal"
	"tare/report"
)

// reportFile is the report in a run directory.
const reportFile = "report.html"

func newReport(s State) *cobra.Command {
	var out, to string
	c := &cobra.Command{
		Use:   "report [RUN]...",
		Short: "Write the report of a run",
		Long: `Write the report of a run: one self-contained HTML file, Markdown, or the
picture of the overheads as SVG. Without RUN, the newest run below runs/.`,
		Example: `  tare report
  tare report runs/quickstart-20260102-150405 -o markdown > result.md
  tare report -o svg --to overhead.svg`,
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(out, "html", "markdown", "svg"); err != nil {
				return err
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
				if err := reportRun(s, named, out, to); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "", "file to write (default report.html in the run directory; stdout for markdown and svg)")
	addFormat(c, &out, "html", "markdown", "svg")
	c.Flags().Lookup("output").DefValue = "html"
	out = "html"
	return c
}

// reportRun writes one run's report.
func reportRun(s State, args []string, out, to string) error {
	run, result, err := openRun(args)
	if err != nil {
		return err
	}
	if out == "html" {
		if to == "" {
			to = filepath.Join(run.Dir, reportFile)
		}
		if err := writeReport(result, run.Dir, to, run.Experiment); err != nil {
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
	return report.Markdown(w, result)
}

// writeReport writes the HTML report whole or not at all.
func writeReport(r *analysis.Run, dir, to string, file []byte) error {
	f, err := os.CreateTemp(filepath.Dir(to), ".report-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriter(f)
	err = report.HTML(w, r, report.HTMLOptions{Experiment: file, RunDir: dir, Page: to, Command: "tare run " + journal.ExperimentFile, Generated: time.Now()})
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return os.Rename(f.Name(), to)
}
