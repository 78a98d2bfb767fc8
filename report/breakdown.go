package report

import (
	"slices"

	"tare/analysis"
	"tare/experiment"
	doc "tare/report/document"
	"tare/report/figure"
	"tare/wording"
)

// breakdownNote says what the parts are.
const breakdownNote = "Installed: what the layer costs with none. Any: what the first brings, whatever their number. Each: the slope of a line through the levels above zero, fitted in every round. " +
	"Any and each on headline metrics are a family of their own under Holm's correction."

// breakdownBlocks show of what the costs are made of layers that have a factor which counts
// something: on a terminal of headline metrics, or of all.
func (s *sheet) breakdownBlocks(all bool) []doc.Block {
	section := doc.Section{ID: "breakdown", Title: "Installed, any, each", Blocks: []doc.Block{doc.Say(breakdownNote)}}
	for _, headline := range []bool{true, false} {
		var of []*analysis.Breakdown
		for i := range s.run.Breakdowns {
			if b := &s.run.Breakdowns[i]; b.Metric.Headline == headline {
				of = append(of, b)
			}
		}
		switch {
		case of == nil:
		case headline:
			section.Blocks = append(section.Blocks, partTable(of), doc.On(doc.Page, s.breakdownFigures(of)...))
		default:
			section.Blocks = append(section.Blocks, exploratorySection(all, partTable(of)))
		}
	}
	if len(section.Blocks) == 1 {
		return nil
	}
	return []doc.Block{section}
}

// partTable shows parts by cell, metric and arm, with what a line misses below.
func partTable(of []*analysis.Breakdown) doc.Table {
	t := doc.Table{Bare: true, Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name, In: doc.Markdown},
		{Title: "part", Kind: doc.Name}, {Title: "verdict"}, {Title: "cost", Right: true}, {Title: "interval", Right: true, Tight: true}, {Title: "in its unit", Right: true},
		{Title: "rounds", Right: true, In: doc.Markdown | doc.Page}, {Title: "why no claim", Kind: doc.Prose}}}
	for _, b := range of {
		g := found(&t.Groups, func(g doc.Group) bool { return slices.Equal(g.Title, doc.Words(plain(b.Cell))) }, doc.Group{Title: doc.Words(plain(b.Cell))})
		name := plain(wording.BreakdownName(b))
		part := doc.Part{Title: append(doc.In(doc.Strong, plain(b.Metric.Name)), doc.Span{Words: " " + join(", ", name, when(b.Metric.Better != "", better(b.Metric)))})}
		for i := range b.Parts {
			p := &b.Parts[i]
			point, interval := wording.Overhead(p.Comparison)
			row := doc.Row{Cells: append(doc.Cells(plain(b.Metric.Name), name, plain(wording.PartName(b, p.Part))), doc.Of(said(&p.Comparison, false)))}
			row.Cells = append(row.Cells, doc.Cells(point, interval, wording.PartAmount(p), number(p.Rounds), when(!p.Verdict.Claims(), brief(wording.Verdict(&p.Comparison))))...)
			part.Rows = append(part.Rows, row)
		}
		if miss := wording.NotALine(b); miss != "" && len(part.Rows) > 0 {
			last := &part.Rows[len(part.Rows)-1]
			last.Notes = append(last.Notes, brief(upperFirst(miss)))
		}
		g.Parts = append(g.Parts, part)
	}
	return t
}

// breakdownFigures draw the costs of the levels with the line.
func (s *sheet) breakdownFigures(of []*analysis.Breakdown) (blocks []doc.Block) {
	for i, b := range of {
		chart := s.breakdownChart(b)
		blocks = append(blocks, doc.Section{Title: plain(b.Metric.Name) + " by " + plain(b.Factor) + ", " + plain(wording.BreakdownName(b)), Note: plain(b.Cell), Flush: true, Fold: doc.Page, Open: i < mostOpen,
			Blocks: []doc.Block{doc.Say(brief(upperFirst(wording.BreakdownText(b))) + "."),
				doc.Figure{Wide: func() string { return chart.Draw(true) }, Narrow: func() string { return chart.Draw(false) }}}})
	}
	return blocks
}

// breakdownChart is the picture of the costs against the levels: marks with their intervals, as
// in the results, and the line with its band.
func (s *sheet) breakdownChart(b *analysis.Breakdown) figure.Lines {
	name := "overhead on " + b.Metric.Name
	l := figure.Lines{Metric: name, Unit: b.Metric.Unit, Factor: b.Factor, X: b.X, Bars: true}
	scale := 1.0
	if wording.IsRatio(b.Metric) {
		l.Unit, scale = "%", 100
	}
	scaled := func(i analysis.Interval) analysis.Interval {
		return analysis.Interval{Point: scale * i.Point, Lo: scale * i.Lo, Hi: scale * i.Hi}
	}
	line := figure.Line{Arm: wording.BreakdownName(b), From: max(0, len(b.X)-len(b.Line))}
	if len(b.Arms) > 0 {
		line.Look = s.look(b.Arms[len(b.Arms)-1])
	}
	line.Fitted = make([]analysis.Interval, line.From, len(b.X))
	for _, at := range b.Line {
		line.Fitted = append(line.Fitted, scaled(at))
	}
	for _, arm := range b.Arms {
		_, c := s.measured(b.Cell, b.Metric.Name, arm)
		place := against(c)
		place.At = scaled(place.At)
		line.Places = append(line.Places, place)
	}
	l.Arms = []figure.Line{line}
	return l
}

// partFields are a part's line for programs, in the columns of a comparison.
func (s *sheet) partFields(b *analysis.Breakdown, p *analysis.Part) []field {
	line := s.fields(p.Comparison)
	for i := range line {
		switch line[i].column {
		case "arm":
			line[i].value = wording.BreakdownName(b)
		case "role":
			line[i].value = experiment.Role(p.Part)
		case "levels":
			line[i].value = join(";", s.levels(b.Cell, ";"), plain(b.Factor))
		case "baseline_median", "arm_median":
			line[i].value = nil
		case "text":
			line[i].value = wording.PartSentence(b, p)
		}
	}
	return line
}
