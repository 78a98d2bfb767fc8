package text

import (
	"slices"
	"strings"

	"tare/report/columns"
	"tare/report/document"
	"tare/safetext"
)

const (
	leastName    = 12 // columns that names of rows are shortened to at most
	leastDrawing = 11
	mostDrawing  = 51
)

// grid is a table under way: which columns stand side by side, and how wide.
type grid struct {
	*writer
	document.Table
	indent string // of a row
	side   []int  // columns beside each other
	below  []int  // sentences, below the row
	draw   int    // the column of drawings; -1: none
	room   int    // for a drawing
	widths map[int]int
	names  map[int]map[string]string // shortened, by column
	signed map[int]bool              // columns whose values have signs
	narrow bool                      // no row fits
	drawn  bool                      // there is a drawing
}

// table writes a table: the titles of groups and parts, and the rows below.
func (t *writer) table(indent string, table document.Table) {
	g := &grid{writer: t, Table: table, indent: indent + "  ", draw: -1, widths: map[int]int{}, names: map[int]map[string]string{},
		signed: map[int]bool{}}
	if g.titled() {
		g.indent += "  "
	}
	g.measure()
	for _, group := range table.Groups {
		if !group.Title.Empty() {
			t.gap()
			for _, l := range columns.Wrap(safetext.Line(words(group.Title)), t.o.Width-len(indent)) {
				t.line(indent + t.paint(document.Strong, l))
			}
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

// titled says whether rows stand below titles of parts.
func (g *grid) titled() bool {
	for _, group := range g.Groups {
		for _, part := range group.Parts {
			if !part.Title.Empty() {
				return true
			}
		}
	}
	return false
}

// measure finds the widths of the columns. Where there is not enough room, names
// give way, then drawings.
func (g *grid) measure() {
	for _, i := range g.ColumnsIn(document.Terminal) {
		switch g.Columns[i].Kind {
		case document.Drawing:
			g.draw = i
		case document.Prose:
			g.below = append(g.below, i)
		default:
			g.side = append(g.side, i)
			g.signed[i] = g.signs(i)
		}
	}
	if g.draw >= 0 {
		g.natural(max(leastName, g.o.Width/4))
		g.shorten(g.end()+2+leastDrawing-g.o.Width, leastName)
		if g.room = min(g.o.Width-g.end()-2, mostDrawing); g.room < leastDrawing {
			g.draw = -1
		}
	}
	if g.draw < 0 {
		g.natural(g.o.Width)
		g.shorten(g.end()-g.o.Width, leastName)
		if g.Bare && g.end() > g.o.Width { // rows that do not fit are written over several lines
			g.natural(g.o.Width)
			g.shorten(g.end()-g.o.Width, max(leastName, g.o.Width/3))
		}
	}
	if g.narrow = !g.Bare && g.end() > g.o.Width; g.narrow {
		g.natural(g.o.Width - len(g.indent))
	}
	for _, i := range g.side {
		if g.Columns[i].Kind == document.Name {
			g.names[i] = columns.Abbreviate(g.values(i), g.widths[i])
		}
	}
}

// natural gives every column the width of what stands in it, names at most so
// much.
func (g *grid) natural(names int) {
	for _, i := range g.side {
		if g.widths[i] = g.widest(i); g.Columns[i].Kind == document.Name {
			g.widths[i] = min(g.widths[i], names)
		}
	}
}

// shorten makes names narrower by over columns in all, but not below the least
// width.
func (g *grid) shorten(over, least int) {
	for _, i := range g.side {
		if g.Columns[i].Kind == document.Name {
			give := max(0, min(over, g.widths[i]-least))
			g.widths[i] -= give
			over -= give
		}
	}
}

// end is where the columns that stand side by side end.
func (g *grid) end() int {
	at := len(g.indent)
	for k, i := range g.side {
		at += g.widths[i]
		if k > 0 {
			at += g.space(i)
		}
	}
	return at
}

// space is what stands before a column.
func (g *grid) space(column int) int {
	if g.Columns[column].Tight {
		return 1
	}
	return 2
}

// signs says whether values of a column that is aligned to the left have signs.
// The others are indented like those.
func (g *grid) signs(column int) bool {
	if c := g.Columns[column]; c.Right || c.Signs || c.Kind != document.Value {
		return false
	}
	for _, group := range g.Groups {
		for _, part := range group.Parts {
			for _, row := range part.Rows {
				if slices.ContainsFunc(row.Cell(column).Lines, hasSign) {
					return true
				}
			}
		}
	}
	return false
}

// hasSign says whether a text holds a verdict with a sign.
func hasSign(t document.Text) bool {
	return slices.ContainsFunc(t, func(s document.Span) bool { return s.Style.Sign() != "" })
}

// title is the title of a column.
func (g *grid) title(column int) string { return safetext.Line(g.Columns[column].Title) }

// values are the lines of a column's cells.
func (g *grid) values(column int) []string {
	var list []string
	for _, group := range g.Groups {
		for _, part := range group.Parts {
			for _, row := range part.Rows {
				for _, line := range row.Cell(column).Lines {
					list = append(list, g.shown(column, line))
				}
			}
		}
	}
	return list
}

// widest is how wide a column is.
func (g *grid) widest(column int) int {
	n := 0
	if !g.Bare {
		n = columns.Width(g.title(column))
	}
	for _, v := range g.values(column) {
		n = max(n, columns.Width(v))
	}
	return n
}

// shown is a line of a cell as a terminal shows it.
func (g *grid) shown(column int, line document.Text) string {
	if g.Columns[column].Signs {
		for _, s := range line {
			if sign := s.Style.Sign(); sign != "" {
				return sign
			}
		}
	}
	value := safetext.Line(words(line))
	if g.signed[column] && !hasSign(line) {
		return "  " + value
	}
	if label := g.Columns[column].Label; g.Bare && label != "" && value != "" {
		return label + " " + value
	}
	return value
}

// part writes the title of a part with the axis of its drawings, and its rows.
func (g *grid) part(indent string, part document.Part) {
	title, at := safetext.Line(words(part.Title)), g.end()+2
	axis := ""
	if g.draw >= 0 && part.Axis != nil {
		axis, g.drawn = part.Axis(g.room), true
	}
	switch {
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
	if !g.Bare && !g.narrow && len(part.Rows) > 0 {
		g.head()
	}
	for _, row := range part.Rows {
		g.row(row)
	}
}

// head writes the titles of the columns.
func (g *grid) head() {
	line := g.indent
	for k, i := range g.side {
		title := columns.Shorten(g.title(i), g.widths[i], columns.Ellipsis)
		line += g.filled(k, i, title, title)
	}
	g.line(g.paint(document.Muted, strings.TrimRight(line, " ")))
}

// filled is a value of the k-th column beside others, with the space before it.
func (g *grid) filled(k, column int, value, painted string) string {
	space := strings.Repeat(" ", max(0, g.widths[column]-columns.Width(value)))
	if g.Columns[column].Right && !g.Columns[column].Tight {
		painted = space + painted
	} else {
		painted += space
	}
	if k > 0 {
		painted = strings.Repeat(" ", g.space(column)) + painted
	}
	return painted
}

// row writes a row: its cells side by side where they fit, else one below the
// other. Sentences and notes follow.
func (g *grid) row(row document.Row) {
	height := 1
	for _, i := range g.side {
		height = max(height, len(row.Cell(i).Lines))
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
		for _, line := range row.Cell(i).Lines {
			g.para(g.indent+"  ", words(line))
		}
	}
	for _, note := range row.Notes {
		g.para(g.indent+"  ", note)
	}
}

// beside is the n-th lines of a row's cells beside each other, and their width.
func (g *grid) beside(row document.Row, n int) (painted string, width int) {
	line := g.indent
	painted = line
	for k, i := range g.side {
		value, style := g.value(row, i, n)
		line += g.filled(k, i, value, value)
		painted += g.filled(k, i, value, g.paint(style, value))
	}
	if draw := row.Cell(g.draw).Draw; n == 0 && draw != nil {
		drawn := "  " + draw(g.room)
		line, painted = line+drawn, painted+drawn
	}
	return painted, columns.Width(strings.TrimRight(line, " "))
}

// value is the n-th line of a cell with its style.
func (g *grid) value(row document.Row, column, n int) (string, document.Style) {
	lines := row.Cell(column).Lines
	if n >= len(lines) {
		return "", document.Plain
	}
	value, style := g.shown(column, lines[n]), document.Plain
	if short, ok := g.names[column][value]; ok {
		value = short
	}
	for _, s := range lines[n] {
		if s.Style != document.Plain {
			style = s.Style
			break
		}
	}
	if row.Muted && style == document.Plain {
		style = document.Muted
	}
	return value, style
}

// stacked writes a row that is too wide: what stands before the last name, then
// the other cells below it, with the titles of their columns if the table shows
// them.
func (g *grid) stacked(row document.Row) {
	names, head := 0, ""
	for k, i := range g.side {
		if g.Columns[i].Kind == document.Name {
			names = k + 1
		}
	}
	title := 0
	for _, i := range g.side[names:] {
		title = max(title, columns.Width(g.title(i)))
	}
	var rest, apart []string
	var below []document.Fact
	for k, i := range g.side {
		var parts []string
		for n := range row.Cell(i).Lines {
			if value, style := g.value(row, i, n); k < names {
				parts = append(parts, g.paint(style, value))
			} else {
				parts = append(parts, value)
			}
		}
		cell := strings.Join(parts, "  ")
		switch {
		case cell == "":
		case k < names:
			head += cell + "  "
		case g.Bare && len(parts) > 1:
			apart = append(apart, parts...)
		case g.Bare:
			rest = append(rest, cell)
		default:
			below = append(below, document.Fact{Key: columns.Pad(g.title(i), title), Value: cell})
		}
	}
	g.line(g.indent + strings.TrimRight(head, " "))
	for _, e := range below {
		g.fact(g.indent+"  ", e.Key, e.Value)
	}
	if g.Bare {
		g.para(g.indent+"  ", strings.Join(rest, " "))
	}
	for _, line := range apart {
		g.para(g.indent+"  ", line)
	}
}
