package text

import (
	"strings"

	"tare/internal/report/columns"
	"tare/internal/report/document"
)

// table writes a table: the titles of groups and parts, and the rows below.
func (t *writer) table(indent string, table document.Table) {
	g := t.layOut(indent+"  ", table)
	for _, group := range table.Groups {
		if !group.Title.Empty() {
			t.gap()
			t.heading(indent, words(group.Title))
		}
		for _, note := range group.Notes {
			t.para(indent+"  ", note)
		}
		for _, part := range group.Parts {
			g.part(indent+"  ", part)
		}
	}
	if g.drawn && table.Key != "" {
		t.gap()
		t.para(indent, table.Key)
	}
}

// part writes the title of a part with the axis of its drawings, and its rows.
func (g *grid) part(indent string, part document.Part) {
	title, at := line(part.Title), g.end()+2
	axis := ""
	if g.draw >= 0 && part.Axis != nil {
		axis, g.drawn = part.Axis(g.room), true
	}
	switch {
	case part.Above != nil:
		g.para(indent, title)
		for _, l := range part.Above(g.o.Width - len(indent) - 2) {
			if l = strings.TrimRight(l, " "); columns.Width(l) > g.o.Width-len(indent)-2 {
				g.para(indent+"  ", l)
				continue
			}
			g.line(indent + "  " + l)
		}
		if axis != "" {
			g.line(columns.Pad("", at) + axis)
		}
	case axis != "" && len(indent)+columns.Width(title)+2 <= at:
		g.line(columns.Pad(indent+title, at) + axis)
	case axis != "":
		g.para(indent, title)
		g.line(columns.Pad("", at) + axis)
	case title != "":
		g.para(indent, title)
	}
	for _, note := range part.Notes {
		g.para(indent+"  ", note)
	}
	if !g.NoTitles && !g.narrow && len(part.Rows) > 0 {
		head := g.indent
		for _, c := range g.side {
			title := columns.Shorten(c.title, c.width, columns.Ellipsis)
			head += c.filled(title, title)
		}
		g.line(g.paint(document.Muted, strings.TrimRight(head, " ")))
	}
	for _, row := range part.Rows {
		g.row(row)
	}
}

// row writes the cells of a row side by side if they fit, else one below the other. Sentences and notes
// follow.
func (g *grid) row(row document.Row) {
	height := 1
	for _, c := range g.side {
		height = max(height, len(row.Cell(c.at).Lines))
	}
	lines, fits := make([]string, height), !g.narrow
	for n := range lines {
		line, width := g.beside(row, n)
		lines[n], fits = line, fits && width <= g.o.Width
	}
	if fits {
		for _, l := range lines {
			g.line(l)
		}
	} else {
		g.stacked(row)
	}
	for _, i := range g.below {
		for _, l := range row.Cell(i).Lines {
			g.para(g.indent+"  ", words(l))
		}
	}
	for _, note := range row.Notes {
		g.para(g.indent+"  ", note)
	}
}

// beside joins the n-th lines of a row's cells, and returns their width.
func (g *grid) beside(row document.Row, n int) (painted string, width int) {
	plain := g.indent
	painted = plain
	for _, c := range g.side {
		value, style := c.value(row, n)
		plain += c.filled(value, value)
		painted += c.filled(value, g.paint(style, value))
	}
	if draw := row.Cell(g.draw).Draw; n == 0 && draw != nil {
		drawn := "  " + draw(g.room)
		plain, painted = plain+drawn, painted+drawn
	}
	return painted, columns.Width(strings.TrimRight(plain, " "))
}

// stacked writes a row that is too wide. The cells up to the last name come first, then the other cells
// below them, with the titles of their columns if the table shows titles.
func (g *grid) stacked(row document.Row) {
	names, title, head := 0, 0, ""
	for k, c := range g.side {
		if c.Kind == document.Name {
			names, title = k+1, 0
		} else {
			title = max(title, columns.Width(c.title))
		}
	}
	var short []string // values that share one paragraph
	var below []func()
	for k, c := range g.side {
		var values []string
		for n := range row.Cell(c.at).Lines {
			value, style := c.value(row, n)
			if k < names {
				value = g.paint(style, value)
			}
			values = append(values, value)
		}
		all := strings.Join(values, "  ")
		switch {
		case all == "":
		case k < names:
			head += all + "  "
		case !g.NoTitles:
			below = append(below, func() { g.fact(g.indent+"  ", columns.Pad(c.title, title), all) })
		case len(values) == 1:
			short = append(short, all)
		default:
			for _, v := range values {
				below = append(below, func() { g.para(g.indent+"  ", v) })
			}
		}
	}
	g.line(g.indent + strings.TrimRight(head, " "))
	g.para(g.indent+"  ", strings.Join(short, " "))
	for _, write := range below {
		write()
	}
}
