package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"tare/analysis"
	"tare/report"
)

// formats are the values of -o where a run is shown.
var formats = []string{"table", "json", "yaml", "markdown", "csv"}

func addFormat(c *cobra.Command, out *string, allowed ...string) {
	if allowed == nil {
		allowed = formats
	}
	c.Flags().StringVarP(out, "output", "o", "table", "output format: "+strings.Join(allowed, ", "))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

func checkFormat(out string, allowed ...string) error {
	if allowed == nil {
		allowed = formats
	}
	if !slices.Contains(allowed, out) {
		return usage(fmt.Errorf("-o %s: not one of %s", out, strings.Join(allowed, ", ")))
	}
	return nil
}

// show prints an analysed run on stdout.
func show(s State, r *analysis.Run, out string, all bool) error {
	switch out {
	case "json", "yaml":
		return encode(s.Stdout, r, out)
	case "markdown":
		return report.Markdown(s.Stdout, r)
	case "csv":
		return report.CSV(s.Stdout, r)
	}
	return report.Text(s.Stdout, r, report.TextOptions{Width: s.Width, Color: s.Color, All: all})
}

// encode prints a value as JSON or YAML.
func encode(w io.Writer, v any, out string) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if out == "yaml" {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
