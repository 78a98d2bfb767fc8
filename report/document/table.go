package document

// Table is rows in groups. A page shows one table, with a line across it at the
// head of each group and part. A terminal aligns the columns, and writes a row
// over several lines where it is too narrow.
type Table struct {
	Columns []Column
	Groups  []Group
	Split   bool   // in Markdown each group is a table below a heading
	Bare    bool   // a terminal shows no titles of columns: the values explain themselves
	Dense   bool   // a page uses smaller letters
	Matrix  bool   // a page shades the cells, and prints only the first line of each
	Key     string // explains the drawings, where a terminal shows them
}

// Column is how the cells below each other look.
type Column struct {
	Title string
	Label string // what a terminal that shows no titles writes before a value
	Kind  Kind
	Right bool  // aligned to the right, as numbers are
	Tight bool  // a terminal puts it close to the column before
	Whole bool  // a page does not break its lines
	Signs bool  // a terminal shows the signs of verdicts only
	In    Forms // zero: all
}

// Kind is what the cells of a column hold.
type Kind int

// Values; names of rows, which a terminal may shorten; sentences, which a
// terminal writes below the row; and drawings, which only a terminal shows.
const (
	Value Kind = iota
	Name
	Prose
	Drawing
)

// Group is rows about the same thing; those without a title are just rows.
type Group struct {
	Title Text
	Aside string // behind the title, on a page
	Notes []string
	Parts []Part
}

// Add adds a row to the last part of the group.
func (g *Group) Add(row Row) { g.Parts[len(g.Parts)-1].Add(row) }

// Part is rows within a group, such as those of one metric.
type Part struct {
	Title Text
	Notes []string
	Above func(width int) []string // drawn below the title by a terminal; nil: nothing
	Axis  func(width int) string   // above the drawings; nil: none
	Rows  []Row
}

// Add adds a row.
func (p *Part) Add(row Row) { p.Rows = append(p.Rows, row) }

// Row is cells, one for each column of the table whatever the form.
type Row struct {
	Cells []Cell
	Notes []string // below the row
	Muted bool
}

// Cell is lines below each other, or a drawing.
type Cell struct {
	Lines []Text
	Shade int                    // of a page's cell: from 1 to 3 a cost, from -1 to -3 a gain, the stronger the larger
	Draw  func(width int) string // at most width columns
}

// C is a cell with words.
func C(words string) Cell {
	if words == "" {
		return Cell{}
	}
	return Cell{Lines: []Text{Words(words)}}
}

// Of is a cell with lines of text.
func Of(lines ...Text) Cell { return Cell{Lines: lines} }

// Cells are cells with words.
func Cells(words ...string) []Cell {
	list := make([]Cell, len(words))
	for i, w := range words {
		list[i] = C(w)
	}
	return list
}

// Simple is a table of rows in one group.
func Simple(columns []Column, rows []Row) Table {
	return Table{Columns: columns, Groups: []Group{{Parts: []Part{{Rows: rows}}}}}
}

// ColumnsIn are the places of the columns that are meant for a form.
func (t Table) ColumnsIn(form Forms) []int {
	var list []int
	for i, c := range t.Columns {
		if (c.In == 0 || c.In.Has(form)) && (c.Kind != Drawing || form == Terminal) {
			list = append(list, i)
		}
	}
	return list
}

// Cell is the cell of a column; an empty one where the row ends before.
func (r Row) Cell(column int) Cell {
	if column >= 0 && column < len(r.Cells) {
		return r.Cells[column]
	}
	return Cell{}
}

// Parts are those of all groups.
func (t Table) Parts() []Part {
	var list []Part
	for _, g := range t.Groups {
		list = append(list, g.Parts...)
	}
	return list
}
