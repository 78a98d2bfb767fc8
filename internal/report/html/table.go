package html

import (
	"strconv"
	"strings"

	"tare/internal/report/document"
)

func (p *page) table(t document.Table) {
	columns := t.ColumnsIn(document.Page)
	across := `td colspan="` + strconv.Itoa(len(columns)) + `"`
	line := func(class, markup string) { p.element(`tr class="`+class+`"`, around(across, markup)) }
	remarks := func(list []string) {
		for _, note := range list {
			line("aside", prose(note))
		}
	}
	p.put(`<div class="scroll"><table`)
	class := ""
	if t.Dense {
		class = "dense"
	}
	if t.Matrix {
		class = strings.TrimSpace(class + " matrix")
	}
	if class != "" {
		p.put(` class="` + class + `"`)
	}
	p.put(">\n<thead><tr>")
	for _, i := range columns {
		tag := "th"
		if t.Columns[i].Right {
			tag = `th class="n"`
		}
		p.put(around(tag, escape(t.Columns[i].Title)))
	}
	p.put("</tr></thead>\n<tbody>\n")
	for _, g := range t.Groups {
		if !g.Title.Empty() {
			line("cell", text(g.Title))
		}
		remarks(g.Notes)
		for _, part := range g.Parts {
			if !part.Title.Empty() {
				line("metric", text(part.Title))
			}
			remarks(part.Notes)
			for _, row := range part.Rows {
				p.row(t, columns, row, !part.Title.Empty())
				remarks(row.Notes)
			}
		}
	}
	p.put("</tbody></table></div>\n")
}

func (p *page) row(t document.Table, columns []int, row document.Row, indented bool) {
	p.put("<tr")
	if row.Muted {
		p.put(` class="control"`)
	}
	p.put(">")
	for k, i := range columns {
		p.put(around(cellTag(t.Columns[i], row.Cell(i).Shade, indented && k == 0), lines(row.Cell(i).Lines)))
	}
	p.put("</tr>\n")
}

func cellTag(c document.Column, shade int, indented bool) string {
	class := map[document.Kind]string{document.Name: "name", document.Prose: "text"}[c.Kind]
	switch {
	case c.Right:
		class = "n"
	case c.NoBreak:
		class = "n left"
	}
	if indented {
		class += " arm"
	}
	switch {
	case shade > 0:
		class += " cost" + strconv.Itoa(min(shade, 3))
	case shade < 0:
		class += " gain" + strconv.Itoa(min(-shade, 3))
	}
	if class == "" {
		return "td"
	}
	return `td class="` + class + `"`
}

func lines(list []document.Text) string {
	if len(list) == 1 {
		return text(list[0])
	}
	markup := ""
	for _, l := range list {
		markup += around("div", text(l))
	}
	return markup
}
