package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/report/export"
)

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
  tare export runs/quickstart-20260102-150405 --as bundle --to quickstart.tar.gz`,
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
			if damage, _ := checkPlan(run); damage != nil && f.Name == "bundle" {
				return damage
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
