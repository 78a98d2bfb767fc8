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

// comparedRows collects what several runs say of metrics in cells: changes of
// overheads, or levels. Each row has an entry for each run.
type comparedRows struct {
	runs  int
	cells []comparedCell
}

type comparedCell struct {
	id      string
	metrics []comparedMetric
}

type comparedMetric struct {
	metric experiment.Metric
	rows   []comparedRow
}

type comparedRow struct {
	name    string
	floor   bool // of the control
	entries []comparedEntry
	notes   []string // what the verdicts say, in sentences
}

// comparedEntry is what one run says of a row: a value, and what it is against
// the run or arm that it is compared with.
type comparedEntry struct {
	value, against string
	verdict        doc.Text
	reference      bool // the others are compared with this
}

// row finds or makes a row, in the order in which they come.
func (c *comparedRows) row(cell string, m experiment.Metric, name string) *comparedRow {
	at := found(&c.cells, func(x comparedCell) bool { return x.id == cell }, comparedCell{id: cell})
	of := found(&at.metrics, func(x comparedMetric) bool { return x.metric.Name == m.Name }, comparedMetric{metric: m})
	return found(&of.rows, func(x comparedRow) bool { return x.name == name }, comparedRow{name: name, entries: make([]comparedEntry, c.runs)})
}

// judge sets what a comparison says; without a verdict if it is of a control.
func (e *comparedEntry) judge(c analysis.Comparison, withVerdict bool) {
	e.against = when(wording.Judged(c), wording.Estimate(c))
	if withVerdict {
		e.verdict = verdict(c.Verdict, observed(c))
	}
}

// cell is an entry with its lines below each other.
func (e comparedEntry) cell() doc.Cell {
	lines := []doc.Text{doc.Words(e.value), doc.Words(e.against), e.verdict}
	if e.reference {
		lines[1] = doc.In(doc.Muted, "(compared with)")
	}
	return doc.Of(append(lines[:1], slices.DeleteFunc(lines[1:], doc.Text.Empty)...)...)
}

// changeRows are the changes of overheads, those of the control last.
func changeRows(r *comparing.Result, headline bool) comparedRows {
	rows := comparedRows{runs: len(r.Runs)}
	add := func(c comparing.Change, floor bool) {
		if c.Metric.Headline != headline {
			return
		}
		row := rows.row(c.Cell, c.Metric, changeName(c))
		row.floor = floor
		if !c.Direct {
			from := &row.entries[c.From.Run-1]
			from.value, from.reference = ownOverhead(c.From, c.Metric), true
		}
		to := &row.entries[c.To.Run-1]
		to.value = ownOverhead(c.To, c.Metric)
		to.judge(c.Comparison, !floor)
		if !floor {
			row.notes = append(row.notes, runNote(c.To.Run, &c.Comparison))
		}
	}
	for _, c := range r.Changes {
		add(c, false)
	}
	for _, c := range r.Floors {
		add(c, true)
	}
	return rows
}

// levelRows are the levels of all arms.
func levelRows(r *comparing.Result, headline bool) comparedRows {
	rows := comparedRows{runs: len(r.Runs)}
	for _, l := range r.Levels {
		if l.Metric.Headline != headline {
			continue
		}
		row := rows.row(l.Cell, l.Metric, l.Arm)
		e := &row.entries[l.Run-1]
		e.value = cmp.Or(when(l.Values.N > 0, wording.Value(l.Values.Median, l.Metric.Unit)), wording.Missing)
		if l.Against == nil {
			e.reference = true
			continue
		}
		e.judge(*l.Against, true)
		if !claims(l.Against.Verdict) {
			row.notes = append(row.notes, runNote(l.Run, l.Against))
		}
	}
	return rows
}

// count is how many metrics there are, each in its cells.
func (c comparedRows) count() int {
	n := 0
	for _, cell := range c.cells {
		n += len(cell.metrics)
	}
	return n
}

// table shows the rows with a column for each run.
func (c comparedRows) table() doc.Table {
	t := doc.Table{Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name}}}
	for i := range c.runs {
		t.Columns = append(t.Columns, doc.Column{Title: runTitle(i + 1), Right: true})
	}
	for _, cell := range c.cells {
		g := doc.Group{Title: doc.Words(plain(cell.id))}
		for _, m := range cell.metrics {
			part := doc.Part{Title: append(doc.In(doc.Strong, plain(m.metric.Name)), doc.Span{Words: when(m.metric.Better != "", ", "+better(m.metric))})}
			for _, r := range m.rows {
				row := doc.Row{Cells: doc.Cells(plain(m.metric.Name), plain(r.name)+when(r.floor, " (noise floor)")), Notes: r.notes, Muted: r.floor}
				for _, e := range r.entries {
					row.Cells = append(row.Cells, e.cell())
				}
				part.Add(row)
			}
			g.Parts = append(g.Parts, part)
		}
		t.Groups = append(t.Groups, g)
	}
	return t
}

func runTitle(n int) string { return fmt.Sprintf("run %d", n) }
