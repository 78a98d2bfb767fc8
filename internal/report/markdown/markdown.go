// Package markdown writes documents as GitHub-flavoured Markdown. Strings of a document are escaped, so
// that they contain neither Markdown nor HTML.
package markdown

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/lists"
	"tare/internal/report/document"
	"tare/internal/text/safetext"
)

// Write writes a document.
func Write(w io.Writer, d *document.Document) error {
	m := &writer{out: bufio.NewWriter(w), level: max(d.Level, 1)}
	if d.Title != "" {
		m.heading(m.level, strings.TrimSpace(d.Style.Sign()+" "+d.Title))
	}
	if d.Lede != "" {
		m.paragraph(escape(d.Lede))
	}
	m.blocks(m.level+1, d.Blocks)
	if err := m.out.Flush(); err != nil {
		return fmt.Errorf("write markdown: %w", err)
	}
	return nil
}

// writer writes one document. An error of a write is returned only by Flush.
type writer struct {
	out   *bufio.Writer
	level int // level of the document's heading
	begun bool
}

// paragraph writes lines of markup, after an empty line.
func (m *writer) paragraph(lines ...string) {
	if m.begun {
		m.put("\n")
	}
	m.begun = true
	for _, l := range lines {
		m.put(l + "\n")
	}
}

func (m *writer) put(s string) { _, _ = m.out.WriteString(s) } // the final Flush returns the error

func (m *writer) heading(level int, title string) {
	m.paragraph(strings.Repeat("#", min(level, 6)) + " " + escape(title))
}

func (m *writer) blocks(level int, list []document.Block) {
	for _, b := range document.For(document.Markdown, list) {
		m.block(level, b)
	}
}

func (m *writer) block(level int, b document.Block) {
	switch b := b.(type) {
	case document.Section:
		m.section(level, b)
	case document.Paragraph:
		m.paragraph(text(b.Text))
	case document.List:
		m.list(b.Items, b.Numbered)
	case document.Alert:
		m.paragraph("**" + escape(b.Title) + "**")
		m.list(b.Items, false)
	case document.Answers:
		m.answers(b)
	case document.Facts:
		m.facts(b)
	case document.Table:
		m.table(level, b)
	case document.Code:
		m.code(b.Text)
	case document.Figure, document.Pair: // Markdown cannot show pictures
	}
}

func (m *writer) section(level int, s document.Section) {
	switch {
	case s.Title == "" || s.NoTitle.Has(document.Markdown):
		m.blocks(level, s.Blocks)
	case s.Fold.Has(document.Markdown):
		m.paragraph("<details><summary>" + escape(strings.Join(present(s.Title, s.Value, s.Note), " – ")) + "</summary>")
		m.blocks(level+1, s.Blocks)
		m.paragraph("</details>")
	default:
		m.heading(level, s.Title)
		if about := present(s.Value, s.Note); len(about) > 0 {
			m.paragraph(escape(strings.Join(about, " – ")))
		}
		m.blocks(level+1, s.Blocks)
	}
}

func present(parts ...string) []string {
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}

func (m *writer) list(items []document.Text, numbered bool) {
	if len(items) == 0 {
		return
	}
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = "- " + text(item)
		if numbered {
			lines[i] = fmt.Sprintf("%d. %s", i+1, text(item))
		}
	}
	m.paragraph(lines...)
}

func (m *writer) answers(a document.Answers) {
	var items []document.Text
	for _, one := range a.List {
		item := document.Text{}
		if sign, _ := one.Verdict.Sign(); sign != "" {
			item = append(item, document.Span{Words: sign + " "})
		}
		item = append(item, one.Text...)
		item = append(item, lists.Map(one.Causes, func(cause string) document.Span { return document.Span{Words: "; " + cause} })...)
		items = append(items, item)
	}
	m.list(items, false)
}

func (m *writer) facts(f document.Facts) {
	if len(f.List) == 0 {
		return
	}
	if f.Look == document.Keyed {
		rows := lists.Map(f.List, func(e document.Fact) document.Row { return document.Row{Cells: document.Cells(e.Key, e.Value)} })
		m.table(0, document.Simple(make([]document.Column, 2), rows))
		return
	}
	items := lists.Map(f.List, func(e document.Fact) document.Text {
		return document.Text{{Words: e.Key, Style: document.Strong}, {Words: ": "}, {Words: e.Value}}
	})
	m.list(items, false)
}

// code writes lines as a block of code. The fences around the block are longer than any fence in its lines.
func (m *writer) code(s string) {
	s = strings.TrimRight(safetext.Lines(s), "\n")
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	m.paragraph(fence, s, fence)
}

func (m *writer) table(level int, t document.Table) {
	if !t.Split {
		m.rows(t, t.Groups)
		return
	}
	for _, g := range t.Groups {
		if !g.Title.Empty() {
			m.heading(level, g.Title.String())
		}
		for _, note := range g.Notes {
			m.paragraph(escape(note))
		}
		m.rows(t, []document.Group{g})
	}
}

func (m *writer) rows(t document.Table, groups []document.Group) {
	columns := t.ColumnsIn(document.Markdown)
	head, rule := "|", "|"
	for _, i := range columns {
		head += " " + strings.TrimLeft(escape(t.Columns[i].Title)+" ", " ") + "|"
		if t.Columns[i].Right {
			rule += "--:|"
		} else {
			rule += "---|"
		}
	}
	lines, notes := []string{head, rule}, []document.Text(nil)
	for _, g := range groups {
		for _, p := range g.Parts {
			for _, note := range p.Notes {
				notes = append(notes, document.Words(strings.Join(present(p.Title.First(), note), ": ")))
			}
			for _, row := range p.Rows {
				line := "|"
				for _, i := range columns {
					var parts []string
					for _, l := range row.Cell(i).Lines {
						parts = append(parts, text(l))
					}
					line += " " + strings.Join(present(parts...), "; ") + " |"
				}
				lines = append(lines, line)
				for _, note := range row.Notes {
					notes = append(notes, document.Words(strings.Join(append(t.RowNames(document.Markdown, row), note), ": ")))
				}
			}
		}
	}
	if len(lines) > 2 {
		m.paragraph(lines...)
	}
	m.list(notes, false)
}

// special escapes the characters that have a meaning in Markdown or HTML anywhere in a line.
var special = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "#", `\#`,
	"!", `\!`, "$", `\$`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;", "://", "&#58;//", "www.", "www&#46;",
)

// escape returns any string as one line of Markdown without markup. The line may stand in a table.
func escape(s string) string { return special.Replace(safetext.Line(s)) }

func text(t document.Text) string {
	var b strings.Builder
	for _, s := range t {
		before, words, after := s.Trimmed(s.Style.Sign())
		b.WriteString(before + marked(s, words) + after)
	}
	return strings.TrimSpace(b.String())
}

func marked(s document.Span, words string) string {
	if words == "" {
		return ""
	}
	out := escape(words)
	switch s.Style {
	case document.Strong:
		out = "**" + out + "**"
	case document.Badge:
		out = "(" + out + ")"
	case document.Muted:
		out = "*" + out + "*"
	}
	if s.Link == "" || strings.HasPrefix(s.Link, "#") {
		return out
	}
	return link(out, s.Link)
}

// link links a label to a page of the web or to a file. Any other address is added as text.
func link(label, to string) string {
	address, ok := document.Address(to)
	if !ok {
		return label + ": " + escape(to)
	}
	safe := strings.NewReplacer("<", "%3C", ">", "%3E", "\\", "%5C", "\n", "", "\r", "").Replace(address)
	return "[" + label + "](<" + safe + ">)"
}
