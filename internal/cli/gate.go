package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/report/markdown"
	"tare/internal/run/journal"
	"tare/internal/runs/gate"
	"tare/internal/runs/history"
)

type gateFlags struct {
	budgets               []string
	against, anchor       string
	accept                string
	observational         bool
	junit, markdown, link string
	out                   string
}

func newGate(s State) *cobra.Command {
	var f gateFlags
	c := &cobra.Command{
		Use:   "gate [RUN]...",
		Short: "Pass or fail a run by its budgets",
		Long: `Pass or fail a run by its budgets: those of the experiment file, and those of
--budget, which add to them or replace them. A limit is a share of the baseline
(10%) or an amount in the metric's unit (1ms, 5MiB, 200Mbit/s). It applies to every
arm and cell unless it names some: ARM:METRIC@CELL, where CELL may be a pattern
such as network.tcp.*. Without RUN, the newest run below runs/.

A budget is kept if the whole interval lies within the limit. It is exceeded if the
overhead is shown to be above it, corrected for the number of budgets. Otherwise it is
not resolved, and the output states the number of rounds that would resolve it. An arm
whose program fails more often than the baseline's fails the gate, unless it has a budget
of failures, such as failures=10%.

With --against, budgets limit how much worse a run may be than the earlier runs
below a directory: those since the last change, and the first ones.

For several runs of one experiment, budgets limit the mean overhead over occasions,
as in tare combine.

Exit codes: 0 all kept, 3 any exceeded, 4 none exceeded but some not resolved,
5 the run gives no verdicts, or is not finished.`,
		Example: `  tare gate
  tare gate runs/wireguard-20260102-150405 --budget tcp-bandwidth=10% --budget wireguard:tcp-rtt=50us
  tare gate --budget 'tcp-rtt@network.tcp.*=1ms'
  tare gate --junit gate.xml --markdown "$GITHUB_STEP_SUMMARY"
  tare gate --against history --budget tcp-bandwidth=3%
  tare gate nightly/* --budget tcp-bandwidth=10%
  tare gate -o json | jq -r '.cases[] | select(.outcome != "pass") | [.arm, .metric.name, .reason] | @tsv'`,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if f.accept != "" && f.accept != string(analysis.Normal) {
				return hintedUsage(fmt.Errorf("--accept %s: no such grade", f.accept), "the one that can be accepted is %s", analysis.Normal)
			}
			if len(args) > 1 {
				return f.runOver(s, args)
			}
			if f.anchor != "" && f.against == "" {
				return usage(errors.New("--anchor is for --against: it names one of its runs"))
			}
			run, result, err := openRun(args)
			if err != nil {
				return err
			}
			r, err := f.judge(c.Context(), s, run, result)
			if err != nil {
				return f.explain(run.Plan, err)
			}
			return f.show(s, r, run.Dir)
		},
	}
	c.Flags().StringArrayVar(&f.budgets, "budget", nil, "[ARM:]METRIC[@CELL]=LIMIT, instead of the file's; may be repeated")
	c.Flags().StringVar(&f.against, "against", "", "directory with earlier runs; this run must not be worse")
	c.Flags().StringVar(&f.anchor, "anchor", "", "with --against: the first reference run, if a change was accepted there")
	c.Flags().BoolVar(&f.observational, "observational", false, "also judge a run whose arms did not run in rounds of random order")
	c.Flags().StringVar(&f.accept, "accept", "", "normal: also decide with very few values, which is correct if noise is normal")
	c.Flags().StringVar(&f.junit, "junit", "", "additional file to write, as JUnit XML")
	c.Flags().StringVar(&f.markdown, "markdown", "", "file to write as Markdown; the file in $GITHUB_STEP_SUMMARY is appended to")
	c.Flags().StringVar(&f.link, "link", "", "URL of the report, for Markdown (default the path of report.html)")
	_ = c.RegisterFlagCompletionFunc("budget", completeBudgets)
	_ = c.RegisterFlagCompletionFunc("anchor", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return runsBelow(cmp.Or(f.against, journal.DefaultRoot))
	})
	_ = c.MarkFlagDirname("against")
	addFormat(c, &f.out, "table", "json", "yaml", "markdown", "junit", "csv")
	return c
}

func (f *gateFlags) runOver(s State, dirs []string) error {
	if f.against != "" || f.anchor != "" {
		return usage(errors.New("--against and --anchor are for a single run"))
	}
	combined, err := combineRuns(dirs)
	if err != nil {
		return err
	}
	var r *gate.Result
	limits, err := f.limits(combined.Plan)
	if err == nil {
		r, err = gate.Over(combined, limits, gate.Options{Observational: f.observational})
	}
	if err != nil {
		return f.explain(combined.Plan, err)
	}
	return f.show(s, r, "")
}

func (f *gateFlags) limits(plan *experiment.Plan) (*gate.Limits, error) {
	limits := gate.LimitsOf(plan)
	for _, text := range f.budgets {
		if err := limits.Add(text); err != nil {
			return nil, err
		}
	}
	return limits, nil
}

func (f *gateFlags) judge(ctx context.Context, s State, run *journal.Run, result *analysis.Run) (*gate.Result, error) {
	limits, err := f.limits(run.Plan)
	if err != nil {
		return nil, err
	}
	o := gate.Options{Observational: f.observational, Normal: f.accept == string(analysis.Normal)}
	if f.against == "" {
		return gate.Run(result, run.Trials, limits, o)
	}
	if info, err := os.Stat(f.against); err != nil || !info.IsDir() {
		return nil, hintedUsage(fmt.Errorf("--against %s: not a directory", f.against), "it is a directory below which earlier runs are, such as runs")
	}
	runs, skipped, err := readHistory(ctx, s, f.against)
	if err != nil {
		return nil, err
	}
	h := history.New(runs, skipped, history.Options{})
	growths, err := h.Growth(history.Of(run), f.anchor)
	if err != nil {
		return nil, usage(err)
	}
	return gate.Against(result, run.Trials, growths, limits, f.against, h.Confidence, o)
}

func (f *gateFlags) explain(plan *experiment.Plan, err error) error {
	limit, wrong := errors.AsType[*gate.LimitError](err)
	switch {
	case wrong:
		return hintedUsage(err, "%s", limit.Hint)
	case errors.Is(err, gate.ErrNoBudget) && f.against == "" && plan.ArmWith(experiment.Treatment) == "":
		return hintedUsage(errors.New("the run has no arm to compare with its baseline"), "tare gate --against DIR compares it with earlier runs")
	case errors.Is(err, gate.ErrNoBudget):
		return hintedUsage(err, "put budget: into the experiment file, or give --budget METRIC=LIMIT; metrics: %s", strings.Join(gate.LimitsOf(plan).Metrics(), ", "))
	}
	return err
}

// show writes the files of --junit and --markdown, and prints the result. The outcome becomes the exit code.
func (f *gateFlags) show(s State, r *gate.Result, dir string) error {
	link := f.link
	if report := filepath.Join(dir, reportFile); dir != "" && link == "" && exists(report) {
		link = filepath.ToSlash(report)
	}
	if f.junit != "" {
		if err := writeWhole(f.junit, func(w io.Writer) error { return report.GateJUnit(w, r) }); err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	if f.markdown != "" {
		if err := writeSummary(f.markdown, func(w io.Writer) error { return markdown.Write(w, report.Gate(r, link)) }); err != nil {
			return fmt.Errorf("--markdown: %w", err)
		}
	}
	var err error
	if f.out == "junit" {
		err = report.GateJUnit(s.Stdout, r)
	} else {
		err = view(s, r, paged{out: f.out}, report.GateCSV, func(form document.Forms) *document.Document {
			if form == document.Terminal {
				link = ""
			}
			return report.Gate(r, link)
		})
	}
	if err != nil || r.Outcome == gate.Pass {
		return err
	}
	codes := map[gate.Outcome]exit{gate.Fail: exitFailed, gate.Invalid: ExitInvalid}
	return cmp.Or(codes[r.Outcome], exitUnresolved)
}

// writeSummary writes to the file to. The file in which GitHub collects the summaries of a job's steps is appended to.
// Any other file is replaced.
func writeSummary(to string, write func(io.Writer) error) error {
	if to != os.Getenv("GITHUB_STEP_SUMMARY") {
		return writeWhole(to, write)
	}
	file, err := os.OpenFile(to, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func completeBudgets(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	plan := planNamed(args)
	names := gate.LimitsOf(&plan).Metrics()
	if metric, _, cells := strings.Cut(begun, "@"); cells {
		names = each(plan.Cells, func(c experiment.Cell) string { return metric + "@" + c.ID })
	}
	return each(names, func(name string) string { return name + "=" }), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// gateWarning returns a warning if a plan has too few rounds for tare gate, and otherwise "".
func gateWarning(p *experiment.Plan) string {
	cases, pass, fail := gate.Fewest(p)
	if cases == 0 || p.Rounds >= fail {
		return ""
	}
	rounds := counted(p.Rounds, "round")
	if p.Precision > 0 {
		rounds = "the " + rounds + " of the pilot"
	}
	what := "pass but never fail"
	if p.Rounds < pass {
		what = "neither pass nor fail"
	}
	return fmt.Sprintf("after %s tare gate can %s: with budgets on %s it can fail from %d rounds on", rounds, what, counted(cases, "comparison"), fail)
}
