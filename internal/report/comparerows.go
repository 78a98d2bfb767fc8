package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	doc "tare/internal/report/document"
	"tare/internal/report/wording"
	comparing "tare/internal/runs/compare"
)

// comparedTable lists metrics in cells over several runs: changes of overheads, or levels. Each run has a
// column, after the columns of metric and arm.
type comparedTable struct{ doc.Table }

const runColumn = 2

func newComparedTable(r *comparing.Result) *comparedTable {
	t := doc.Table{Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name}}}
	for i := range r.Runs {
		t.Columns = append(t.Columns, doc.Column{Title: runTitle(i + 1), Right: true})
	}
	return &comparedTable{t}
}

// row returns the row of a name, and adds it at the end if there is none.
func (t *comparedTable) row(cell string, m experiment.Metric, name string) *doc.Row {
	cells := append([]doc.Cell{doc.C(m.Name), doc.Of(doc.Words(name))}, make([]doc.Cell, len(t.Columns)-runColumn)...)
	part := partOf(&t.Table, cell, m)
	return findOrAdd(&part.Rows, func(r doc.Row) bool { return r.Cells[1].Lines[0].First() == name }, doc.Row{Cells: cells})
}

// groupOf returns the group of a cell, and adds it if there is none.
func groupOf(t *doc.Table, cell string) *doc.Group {
	return findOrAdd(&t.Groups, func(g doc.Group) bool { return g.Title.First() == cell }, doc.Group{Title: doc.Words(cell)})
}

// partOf returns the part of a metric in the group of a cell, and adds it if there is none.
func partOf(t *doc.Table, cell string, m experiment.Metric) *doc.Part {
	title := append(doc.In(doc.Strong, m.Name), doc.Span{Words: when(m.Better != "", ", "+better(m))})
	return findOrAdd(&groupOf(t, cell).Parts, func(p doc.Part) bool { return p.Title.First() == m.Name }, doc.Part{Title: title})
}

// reference marks a value as the one that others are compared with.
func reference(value string) doc.Cell {
	return doc.Of(doc.Words(value), doc.In(doc.Muted, "(compared with)"))
}

// judged returns the value of a run with its comparison.
func judged(value string, c analysis.Comparison, verdict doc.Text) doc.Cell {
	lines := []doc.Text{doc.Words(when(wording.HasNumbers(c), wording.Estimate(c))), verdict}
	return doc.Of(append([]doc.Text{doc.Words(value)}, slices.DeleteFunc(lines, doc.Text.Empty)...)...)
}

// changeTable lists the changes of overheads. The controls come last and have no verdict.
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
		var word doc.Text
		row.Muted = floor
		if !floor {
			word = gradedVerdict(&c.Comparison, claimsObservational(c.Comparison))
			row.Notes = append(row.Notes, runNote(c.To.Run, &c.Comparison))
		}
		row.Cells[runColumn+c.To.Run-1] = judged(ownOverhead(c.To, c.Metric), c.Comparison, word)
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
		row.Cells[runColumn+l.Run-1] = judged(value, *l.Against, gradedVerdict(l.Against, claimsObservational(*l.Against)))
		if !l.Against.Verdict.Claims() {
			row.Notes = append(row.Notes, runNote(l.Run, l.Against))
		}
	}
	return t.Table
}

func runTitle(n int) string { return fmt.Sprintf("run %d", n) }

// changeName names the arm of a change, or both arms if they differ.
func changeName(c comparing.Change) string {
	switch {
	case c.Direct:
		return c.To.Arm + " against " + c.From.Arm
	case c.From.Arm == c.To.Arm:
		return c.To.Arm
	}
	return c.From.Arm + " → " + c.To.Arm
}

// runNote states the verdict on a comparison of a run.
func runNote(run int, c *analysis.Comparison) string {
	return fmt.Sprintf("Run %d: %s.", run, plain(wording.Qualified(c)))
}

// ownOverhead writes the overhead of an arm relative to the baseline of its own run.
func ownOverhead(o comparing.Overhead, m experiment.Metric) string {
	if !o.Known {
		return wording.Missing
	}
	return wording.Estimate(analysis.Comparison{Metric: m, Overhead: o.Overhead, PointOnly: o.PointOnly, Rounds: 1})
}

// comparedRun describes a run in a line: "wireguard, 2026-01-02 10:00 UTC, 12 rounds".
func comparedRun(r comparing.Run) string {
	return plain(r.Experiment) + ", " + join(", ", wording.Labels(r.Labels), when(!r.Start.IsZero(), r.Start.UTC().Format("2006-01-02 15:04 UTC")),
		when(r.Paired, wording.Count(r.Rounds, "round", "rounds")), wording.Count(r.Trials, "valid trial", "valid trials"),
		when(!r.Finished, "NOT FINISHED"), when(!r.Valid, "INVALID"))
}

// maxSame is the largest number of equal properties that a terminal names in each group.
const maxSame = 12

// sameByGroup lists equal properties by group, at most most of each group; 0: all.
func sameByGroup(r *comparing.Result, most int) []doc.Fact {
	type group struct {
		comparing.Group
		names []string
	}
	var groups []group
	for _, p := range r.Same {
		g := findOrAdd(&groups, func(g group) bool { return g.Group == p.Group }, group{Group: p.Group})
		g.names = append(g.names, plain(p.Path))
	}
	var list []doc.Fact
	for _, g := range groups {
		value := strings.Join(g.names, ", ")
		if most > 0 && len(g.names) > most+1 {
			value = firstFew(g.names, most, ", ", " and ")
		}
		list = append(list, doc.Fact{Key: plain(string(g.Group)), Value: value})
	}
	return list
}
