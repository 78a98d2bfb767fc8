package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/report/export"
	"tare/internal/report/html"
	"tare/internal/report/render"
	"tare/internal/run/journal"
	"tare/internal/run/machine/owned"
	"tare/internal/runs/gate"
	"tare/internal/runs/published"
	"tare/internal/text/safetext"
)

const reportFile = "report.html" // name of the report in a run directory

func newReport(s State) *cobra.Command {
	var out, to, of string
	var table publishedFlags
	c := &cobra.Command{
		Use:   "report [RUN]...",
		Short: "Write the report of a run",
		Long: `Write the report of a run: one self-contained HTML file, Markdown, its tables in
LaTeX for a paper, or the picture of the overheads as SVG. Without RUN, the newest run
below runs/.

PNG shows the picture and PDF the whole page, unless --of selects the other. They need
rsvg-convert and Chromium or Chrome, which tare doctor looks for.`,
		Example: `  tare report
  tare report runs/quickstart-20260102-150405 -o markdown > result.md
  tare report -o tex --to tables.tex
  tare report -o svg --to overhead.svg
  tare report -o pdf
  tare report -o pdf --of picture --to overhead.pdf`,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			picture, err := isPicture(out, of)
			if err != nil {
				return err
			}
			if table.wanted && picture {
				return usage(errors.New("--published: a picture has no table"))
			}
			if err := table.refuse(c, "--published"); err != nil && !table.wanted {
				return err
			}
			if len(args) > 1 && to != "" {
				return usage(fmt.Errorf("--to names one file, but %d runs are to be reported", len(args)))
			}
			for _, run := range oneByOne(args) {
				if err := reportRun(c.Context(), s, run, out, to, picture, &table); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "", "file to write (default: report.html or .pdf in the run directory; stdout for markdown, tex and a picture)")
	c.Flags().StringVar(&of, "of", "", "content of png and pdf: picture (of the overheads) or page (default: picture for png, page for pdf)")
	_ = c.RegisterFlagCompletionFunc("of", cobra.FixedCompletions([]string{ofPicture, ofPage}, cobra.ShellCompDirectiveNoFileComp))
	c.Flags().BoolVar(&table.wanted, "published", false, "add the published table: means, variances, differences in percent")
	c.Flags().BoolVar(&table.all, "all", false, "include exploratory metrics in the published table")
	table.add(c)
	addFormat(c, &out, "html", "markdown", "tex", "svg", "png", "pdf")
	return c
}

func reportRun(ctx context.Context, s State, args []string, out, to string, picture bool, flags *publishedFlags) error {
	run, result, err := openRun(args)
	if err != nil {
		return err
	}
	if picture {
		return writePicture(ctx, s, report.Figure(result), out, to)
	}
	var table *published.Table
	digits := report.AsTheyVary
	if flags.wanted {
		digits = flags.digits
		if table, err = flags.table(run, result); err != nil {
			return err
		}
		table = flags.shown(table)
	}
	if out != "markdown" && out != "tex" {
		if base, isArchive := strings.CutSuffix(run.Dir, ".tar.gz"); isArchive {
			to = cmp.Or(to, base+"."+out)
		}
		to = cmp.Or(to, filepath.Join(run.Dir, "report."+out))
		page := report.RunOptions{Experiment: run.Experiment, RunDir: run.Dir, Published: table, Decimals: digits}
		if out == "html" {
			err = writePage(result, to, page)
		} else {
			err = renderPage(ctx, to, out, func(w io.Writer) error { return html.Write(w, report.Run(result, madeNow(page, to))) })
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(s.Stdout, to)
		return nil
	}
	if to != "" {
		f, err := os.Create(to)
		if err != nil {
			return err
		}
		defer f.Close()
		s.Stdout = f
	}
	return view(s, result, paged{out: out}, report.CSV, func(document.Forms) *document.Document {
		return report.Run(result, report.RunOptions{Published: table, Decimals: digits})
	})
}

// conclusion opens a run that has just ended, writes its report and calls print. If the run has no verdicts, it returns
// the error ExitInvalid.
func conclusion(s State, dir string, quiet bool, print func(r *analysis.Run, page string) error) error {
	run, result, err := openRun([]string{dir})
	if err != nil {
		return err
	}
	page := filepath.Join(run.Dir, reportFile)
	unwritten := writePage(result, page, report.RunOptions{Experiment: run.Experiment, RunDir: run.Dir})
	if err := print(result, page); err != nil && !errors.Is(err, syscall.EPIPE) { // if the reader closes the pipe, the exit code stays the same
		return errors.Join(unwritten, err)
	}
	if unwritten != nil {
		return unwritten
	}
	if !quiet {
		fmt.Fprintf(s.Stderr, "report: %s\n", safetext.Name(page))
		if cases, _, _ := gate.Fewest(run.Plan); cases > 0 {
			fmt.Fprintf(s.Stderr, "budgets: tare gate %s checks them\n", run.Dir)
		}
	}
	if !result.Valid {
		return exit(ExitInvalid)
	}
	return nil
}

func writePage(r *analysis.Run, to string, o report.RunOptions) error {
	if err := writeWhole(to, func(w io.Writer) error { return html.Write(w, report.Run(r, madeNow(o, to))) }); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func madeNow(o report.RunOptions, to string) report.RunOptions {
	o.Page, o.Command, o.Generated = to, "tare run "+journal.ExperimentFile, time.Now()
	return o
}

// the contents of a PNG or PDF
const (
	ofPicture = "picture"
	ofPage    = "page"
)

// isPicture reports whether only the picture of the overheads is written, as a format or --of picture may request.
func isPicture(out, of string) (bool, error) {
	rendered := out == string(render.PNG) || out == string(render.PDF)
	switch {
	case of != "" && !rendered:
		return false, usage(fmt.Errorf("--of is for -o png and -o pdf, not for -o %s", out))
	case of != "" && of != ofPicture && of != ofPage:
		return false, usage(fmt.Errorf("--of %s: not one of %s, %s", of, ofPicture, ofPage))
	case of != "":
		return of == ofPicture, nil
	}
	return out == "svg" || out == string(render.PNG), nil
}

func writePicture(ctx context.Context, s State, svg, out, to string) error {
	content := []byte(svg + "\n")
	if out != "svg" {
		if to == "" && s.StdoutTerminal {
			return hintedUsage(fmt.Errorf("-o %s is nothing for a terminal", out), "name a file: --to overheads.%s", out)
		}
		var err error
		if content, err = render.Figure(ctx, svg, render.Format(out)); err != nil {
			return installHint(err)
		}
	}
	return s.deliver(to, out != "svg", func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// deliver writes a file whole, or not at all if an error occurs. If to is "", it writes to stdout. Binary content does
// not go through the text filter.
func (s State) deliver(to string, binary bool, write func(io.Writer) error) error {
	if to != "" {
		return writeWhole(to, write)
	}
	out := bufio.NewWriter(s.Stdout)
	if binary {
		out.Reset(s.binary)
	}
	if err := write(out); err != nil {
		return err
	}
	return out.Flush()
}

func renderPage(ctx context.Context, to, out string, write func(io.Writer) error) error {
	if err := render.Page(ctx, to, render.Format(out), write); err != nil {
		return fmt.Errorf("write %s: %w", to, installHint(err))
	}
	return os.Chmod(to, 0o644)
}

func installHint(err error) error {
	if missing, ok := errors.AsType[*render.MissingError](err); ok {
		return hinted(err, "install it with: %s", missing.Install)
	}
	return err
}

func writeWhole(to string, write func(io.Writer) error) error {
	f, err := owned.File(filepath.Dir(to), "output", "")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriter(f)
	err = write(w)
	// Without Sync, a power cut after the rename could leave an empty file.
	for _, finish := range []func() error{w.Flush, func() error { return f.Chmod(0o644) }, f.Sync} {
		if err == nil {
			err = finish()
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), to); err != nil {
		return err
	}
	return journal.SyncDir(filepath.Dir(to))
}

func (s State) page(to string, d *document.Document) error {
	if err := writeWhole(to, func(w io.Writer) error { return html.Write(w, d) }); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	fmt.Fprintln(s.Stdout, to)
	return nil
}

func newExport(s State) *cobra.Command {
	var as, to string
	names := each(export.Formats, func(f export.Format) string { return f.Name })
	lines := each(export.Formats, func(f export.Format) string { return fmt.Sprintf("  %-13s%s", f.Name, f.Doc) })
	c := &cobra.Command{
		Use:   "export [RUN] --as FORMAT",
		Short: "Write a run in the format of another program",
		Long: `Write a run in the format of another program, to stdout or a file. Without RUN,
the newest run below runs/.

` + strings.Join(lines, "\n") + `

docs/exports.md explains what is in each. A file is written whole or not at all.`,
		Example: `  tare export --as csv > trials.csv
  tare export runs/quickstart-20260102-150405 --as csv --to trials.csv
  tare export --as gobench > run.txt && benchstat -col /arm run.txt
  tare export --as openmetrics --to /var/lib/node_exporter/tare.prom
  tare export runs/quickstart-20260102-150405 --as bundle --to quickstart.tar.gz
  tare export runs/quickstart-20260102-150405 --as head --to quickstart-head.tar.gz`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			at := slices.Index(names, as)
			switch {
			case as == "":
				return hintedUsage(errors.New("--as is missing: it names the format"), "one of %s", strings.Join(names, ", "))
			case at < 0:
				return usage(fmt.Errorf("--as %s: not one of %s", as, strings.Join(names, ", ")))
			case export.Formats[at].Binary != "" && to == "" && s.StdoutTerminal:
				return hintedUsage(fmt.Errorf("%s is not written to a terminal", as), "name a file: --to %s", export.Formats[at].Binary)
			}
			f := export.Formats[at]
			run, result, err := openRun(args)
			if err != nil {
				return err
			}
			if f.Binary != "" { // an archive of the run
				if journal.IsArchive(run.Dir) {
					return usage(fmt.Errorf("%s is an archive already", run.Dir))
				}
				if damage, _ := checkPlan(run); damage != nil {
					return damage
				}
			}
			if info, err := os.Stat(to); err == nil && !info.Mode().IsRegular() {
				return hintedUsage(fmt.Errorf("--to %s is not a file", to), "without --to, stdout is written, which can be a pipe")
			}
			err = s.deliver(to, f.Binary != "", func(w io.Writer) error { return f.Write(w, export.Run{Record: run, Analysis: result}) })
			if err != nil && to != "" {
				return fmt.Errorf("cannot write %s: %w", to, err)
			}
			return err
		},
	}
	c.Flags().StringVar(&as, "as", "", "format: "+strings.Join(names, ", "))
	c.Flags().StringVar(&to, "to", "", "file to write (default stdout)")
	_ = c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return c
}
