// Package tex writes the tables of documents for papers, as LaTeX with the package booktabs. An Alert stands before the
// tables, and notes of rows stand below. A paper has no room for other blocks. Strings are escaped, so that they
// contain no commands.
package tex

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"tare/internal/lists"
	"tare/internal/report/document"
	"tare/internal/text/safetext"
)

// Write writes the tables of a document.
func Write(w io.Writer, d *document.Document) error {
	t := &writer{out: bufio.NewWriter(w), title: d.Title}
	t.put("%% %s\n%% \\usepackage{booktabs}\n", escape(d.Title))
	t.blocks(d.Title, d.Blocks)
	if err := t.out.Flush(); err != nil {
		return fmt.Errorf("write LaTeX: %w", err)
	}
	return nil
}

// writer writes one document. If a write fails, only Flush returns the error.
type writer struct {
	out   *bufio.Writer
	title string
}

func (t *writer) put(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format, args...) } // the final Flush returns the error

// blocks writes the blocks below a heading. A LaTeX document shows the same blocks as a Markdown document.
func (t *writer) blocks(heading string, list []document.Block) {
	for _, b := range document.For(document.Markdown, list) {
		switch b := b.(type) {
		case document.Section:
			t.blocks(cmp.Or(b.Title, heading), b.Blocks)
		case document.Alert:
			items := lists.Map(b.Items, func(item document.Text) string { return escape(item.String()) })
			t.put("\n\\noindent\\textbf{%s} %s\n", escape(b.Title), strings.Join(items, "; "))
		case document.Table:
			t.table(heading, b)
		}
	}
}

func (t *writer) table(heading string, table document.Table) {
	if !table.Split {
		t.rows(heading, table, table.Groups)
		return
	}
	for _, g := range table.Groups {
		of := heading
		if !g.Title.Empty() {
			of += ", " + g.Title.String()
		}
		t.rows(of, table, []document.Group{g})
	}
}

func (t *writer) rows(heading string, table document.Table, groups []document.Group) {
	columns := table.ColumnsIn(document.Markdown)
	var kinds string
	var titles, notes []string
	for _, i := range columns {
		kind := "l"
		if table.Columns[i].Right {
			kind = "r"
		}
		kinds += kind
		titles = append(titles, escape(table.Columns[i].Title))
	}
	caption := heading
	if heading != t.title {
		caption = t.title + ": " + heading
	}
	t.put("\n\\begin{table}\n\\centering\n\\caption{%s}\n\\begin{tabular}{%s}\n\\toprule\n%s \\\\\n", escape(caption), kinds, strings.Join(titles, " & "))
	for _, g := range groups {
		notes = append(notes, g.Notes...)
		for _, p := range g.Parts {
			notes = append(notes, p.Notes...)
			t.put("\\midrule\n")
			for _, row := range p.Rows {
				cells := lists.Map(columns, func(column int) string { return lines(row.Cell(column)) })
				t.put("%s \\\\\n", strings.Join(cells, " & "))
				for _, note := range row.Notes {
					notes = append(notes, strings.Join(table.RowNames(document.Markdown, row), ", ")+": "+note)
				}
			}
		}
	}
	t.put("\\bottomrule\n\\end{tabular}\n")
	for _, note := range notes {
		t.put("\\par\\footnotesize %s\n", escape(note))
	}
	t.put("\\end{table}\n")
}

// special escapes characters that mean something in LaTeX, or are only in its mathematical fonts. A bracket or star
// that begins a row would be an option of the row before.
var special = strings.NewReplacer(
	`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `_`, `\_`, `%`, `\%`,
	`~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `|`, `\textbar{}`,
	`"`, `''`, "`", `\textasciigrave{}`, `[`, `{[}`, `]`, `{]}`, `*`, `{*}`, `--`, `-{}-{}`,
	"−", "$-$", "±", `$\pm$`, "×", `$\times$`, "≈", `$\approx$`, "≤", `$\leq$`, "≥", `$\geq$`, "→", `$\to$`,
	"µ", `$\mu$`, "μ", `$\mu$`, "δ", `$\delta$`, "σ", `$\sigma$`, "–", "--", "…", `\dots{}`, "\u00a0", "~", "\u202f", `\,`,
)

// escape makes any string inert as text on one line of LaTeX.
func escape(s string) string { return special.Replace(safetext.Line(s)) }

// lines writes the lines of a cell as one line, without the signs of verdicts.
func lines(c document.Cell) string {
	var parts []string
	for _, line := range c.Lines {
		if text := strings.TrimSpace(line.String()); text != "" {
			parts = append(parts, escape(text))
		}
	}
	return strings.Join(parts, "; ")
}
