package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/cobra"

	"tare/analysis"
	"tare/report"
	"tare/report/document"
	"tare/report/markdown"
	"tare/report/text"
	"tare/safetext"
	"tare/wording"
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
		return markdown.Write(s.Stdout, report.Run(r, report.RunOptions{}))
	case "csv":
		return report.CSV(s.Stdout, r)
	}
	return s.show(report.Run(r, report.RunOptions{All: all}))
}

// show prints a document for a person.
func (s State) show(d *document.Document) error {
	return text.Write(s.Stdout, d, text.Options{Width: s.Width, Color: s.Color})
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

// toYAML writes a JSON document as YAML that says the same: in quotes, with
// escapes, what the encoder would write as it is, although it is not safe on a
// terminal or not read back.
func toYAML(document []byte) ([]byte, error) {
	var v any
	if err := yaml.UnmarshalWithOptions(document, &v, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	node, err := yaml.ValueToNode(v)
	if err != nil {
		return nil, err
	}
	ast.Walk(quoting{}, node)
	return []byte(node.String() + "\n"), nil
}

// quoting puts strings into quotes that need escapes. Of white space a value may
// hold line feeds besides, which make it a block.
type quoting struct{}

func (q quoting) Visit(node ast.Node) ast.Visitor {
	switch node := node.(type) {
	case *ast.MappingValueNode:
		if key, ok := node.Key.(*ast.StringNode); ok && strings.Contains(key.Value, "\n") {
			key.Token.Type = token.DoubleQuoteType
		}
	case *ast.StringNode:
		if lines := strings.ReplaceAll(node.Value, "\n", ""); lines == "" || !safetext.Printable(lines) {
			node.Token.Type = token.DoubleQuoteType
		}
	}
	return q
}
