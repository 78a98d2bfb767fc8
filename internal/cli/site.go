package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/report/serve"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
)

func newSite(s State) *cobra.Command {
	var to string
	var noRaw bool
	c := &cobra.Command{
		Use:   "site [DIR]",
		Short: "Write the pages of tare serve as files to publish",
		Long: `Write the runs below DIR (default runs/) as a static site: a list of them, their
reports, the comparison of each with the previous run, the history, and the files of each
run whose digests the record contains.

Links are relative, so that the site works wherever it is published, and the same
runs give the same files. A later site replaces an earlier one in the same directory;
other files there are never touched.`,
		Example: `  tare site
  tare site nightly --to public
  tare site nightly --to public --no-raw`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			library, err := openLibrary(args)
			if err != nil {
				return err
			}
			done, err := library.Site(c.Context(), to, !noRaw, func(run *journal.Run) error {
				damage, _ := checkPlan(run)
				return damage
			})
			var inTheWay *serve.InTheWay
			switch {
			case errors.As(err, &inTheWay):
				return hintedUsage(err, "name another directory with --to, or remove the file")
			case errors.Is(err, serve.ErrWithin):
				return hintedUsage(fmt.Errorf("--to %s: %w", to, err), "name a directory beside the runs")
			case err != nil:
				return fmt.Errorf("write the site: %w", err)
			}
			for _, skip := range done.Skipped {
				fmt.Fprintln(s.Stderr, "skipped "+skip.Directory+": "+skip.Reason)
			}
			fmt.Fprintf(s.Stderr, "%s, %s\n", wording.Count(done.Pages, "page", "pages"), wording.Count(done.Files, "file", "files"))
			fmt.Fprintln(s.Stdout, to)
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "site", "directory to write to")
	c.Flags().BoolVar(&noRaw, "no-raw", false, "leave out raw files, except their digests")
	return c
}
