package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/report/markdown"
	"tare/internal/report/tex"
	"tare/internal/report/text"
	"tare/internal/report/wording"
	"tare/internal/text/safetext"
)

// formats are the values of -o for commands that show a run.
var formats = []string{"table", "json", "yaml", "markdown", "tex", "csv"}

// addFormat adds the flag -o to a command. The flag accepts only the allowed values, and the first is the
// default.
func addFormat(c *cobra.Command, out *string, allowed ...string) {
	all := strings.Join(allowed, ", ")
	c.Flags().StringVarP(out, "output", "o", allowed[0], "output format: "+all)
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
	c.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(allowed, *out) {
			return usage(fmt.Errorf("-o %s: not one of %s", *out, all))
		}
		return nil
	}
}

// paged holds the flags -o and --to of a command that can write its result as a page.
type paged struct {
	out, to string
	page    string // the file if --to is not set
}

func (p *paged) add(c *cobra.Command) {
	c.Flags().StringVar(&p.to, "to", "", "file to write with -o html (default "+p.page+")")
	addFormat(c, &p.out, "table", "json", "yaml", "markdown", "tex", "csv", "html")
	known := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if err := known(c, args); err != nil {
			return err
		}
		if p.to != "" && p.out != "html" {
			return usage(fmt.Errorf("--to is for -o html; the output of -o %s goes to stdout", p.out))
		}
		return nil
	}
}

// file returns the file that a page is written to.
func (p *paged) file() string { return cmp.Or(p.to, p.page) }

// view prints a result in the format of -o: the value itself as JSON and YAML, its rows as CSV, and its
// document as text. For a page, it prints the name of the file.
func view[T any](s State, value T, p paged, csv func(io.Writer, T) error, of func(document.Forms) *document.Document) error {
	switch p.out {
	case "json", "yaml":
		return encode(s.Stdout, value, p.out)
	case "markdown":
		return markdown.Write(s.Stdout, of(document.Markdown))
	case "tex":
		return tex.Write(s.Stdout, of(document.Markdown))
	case "csv":
		return csv(s.Stdout, value)
	case "html":
		return s.page(p.file(), of(document.Page))
	}
	return text.Write(s.Stdout, of(document.Terminal), text.Options{Width: s.Width, Color: s.Color})
}

// show prints an analysed run on stdout.
func show(s State, r *analysis.Run, out string, all bool) error {
	return view(s, r, paged{out: out}, report.CSV, func(document.Forms) *document.Document {
		return report.Run(r, report.RunOptions{All: all})
	})
}

// encode prints a value as JSON or YAML. A result has its texts added.
func encode(w io.Writer, v any, out string) error {
	data, err := json.MarshalIndent(wording.JSON(v), "", "  ")
	if err != nil {
		return err
	}
	data = append(safetext.JSON(data), '\n')
	if out == "yaml" {
		if data, err = toYAML(data); err != nil {
			return err
		}
	}
	_, err = w.Write(data)
	return err
}
