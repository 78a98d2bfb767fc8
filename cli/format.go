package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/analysis"
	"tare/report"
	"tare/report/document"
	"tare/report/markdown"
	"tare/report/tex"
	"tare/report/text"
	"tare/safetext"
	"tare/wording"
)

// formats are the values of -o where a run is shown.
var formats = []string{"table", "json", "yaml", "markdown", "tex", "csv"}

// addFormat adds the flag -o to a command, which refuses other values than those
// allowed; the first one is the default.
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

// view is a result in the forms in which commands print it.
type view struct {
	value any // for JSON and YAML
	// document is for people: on a terminal, or in Markdown.
	document func(terminal bool) *document.Document
	csv      func(io.Writer) error
}

// print prints a view in a format of -o.
func (s State) print(v view, out string) error {
	switch out {
	case "json", "yaml":
		return encode(s.Stdout, v.value, out)
	case "markdown":
		return markdown.Write(s.Stdout, v.document(false))
	case "tex":
		return tex.Write(s.Stdout, v.document(false))
	case "csv":
		return v.csv(s.Stdout)
	}
	return text.Write(s.Stdout, v.document(true), text.Options{Width: s.Width, Color: s.Color})
}

// show prints an analysed run on stdout.
func show(s State, r *analysis.Run, out string, all bool) error {
	return s.print(view{
		value:    r,
		document: func(terminal bool) *document.Document { return report.Run(r, report.RunOptions{All: all && terminal}) },
		csv:      func(w io.Writer) error { return report.CSV(w, r) },
	}, out)
}

// encode prints a value as JSON or YAML, a result with its words.
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
