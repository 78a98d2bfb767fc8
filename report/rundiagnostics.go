package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/analysis"
	"tare/experiment"
	doc "tare/report/document"
	"tare/report/figure"
	"tare/wording"
)

func (s *sheet) trialSection() doc.Section {
	open := 0
	var cells []doc.Block
	for _, b := range s.blocks {
		cell := doc.Section{Title: plain(b.id)}
		for _, g := range append(b.only(true), b.only(false)...) {
			if g.series == nil {
				continue
			}
			show := g.metric.Headline && open < mostOpen
			if show {
				open++
			}
			note := join(", ", better(g.metric), when(!g.metric.Headline, "exploratory"))
			cell.Blocks = append(cell.Blocks, doc.Section{Title: plain(g.metric.Name), Note: note, Fold: doc.Page, Open: show, Blocks: []doc.Block{
				doc.Pair{Left: func() string { return s.boxes(g).Draw() }, Right: func() string { return s.runChart(g).Draw() }}}})
		}
		if cell.Blocks != nil {
			cells = append(cells, cell)
		}
	}
	text := "There is no valid trial."
	if cells != nil {
		text = join(" ", "Left, the values of each arm: the box holds the middle half, the bar in it is the median, whiskers reach from minimum to maximum, dots are trials, "+
			"circles lie further than 1.5 interquartile ranges from the box; the dotted line is the baseline's median.",
			s.sampled("Right, the same trials over time, each arm around its own median; an arrow points to a trial beyond the lane, crosses are invalid trials, a triangle marks a change of the baseline's level.",
				"Right, the same trials in the order measured, each arm around its own median and with an axis of its own; an arrow points to a trial beyond the lane, a triangle marks a change of the arm's level."),
			when(s.run.Rounds > figure.ManyDots,
				fmt.Sprintf("As each arm has more than %d trials, the dots are an even choice of them, and the lanes show the range and the median of neighbouring trials.", figure.ManyDots)))
	}
	return doc.Section{ID: "trials", Title: "Every trial", Blocks: append([]doc.Block{doc.Say(text)}, cells...)}
}

// diagnosticSection is what the method says about itself.
func (s *sheet) diagnosticSection() doc.Section {
	text := "What the method says about itself." + when(s.run.Family > 0, fmt.Sprintf(" %s tested together and corrected by Holm's method.",
		wording.Count(s.run.Family, "comparison of a headline metric is", "comparisons of headline metrics are")))
	table, hints := s.diagnosticTable(), s.warnings(false)
	hints = hints[:min(len(hints), mostWarnings)]
	blocks := append([]doc.Block{doc.Say(text), doc.If(table.Groups != nil, table)}, s.seriesBlocks()...)
	return doc.Section{ID: "diagnostics", Title: "Diagnostics", Blocks: append(blocks,
		doc.If(len(hints) > 0, doc.Section{Title: "Warnings on exploratory metrics", Fold: doc.Page, Blocks: []doc.Block{doc.List{Items: doc.Each(hints)}}}),
		doc.Section{Title: "What the columns mean", Fold: doc.Page, Blocks: []doc.Block{doc.Facts{Look: doc.Terms, List: s.columnTerms()}}})}
}

// diagnosticTable shows how sure each comparison is, by either estimator.
func (s *sheet) diagnosticTable() doc.Table {
	second, paired := "paired t", doc.Forms(0)
	if !s.plan.Paired() {
		second, paired = "Welch's t", doc.Nowhere
	}
	t := doc.Table{Dense: true, Columns: []doc.Column{{Title: "metric and arm", Kind: doc.Name}, {Title: s.sizeHead(), Right: true},
		{Title: "headline estimate", Right: true}, {Title: second, Right: true}, {Title: "p", Right: true}, {Title: "p (Holm)", Right: true},
		{Title: "p (equiv.)", Right: true}, {Title: "MDE", Right: true}, {Title: "needed", Right: true},
		{Title: "lag-1", Right: true, In: paired}, {Title: "order p", Right: true, In: paired}}}
	for _, headline := range []bool{true, false} {
		for _, b := range s.blocks {
			g := doc.Group{Title: doc.Words(plain(b.id) + when(!headline, ", exploratory"))}
			for _, of := range b.only(headline) {
				if len(of.lines()) > 0 {
					g.Parts = append(g.Parts, s.diagnosticPart(of))
				}
			}
			if g.Parts != nil {
				t.Groups = append(t.Groups, g)
			}
		}
	}
	return t
}

func (s *sheet) diagnosticPart(g group) doc.Part {
	methods, changes := g.methods(), ""
	if g.series != nil {
		changes = places(g.series.Changes)
	}
	about := when(methods != "", ", by "+methods) + when(changes != "", "; the baseline's level changes at round "+changes)
	part := doc.Part{Title: append(doc.In(doc.Strong, plain(g.metric.Name)), doc.Span{Words: about})}
	for _, c := range g.lines() {
		part.Add(s.diagnosticRow(c))
	}
	return part
}

func (s *sheet) diagnosticRow(c analysis.Comparison) doc.Row {
	control := s.role(c.Arm) == experiment.Control
	cells := []string{plain(c.Arm), valueCount(c), wording.Estimate(c)}
	if !wording.Judged(c) {
		return doc.Row{Muted: control, Cells: doc.Cells(cells...)}
	}
	second := when(!c.PointOnly && c.T.Lo < c.T.Hi, when(!c.EstimatorsAgree, "≠ ")+wording.Signs.Interval(c.Metric, c.T))
	return doc.Row{Muted: control, Cells: doc.Cells(append(cells, second, wording.Probability(c.P),
		when(c.Metric.Headline && !control, wording.Probability(c.PAdjusted)), when(wording.IsRatio(c.Metric), wording.Probability(c.PEquivAdjusted)),
		when(c.MDE > 0, wording.Size(c.Metric, c.MDE)), when(c.Needed > 0, number(c.Needed)),
		when(c.Paired, wording.Fixed(c.Lag1, 2)), when(c.Paired, wording.Probability(c.OrderP)))...)}
}

// methods names where the headline intervals of a group come from.
func (g group) methods() string {
	var list []string
	for _, c := range g.lines() {
		if m := plain(c.Method); wording.Judged(c) && m != "" && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return strings.Join(list, " and ")
}
