package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/report/columns"
	doc "tare/report/document"
	"tare/report/figure"
	"tare/wording"
)

// manyArms is how many treatments have a sentence and bars each; more are ranked in a table.
const manyArms = 6

// many says whether the run has more treatments than a reader takes in one by one.
func (s *sheet) many() bool {
	n := 0
	for _, a := range s.plan.Arms {
		if a.Role == experiment.Treatment {
			n++
		}
	}
	return n > manyArms
}

// unlessMany is blocks that a terminal shows of many arms only if asked.
func (s *sheet) unlessMany(all bool, blocks ...doc.Block) doc.Block {
	if s.many() && !all {
		return doc.On(doc.Markdown|doc.Page, blocks...)
	}
	return doc.If(true, blocks...)
}

// contender is an arm with its comparisons on the headline metrics, one for each group; nil where it
// has none.
type contender struct {
	arm   string
	of    []*analysis.Comparison
	worst *analysis.Comparison // the largest overhead as a share; nil where nothing is judged
}

// size is the overhead that an arm is sorted by.
func (c contender) size() float64 {
	if c.worst == nil {
		return math.Inf(-1)
	}
	return c.worst.Overhead.Point
}

// ranking is the treatments by their largest overhead.
func (s *sheet) ranking(groups []group) []contender {
	var list []contender
	for _, a := range s.plan.Arms {
		if a.Role != experiment.Treatment {
			continue
		}
		one := contender{arm: a.Name}
		for i := range groups {
			c := groups[i].of(a.Name)
			one.of = append(one.of, c)
			if c != nil && wording.Judged(*c) && wording.IsRatio(c.Metric) && (one.worst == nil || c.Overhead.Point > one.worst.Overhead.Point) {
				one.worst = c
			}
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b contender) int { return cmp.Compare(b.size(), a.size()) })
	return list
}

// of is an arm's comparison in the group; nil where it has none.
func (g group) of(arm string) *analysis.Comparison {
	if i := slices.IndexFunc(g.rows, func(c analysis.Comparison) bool { return c.Arm == arm }); i >= 0 {
		return &g.rows[i]
	}
	return nil
}

// names are the cells of groups in short, with the metric where there are several.
func names(groups []group) []string {
	var cells, metrics []string
	for _, g := range groups {
		placed(&cells, plain(g.cell))
		placed(&metrics, g.metric.Name)
	}
	short := wording.CellNames(cells)
	list := make([]string, len(groups))
	for i, g := range groups {
		list[i] = short[slices.Index(cells, plain(g.cell))]
		if len(cells) == 1 {
			list[i] = plain(g.metric.Name)
		} else if len(metrics) > 1 {
			list[i] += ", " + plain(g.metric.Name)
		}
	}
	return list
}

// mostSigns is how many verdicts of an arm a terminal shows one by one.
const mostSigns = 8

// rankBlocks are many arms by effect: on a terminal a line each, elsewhere a row with every cell.
func (s *sheet) rankBlocks() []doc.Block {
	groups := slices.DeleteFunc(s.groups(true), func(g group) bool { return len(g.rows) == 0 })
	if len(groups) == 0 {
		return nil
	}
	list, short := s.ranking(groups), names(groups)
	signs := "Signs, by cell: ▲ costs, ▼ gains, ≈ equivalent, ? not resolved, × no verdict."
	if len(groups) <= mostSigns {
		signs = "Signs, of " + strings.Join(short, ", ") + ": ▲ costs, ▼ gains, ≈ equivalent, ? not resolved, × no verdict."
	}
	about := "The largest overhead of each arm relative to " + s.baseline + " with its " + s.confidence() + " interval, and the arm's median there. " + signs + " --all shows every cell."
	return []doc.Block{doc.On(doc.Terminal, doc.Section{Blocks: []doc.Block{rankTable(list, groups, short), doc.Say(about)}}),
		doc.On(doc.Markdown|doc.Page, doc.Section{Title: "Arms by effect", Blocks: []doc.Block{s.matrix(list, groups, short),
			doc.Note("Overhead relative to " + s.baseline + " with its " + s.confidence() + " interval; below it, on a screen, the median of the arm. The largest overhead decides the order. " +
				"Shaded are what costs and what gains: up to 5 %, up to 20 %, and beyond.")}})}
}

// mostWhere is how many columns of a terminal the name of a cell has.
const mostWhere = 24

// rankTable has a line for each arm.
func rankTable(list []contender, groups []group, short []string) doc.Table {
	t := doc.Table{Groups: []doc.Group{{Parts: []doc.Part{{}}}}, Columns: []doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "cells"},
		{Title: "largest", Right: true}, {Title: "overhead", Right: true, Tight: true}, {Title: "median"}, {Title: "in"}}}
	for _, one := range list {
		row := doc.Row{Cells: []doc.Cell{doc.C(plain(one.arm)), doc.Of(one.signs())}}
		if c := one.worst; c != nil {
			point, interval := wording.Overhead(*c)
			i := slices.Index(one.of, c)
			row.Cells = append(row.Cells, doc.Cells(point, interval, plain(wording.Value(c.Treated.Median, groups[i].metric.Unit)), columns.Shorten(short[i], mostWhere, columns.Ellipsis))...)
		}
		t.Groups[0].Add(row)
	}
	return t
}

// signs are the verdicts of an arm, one by one or counted.
func (c contender) signs() doc.Text {
	var text doc.Text
	count := map[doc.Style]int{}
	for _, of := range c.of {
		style := doc.Invalid
		if of != nil {
			style = verdictStyle(of.Verdict)
		}
		count[style]++
		text = append(text, doc.Span{Style: style})
	}
	if len(c.of) <= mostSigns {
		return text
	}
	text = nil
	for _, style := range []doc.Style{doc.Cost, doc.Gain, doc.Equal, doc.Open, doc.Invalid} {
		if n := count[style]; n > 0 {
			text = append(text, doc.Span{Words: number(n) + " ", Style: style})
		}
	}
	return text
}

// matrix has a row for each arm and a column for each group.
func (s *sheet) matrix(list []contender, groups []group, short []string) doc.Table {
	t := doc.Table{Matrix: true, Dense: true, Groups: []doc.Group{{Parts: []doc.Part{{}}}}, Columns: []doc.Column{{Title: "arm", Kind: doc.Name}}}
	baseline := doc.Row{Cells: []doc.Cell{doc.C(s.baseline)}, Muted: true}
	control := doc.Row{Cells: []doc.Cell{doc.C("noise floor")}, Muted: true}
	controlled := false
	for i, g := range groups {
		t.Columns = append(t.Columns, doc.Column{Title: short[i], Whole: true})
		value, floor := wording.Missing, wording.Missing
		if of := s.bars(g); len(of.Bars) > 0 && of.Bars[0].Arm == s.baseline {
			value = of.Bars[0].Value
		}
		if g.control != nil {
			controlled, floor = true, wording.Estimate(*g.control)
		}
		baseline.Cells, control.Cells = append(baseline.Cells, doc.C(value)), append(control.Cells, doc.C(floor))
	}
	t.Groups[0].Add(baseline)
	for _, one := range list {
		row := doc.Row{Cells: []doc.Cell{doc.C(plain(one.arm))}}
		for _, c := range one.of {
			row.Cells = append(row.Cells, s.matrixCell(c))
		}
		t.Groups[0].Add(row)
	}
	if controlled {
		t.Groups[0].Add(control)
	}
	return t
}

// matrixCell is one comparison: the verdict's sign with the overhead, and the level.
func (s *sheet) matrixCell(c *analysis.Comparison) doc.Cell {
	if c == nil {
		return doc.C(wording.Missing)
	}
	text := badged(doc.In(verdictStyle(c.Verdict), wording.Estimate(*c)), ifNormal(c), ifNormalMark)
	cell := doc.Of(badged(text, s.observes(c.Verdict) || observed(*c), "obs."))
	if c.Treated.N > 0 {
		value, _, _ := spread(c.Treated, c.Metric.Unit)
		cell.Lines = append(cell.Lines, doc.In(doc.Muted, plain(value)))
	}
	if (c.Verdict == analysis.Costs || c.Verdict == analysis.Gains) && wording.Judged(*c) && wording.IsRatio(c.Metric) {
		cell.Shade = shade(c.Overhead.Point)
	}
	return cell
}

// shade is how strongly a cell with an overhead is shaded.
func shade(overhead float64) int {
	n := 1
	for _, above := range []float64{0.05, 0.2} {
		if math.Abs(overhead) > above {
			n++
		}
	}
	if overhead < 0 {
		return -n
	}
	return n
}

// mostSorted is how many rows of sorted overheads one picture has: so many stand on a printed page.
const mostSorted = 36

// sortedForest is the overheads of many arms in pictures of so many rows, all on one axis, the largest
// first.
func (s *sheet) sortedForest() []doc.Block {
	f := s.forest()
	var of []group
	for _, g := range f.Groups {
		of = append(of, group{cell: g.Cell, metric: experiment.Metric{Name: g.Metric}})
	}
	short := names(of)
	var rows []figure.Row
	for i, g := range f.Groups {
		for _, r := range g.Rows {
			if r.Control {
				continue
			}
			r.Arm = plain(r.Arm)
			if len(f.Groups) > 1 {
				r.Arm += " · " + short[i]
			}
			r.Label = r.Arm
			rows = append(rows, r)
		}
	}
	size := func(r figure.Row) float64 {
		if !r.Drawn {
			return math.Inf(-1)
		}
		return r.At.Point
	}
	slices.SortStableFunc(rows, func(a, b figure.Row) int { return cmp.Compare(size(b), size(a)) })
	for _, r := range rows {
		if r.Drawn {
			f.Reach = append(f.Reach, r.At)
		}
	}
	var blocks []doc.Block
	for part := range slices.Chunk(rows, mostSorted) {
		f.Groups = []figure.Group{{Metric: "The largest first", Rows: part}}
		blocks = append(blocks, drawn(f))
	}
	return blocks
}
