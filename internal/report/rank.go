package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/report/columns"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/wording"
)

// many reports whether the run has too many treatments to show each at length.
func (s *sheet) many() bool {
	n := 0
	for _, a := range s.plan.Arms {
		if a.Role == experiment.Treatment {
			n++
		}
	}
	return n > manyArms
}

// unlessMany returns blocks that a terminal omits if the run has many treatments. With all = true, every form shows
// the blocks.
func (s *sheet) unlessMany(all bool, blocks ...doc.Block) doc.Block {
	return doc.On(formsIf(all || !s.many()), blocks...)
}

// rankedArm is an arm with its comparison for each headline metric in each cell. A missing comparison is nil.
type rankedArm struct {
	arm   string
	of    []*analysis.Comparison
	worst *analysis.Comparison // largest overhead that is a share; nil if there is none
	size  float64              // overhead in the field worst; arms are sorted by it
}

func (s *sheet) ranking(groups []group) []rankedArm {
	var list []rankedArm
	for _, a := range s.plan.Arms {
		if a.Role != experiment.Treatment {
			continue
		}
		one := rankedArm{arm: a.Name, size: math.Inf(-1)}
		for i := range groups {
			c := groups[i].of(a.Name)
			one.of = append(one.of, c)
			if c != nil && wording.HasNumbers(*c) && wording.IsRatio(c.Metric) && c.Overhead.Point > one.size {
				one.worst, one.size = c, c.Overhead.Point
			}
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b rankedArm) int { return cmp.Compare(b.size, a.size) })
	return list
}

// of returns the group's comparison for the named arm; nil: the group has no such comparison.
func (g group) of(arm string) *analysis.Comparison {
	lines := g.lines()
	if i := slices.IndexFunc(lines, func(c analysis.Comparison) bool { return c.Arm == arm }); i >= 0 {
		return &lines[i]
	}
	return nil
}

// groupNames returns short names of groups: by their cells, their metrics, or both. A name has only the parts in which
// the groups differ.
func groupNames(groups []group) []string {
	var cells, metrics []string
	for _, g := range groups {
		indexOrAdd(&cells, plain(g.cell))
		indexOrAdd(&metrics, g.metric.Name)
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

func (s *sheet) rankBlocks() []doc.Block {
	groups := slices.DeleteFunc(s.groups(true), func(g group) bool { return len(g.rows) == 0 })
	if len(groups) == 0 {
		return nil
	}
	list, short := s.ranking(groups), groupNames(groups)
	signs := "Signs, by cell: ▲ costs, ▼ gains, ≈ equivalent, ? not resolved, × no verdict."
	if len(groups) <= maxSigns {
		signs = "Signs, of " + strings.Join(short, ", ") + ": ▲ costs, ▼ gains, ≈ equivalent, ? not resolved, × no verdict."
	}
	about := "The largest overhead of each arm relative to " + s.baseline + " with its " + s.confidence() + " interval, and the arm's median there. " + signs + " --all shows every cell."
	return []doc.Block{doc.On(doc.Terminal, doc.Section{Blocks: []doc.Block{rankTable(list, groups, short), doc.Say(about)}}),
		doc.On(doc.Markdown|doc.Page, doc.Section{Title: "Arms by effect", Blocks: []doc.Block{s.matrix(list, groups, short),
			doc.Note("Overhead relative to " + s.baseline + " with its " + s.confidence() + " interval; below it, on a screen, the median of the arm. The largest overhead decides the order. " +
				"Costs and gains are shaded: up to 5 %, up to 20 %, and beyond.")}})}
}

func rankTable(list []rankedArm, groups []group, short []string) doc.Table {
	t := doc.Table{Groups: []doc.Group{{Parts: []doc.Part{{}}}}, Columns: []doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "cells"},
		{Title: "largest", Right: true}, {Title: "overhead", Right: true, Tight: true}, {Title: "median"}, {Title: "in"}}}
	for _, one := range list {
		row := doc.Row{Cells: []doc.Cell{doc.C(plain(one.arm)), doc.Of(one.signs())}}
		if c := one.worst; c != nil {
			point, interval := wording.Overhead(*c)
			i := slices.Index(one.of, c)
			row.Cells = append(row.Cells, doc.Cells(point, interval, plain(wording.Value(c.Treated.Median, groups[i].metric.Unit)), columns.Shorten(short[i], maxWhere, columns.Ellipsis))...)
		}
		t.Groups[0].Add(row)
	}
	return t
}

// signs returns the signs of an arm's verdicts. For more than maxSigns verdicts, it returns the number of each sign.
func (c rankedArm) signs() doc.Text {
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
	if len(c.of) <= maxSigns {
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

func (s *sheet) matrix(list []rankedArm, groups []group, short []string) doc.Table {
	t := doc.Table{Matrix: true, Dense: true, Groups: []doc.Group{{Parts: []doc.Part{{}}}}, Columns: []doc.Column{{Title: "arm", Kind: doc.Name}}}
	baseline := doc.Row{Cells: []doc.Cell{doc.C(s.baseline)}, Muted: true}
	control := doc.Row{Cells: []doc.Cell{doc.C("noise floor")}, Muted: true}
	controlled := false
	for i, g := range groups {
		t.Columns = append(t.Columns, doc.Column{Title: short[i], NoBreak: true})
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

func (s *sheet) matrixCell(c *analysis.Comparison) doc.Cell {
	if c == nil {
		return doc.C(wording.Missing)
	}
	text := badged(doc.In(verdictStyle(c.Verdict), wording.Estimate(*c)), ifNormal(c), ifNormalMark)
	cell := doc.Of(badged(text, s.claimsObservational(c.Verdict) || claimsObservational(*c), "obs."))
	if c.Treated.N > 0 {
		value, _, _ := medianOrRange(c.Treated, c.Metric.Unit)
		cell.Lines = append(cell.Lines, doc.In(doc.Muted, plain(value)))
	}
	if (c.Verdict == analysis.Costs || c.Verdict == analysis.Gains) && wording.HasNumbers(*c) && wording.IsRatio(c.Metric) {
		over, _ := slices.BinarySearch([]float64{0.05, 0.2}, math.Abs(c.Overhead.Point))
		cell.Shade = int(math.Copysign(float64(1+over), c.Overhead.Point))
	}
	return cell
}

// sortedForest plots many overheads, the largest first, in pictures of maxSorted rows on one axis.
func (s *sheet) sortedForest() []doc.Block {
	f := s.forest()
	of := lists.Map(f.Groups, func(g figure.Group) group { return group{cell: g.Cell, metric: experiment.Metric{Name: g.Metric}} })
	short := groupNames(of)
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
	for part := range slices.Chunk(rows, maxSorted) {
		f.Groups = []figure.Group{{Metric: "The largest first", Rows: part}}
		blocks = append(blocks, drawn(f))
	}
	return blocks
}
