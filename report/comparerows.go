package report

import (
	"cmp"
	"fmt"
	"slices"

	"tare/analysis"
	comparing "tare/compare"
	"tare/experiment"
	doc "tare/report/document"
	"tare/wording"
)

// comparedTable is what several runs say of metrics in cells: changes of
// overheads, or levels. Each run has a column behind the metric and the arm.
type comparedTable struct{ doc.Table }

const runColumn = 2

func newComparedTable(r *comparing.Result) *comparedTable {
	t := doc.Table{Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name}}}
	for i := range r.Runs {
		t.Columns = append(t.Columns, doc.Column{Title: runTitle(i + 1), Right: true})
	}
	return &comparedTable{t}
}

// row finds or makes a row, in the order in which they come.
func (t *comparedTable) row(cell string, m experiment.Metric, name string) *doc.Row {
	title := append(doc.In(doc.Strong, m.Name), doc.Span{Words: when(m.Better != "", ", "+better(m))})
	cells := append([]doc.Cell{doc.C(m.Name), doc.Of(doc.Words(name))}, make([]doc.Cell, len(t.Columns)-runColumn)...)
	group := found(&t.Groups, func(g doc.Group) bool { return g.Title.First() == cell }, doc.Group{Title: doc.Words(cell)})
	part := found(&group.Parts, func(p doc.Part) bool { return p.Title.First() == m.Name }, doc.Part{Title: title})
	return found(&part.Rows, func(r doc.Row) bool { return r.Cells[1].Lines[0].First() == name }, doc.Row{Cells: cells})
}

// reference is the value of a run that others are compared with.
func reference(value string) doc.Cell {
	return doc.Of(doc.Words(value), doc.In(doc.Muted, "(compared with)"))
}

// judged is the value of a run with what its comparison says.
func judged(value string, c analysis.Comparison, verdict doc.Text) doc.Cell {
	said := []doc.Text{doc.Words(when(wording.Judged(c), wording.Estimate(c))), verdict}
	return doc.Of(append([]doc.Text{doc.Words(value)}, slices.DeleteFunc(said, doc.Text.Empty)...)...)
}

// changeTable shows the changes of overheads, those of the control last and
// without a verdict.
func changeTable(r *comparing.Result, headline bool) doc.Table {
	t := newComparedTable(r)
	for i, c := range slices.Concat(r.Changes, r.Floors) {
		if c.Metric.Headline != headline {
			continue
		}
		floor := i >= len(r.Changes)
		row := t.row(c.Cell, c.Metric, plain(changeName(c))+when(floor, " (noise floor)"))
		if !c.Direct {
			row.Cells[runColumn+c.From.Run-1] = reference(ownOverhead(c.From, c.Metric))
		}
		var said doc.Text
		if row.Muted = floor; !floor {
			said = verdict(c.Verdict, observed(c.Comparison))
			row.Notes = append(row.Notes, runNote(c.To.Run, &c.Comparison))
		}
		row.Cells[runColumn+c.To.Run-1] = judged(ownOverhead(c.To, c.Metric), c.Comparison, said)
	}
	return t.Table
}

func levelTable(r *comparing.Result, headline bool) doc.Table {
	t := newComparedTable(r)
	for _, l := range r.Levels {
		if l.Metric.Headline != headline {
			continue
		}
		row := t.row(l.Cell, l.Metric, l.Arm)
		value := cmp.Or(when(l.Values.N > 0, wording.Value(l.Values.Median, l.Metric.Unit)), wording.Missing)
		if l.Against == nil {
			row.Cells[runColumn+l.Run-1] = reference(value)
			continue
		}
		row.Cells[runColumn+l.Run-1] = judged(value, *l.Against, verdict(l.Against.Verdict, observed(*l.Against)))
		if !claims(l.Against.Verdict) {
			row.Notes = append(row.Notes, runNote(l.Run, l.Against))
		}
	}
	return t.Table
}

func runTitle(n int) string { return fmt.Sprintf("run %d", n) }
