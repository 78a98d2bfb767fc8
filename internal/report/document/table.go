package document

// Table is rows in groups. A page shows one table, with a heading line for each group and part. On a narrow terminal, a
// row takes several lines.
type Table struct {
	Columns  []Column
	Groups   []Group
	Split    bool   // Markdown shows each group as a table of its own, below a heading
	NoTitles bool   // a terminal omits the titles of columns
	Dense    bool   // a page uses smaller letters
	Matrix   bool   // a page shades the cells by value; on paper it shows only each cell's first line
	Key      string // explanation of the drawings, below a terminal's table
}

// Column is the look of the cells of a column.
type Column struct {
	Title   string
	Label   string // text that a terminal writes before each value if the table shows no titles
	Kind    Kind
	Right   bool  // aligned to the right, like numbers
	Tight   bool  // a terminal leaves one space before the column instead of two
	NoBreak bool  // a page does not break lines in the column
	Signs   bool  // a terminal shows only the signs of verdicts
	In      Forms // forms that show the column; zero: all
}

// Kind is the kind of content that the cells of a column have.
type Kind int

// Value is the usual kind. Name: the cell names its row, and a terminal may shorten it. Prose: sentences, below the row
// on a terminal. Drawing: only on terminals.
const (
	Value Kind = iota
	Name
	Prose
	Drawing
)

// Group holds the rows about one subject, such as a cell of the experiment.
type Group struct {
	Title Text
	Notes []string
	Parts []Part
}

// Add adds a row to the last part of the group.
func (g *Group) Add(row Row) { g.Parts[len(g.Parts)-1].Add(row) }

// Part holds rows within a group, such as the rows of one metric.
type Part struct {
	Title Text
	Notes []string
	Above func(width int) []string // drawing below the title of the part on a terminal; nil: none
	Axis  func(width int) string   // axis above the drawings; nil: none
	Rows  []Row
}

// Add adds a row.
func (p *Part) Add(row Row) { p.Rows = append(p.Rows, row) }

// Row has a table cell for each column, including columns that the output form hides.
type Row struct {
	Cells []Cell
	Notes []string // remarks below the row
	Muted bool
}

// Cell is a table cell: lines of text, one below the other, or a drawing.
type Cell struct {
	Lines []Text
	Shade int                    // shade on a page: 1 to 3 for a cost, −1 to −3 for a gain
	Draw  func(width int) string // draws the cell, at most width columns wide; nil: Lines is shown
}

// C returns a cell with words.
func C(words string) Cell {
	if words == "" {
		return Cell{}
	}
	return Cell{Lines: []Text{Words(words)}}
}

// Of returns a cell with lines of text.
func Of(lines ...Text) Cell { return Cell{Lines: lines} }

// Cells returns a table cell for each string.
func Cells(words ...string) []Cell {
	list := make([]Cell, len(words))
	for i, w := range words {
		list[i] = C(w)
	}
	return list
}

// Simple returns a table of rows in one group.
func Simple(columns []Column, rows []Row) Table {
	return Table{Columns: columns, Groups: []Group{{Parts: []Part{{Rows: rows}}}}}
}

// ColumnsIn returns the indices of the columns that a form shows.
func (t Table) ColumnsIn(form Forms) []int {
	var list []int
	for i, c := range t.Columns {
		if (c.In == 0 || c.In.Has(form)) && (c.Kind != Drawing || form == Terminal) {
			list = append(list, i)
		}
	}
	return list
}

// Cell returns the cell of a column, or an empty cell if the row has too few cells.
func (r Row) Cell(column int) Cell {
	if column >= 0 && column < len(r.Cells) {
		return r.Cells[column]
	}
	return Cell{}
}

// RowNames returns the names of a row: its table cells in columns of the kind Name. Columns that the output form
// hides are left out.
func (t Table) RowNames(form Forms, row Row) (names []string) {
	for _, i := range t.ColumnsIn(form) {
		if t.Columns[i].Kind == Name && len(row.Cell(i).Lines) > 0 {
			names = append(names, row.Cell(i).Lines[0].String())
		}
	}
	return names
}

// Parts returns the parts of all groups.
func (t Table) Parts() []Part {
	var list []Part
	for _, g := range t.Groups {
		list = append(list, g.Parts...)
	}
	return list
}
