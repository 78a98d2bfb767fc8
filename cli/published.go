package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tare/analysis"
	"tare/journal"
	"tare/published"
	"tare/report"
	"tare/report/markdown"
)

// asPublished is the value of show --as.
const asPublished = "published"

// publishedFlags are those of the published table.
type publishedFlags struct {
	published.Options
	all bool // exploratory metrics too, where people read it
}

func (f *publishedFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.Reference, "reference", "", "arm whose differences the published table shows (default: all pairs of up to four arms)")
	_ = c.RegisterFlagCompletionFunc("reference", completeArms)
	c.Flags().BoolVar(&f.WithInvalid, "with-invalid", false, "take invalid trials into the published table, as tables do that check no errors")
}

// refuse is an error where the flags are given without the table.
func (f *publishedFlags) refuse(c *cobra.Command, flag string) error {
	names := []string{"reference", "with-invalid"}
	if flag == "--published" { // tare show has --all for itself
		names = append(names, "all")
	}
	for _, name := range names {
		if c.Flags().Changed(name) {
			return hintedUsage(fmt.Errorf("--%s is about the published table", name), "add %s", flag)
		}
	}
	return nil
}

// shown is what people are shown of a table; programs get all of it.
func (f *publishedFlags) shown(t *published.Table) *published.Table {
	if f.all {
		return t
	}
	return t.Headline()
}

// table makes the published table of a run.
func (f *publishedFlags) table(run *journal.Run, result *analysis.Run) (*published.Table, error) {
	t, err := published.Of(result, run.Trials, f.Options)
	return t, usage(err)
}

// showPublished prints the published table.
func showPublished(s State, t *published.Table, out string, flags *publishedFlags) error {
	switch out {
	case "json", "yaml":
		return encode(s.Stdout, t, out)
	case "markdown":
		return markdown.Write(s.Stdout, report.Published(flags.shown(t)))
	case "csv":
		return report.PublishedCSV(s.Stdout, t)
	}
	return s.show(report.Published(flags.shown(t)))
}

// checkAs checks the value of show --as.
func checkAs(as string) error {
	if as == "" || as == asPublished {
		return nil
	}
	return hintedUsage(errors.New("--as "+as+": not known"), "--as published is the table of means and variances that write-ups print")
}
