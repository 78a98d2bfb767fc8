package text

import (
	"slices"
	"strings"

	"tare/internal/report/columns"
	"tare/internal/report/document"
	"tare/internal/text/safetext"
)

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

// beside returns the n-th line of every cell of a row, side by side, and their total width.
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

// stacked writes a row that is too wide for one line. The cells up to the last name come first. The rest follows below,
// with column titles if the table shows titles.
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

const (
	minName      = 12 // least width of a column of names
	minNameAlone = 19 // least width of names in a table without drawings; rows with narrower names are stacked
	minDrawing   = 11
	maxDrawing   = 51
)

// grid is a table with the layout of its columns.
type grid struct {
	*writer
	document.Table
	indent string    // indent of a row
	side   []*column // columns side by side
	below  []int     // indices of the columns that hold sentences; these are written below the row
	draw   int       // index of the column of drawings; -1: none
	room   int       // width of a drawing in columns
	narrow bool      // rows are too wide and therefore stacked
	drawn  bool      // a drawing was written
}

type column struct {
	document.Column
	at     int    // index of the column in the table
	bare   bool   // the table shows no titles
	title  string // title, made safe for a terminal
	before string
	signed bool // some values have signs; the values without a sign are then indented
	values []string
	width  int
	names  map[string]string
}

// layOut finds the columns of a table and their widths. If rows are too wide, it shortens names. If rows are
// still too wide, it leaves out drawings.
func (t *writer) layOut(indent string, table document.Table) *grid {
	g := &grid{writer: t, Table: table, indent: indent, draw: -1}
	if slices.ContainsFunc(table.Parts(), func(p document.Part) bool { return !p.Title.Empty() }) {
		g.indent += "  "
	}
	for _, i := range table.ColumnsIn(document.Terminal) {
		switch table.Columns[i].Kind {
		case document.Drawing:
			g.draw = i
		case document.Prose:
			g.below = append(g.below, i)
		default:
			c := newColumn(table, i)
			switch {
			case len(g.side) == 0:
			case c.Tight:
				c.before = " "
			default:
				c.before = "  "
			}
			g.side = append(g.side, c)
		}
	}
	if g.draw >= 0 {
		g.naturalWidths(max(minName, t.o.Width/4))
		g.shorten(g.end()+2+minDrawing-t.o.Width, minName)
		if g.room = min(t.o.Width-g.end()-2, maxDrawing); g.room < minDrawing {
			g.draw = -1
		}
	}
	if g.draw < 0 {
		g.naturalWidths(t.o.Width)
		g.shorten(g.end()-t.o.Width, minNameAlone)
		if g.NoTitles && g.end() > t.o.Width { // the table is still too wide, so its rows take several lines
			g.naturalWidths(t.o.Width)
			g.shorten(g.end()-t.o.Width, max(minName, t.o.Width/3))
		}
	}
	if g.narrow = !g.NoTitles && g.end() > t.o.Width; g.narrow {
		g.naturalWidths(t.o.Width - len(g.indent))
	}
	for _, c := range g.side {
		if c.Kind == document.Name {
			c.names = columns.Abbreviate(c.values, c.width)
		}
	}
	return g
}

func newColumn(table document.Table, at int) *column {
	c := &column{Column: table.Columns[at], at: at, bare: table.NoTitles, title: safetext.Line(table.Columns[at].Title)}
	var lines []document.Text
	for _, part := range table.Parts() {
		for _, row := range part.Rows {
			lines = append(lines, row.Cell(at).Lines...)
		}
	}
	c.signed = !c.Right && !c.Signs && c.Kind == document.Value && slices.ContainsFunc(lines, func(t document.Text) bool {
		sign, _ := t.Sign()
		return sign != ""
	})
	for _, l := range lines {
		c.values = append(c.values, c.shown(l))
	}
	return c
}

// naturalWidths gives every column the width of its content. The width of a column of names is limited by the argument
// names.
func (g *grid) naturalWidths(names int) {
	for _, c := range g.side {
		c.width = 0
		if !g.NoTitles {
			c.width = columns.Width(c.title)
		}
		for _, v := range c.values {
			c.width = max(c.width, columns.Width(v))
		}
		if c.Kind == document.Name {
			c.width = min(c.width, names)
		}
	}
}

// shorten makes the columns of names narrower. excess is the width that all columns together must save, and least the
// smallest width of a column.
func (g *grid) shorten(excess, least int) {
	for _, c := range g.side {
		if c.Kind == document.Name {
			give := max(0, min(excess, c.width-least))
			c.width, excess = c.width-give, excess-give
		}
	}
}

func (g *grid) end() int {
	at := len(g.indent)
	for _, c := range g.side {
		at += len(c.before) + c.width
	}
	return at
}

func (c *column) filled(value, painted string) string {
	fill := strings.Repeat(" ", max(0, c.width-columns.Width(value)))
	if c.Right && !c.Tight {
		return c.before + fill + painted
	}
	return c.before + painted + fill
}

func (c *column) shown(text document.Text) string {
	value := line(text)
	sign, _ := text.Sign()
	switch {
	case c.Signs && sign != "":
		return sign
	case c.signed && sign == "":
		return "  " + value
	case c.bare && c.Label != "" && value != "":
		return c.Label + " " + value
	}
	return value
}

func (c *column) value(row document.Row, n int) (string, document.Style) {
	lines := row.Cell(c.at).Lines
	if n >= len(lines) {
		return "", document.Plain
	}
	value, style := c.shown(lines[n]), document.Plain
	if short, ok := c.names[value]; ok {
		value = short
	}
	if row.Muted {
		style = document.Muted
	}
	if i := slices.IndexFunc(lines[n], func(s document.Span) bool { return s.Style != document.Plain }); i >= 0 {
		style = lines[n][i].Style
	}
	return value, style
}
