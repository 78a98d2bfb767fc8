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

// trialSection draws every trial.
func (s *sheet) trialSection() doc.Section {
	section := doc.Section{ID: "trials", Title: "Every trial"}
	open := 0
	var cells []doc.Block
	for _, b := range s.blocks {
		cell := doc.Section{Title: plain(b.id)}
		for _, headline := range []bool{true, false} {
			for _, g := range b.only(headline) {
				if g.series == nil {
					continue
				}
				show := headline && open < mostOpen
				if show {
					open++
				}
				cell.Blocks = append(cell.Blocks, doc.Section{Title: plain(g.metric.Name), Note: g.note(), Fold: doc.Page, Open: show, Blocks: []doc.Block{
					doc.Pair{Left: func() string { return s.boxes(g).Draw() }, Right: func() string { return s.runChart(g).Draw() }}}})
			}
		}
		if cell.Blocks != nil {
			cells = append(cells, cell)
		}
	}
	text := "There is no valid trial."
	if cells != nil {
		text = "Left, the values of each arm: the box holds the middle half, the bar in it is the median, whiskers reach from minimum to maximum, dots are trials, " +
			"circles lie further than 1.5 interquartile ranges from the box; the dotted line is the baseline's median. "
		if s.plan.Paired() {
			text += "Right, the same trials over time, each arm around its own median; an arrow points to a trial beyond the lane, crosses are invalid trials, a triangle marks a change of the baseline's level."
		} else {
			text += "Right, the same trials in the order measured, each arm around its own median and with an axis of its own; an arrow points to a trial beyond the lane, a triangle marks a change of the arm's level."
		}
		if s.run.Rounds > figure.ManyDots {
			text += fmt.Sprintf(" As each arm has more than %d trials, the dots are an even choice of them, and the lanes show the range and the median of neighbouring trials.", figure.ManyDots)
		}
	}
	section.Blocks = append([]doc.Block{doc.Say(text)}, cells...)
	return section
}

// note says what kind of metric a group shows.
func (g group) note() string {
	var parts []string
	if g.metric.Better != "" {
		parts = append(parts, plain(string(g.metric.Better))+" is better")
	}
	if !g.metric.Headline {
		parts = append(parts, "exploratory")
	}
	return strings.Join(parts, ", ")
}

// diagnosticSection is what the method says about itself.
func (s *sheet) diagnosticSection() doc.Section {
	text := "What the method says about itself."
	if n := s.run.Family; n > 0 {
		text += fmt.Sprintf(" %s tested together and corrected by Holm's method.",
			wording.Count(n, "comparison of a headline metric is", "comparisons of headline metrics are"))
	}
	section := doc.Section{ID: "diagnostics", Title: "Diagnostics", Blocks: []doc.Block{doc.Say(text)}}
	if t := s.diagnosticTable(); len(t.Groups) > 0 {
		section.Blocks = append(section.Blocks, t)
	}
	section.Blocks = append(section.Blocks, s.seriesBlocks()...)
	if hints := s.warnings(false); len(hints) > 0 {
		hints = hints[:min(len(hints), mostWarnings)]
		section.Blocks = append(section.Blocks, doc.Section{Title: "Warnings on exploratory metrics", Fold: doc.Page, Blocks: []doc.Block{doc.List{Items: doc.Each(hints)}}})
	}
	section.Blocks = append(section.Blocks, doc.Section{Title: "What the columns mean", Fold: doc.Page, Blocks: []doc.Block{doc.Facts{Look: doc.Terms, List: s.columnTerms()}}})
	return section
}

// diagnosticTable shows how sure each comparison is, by either estimator.
func (s *sheet) diagnosticTable() doc.Table {
	second, paired := "paired t", doc.Forms(0)
	if !s.plan.Paired() {
		second, paired = "Welch's t", doc.Nowhere
	}
	t := doc.Table{Dense: true, Columns: []doc.Column{{Title: "metric and arm", Kind: doc.Name}, {Title: strings.ToLower(s.sizeHead()), Right: true},
		{Title: "headline estimate", Right: true}, {Title: second, Right: true}, {Title: "p", Right: true}, {Title: "p (Holm)", Right: true},
		{Title: "p (equiv.)", Right: true}, {Title: "MDE", Right: true}, {Title: "needed", Right: true},
		{Title: "lag-1", Right: true, In: paired}, {Title: "order p", Right: true, In: paired}}}
	for _, headline := range []bool{true, false} {
		for _, b := range s.blocks {
			title := plain(b.id)
			if !headline {
				title += ", exploratory"
			}
			g := doc.Group{Title: doc.Words(title)}
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

// diagnosticPart shows the comparisons of one metric.
func (s *sheet) diagnosticPart(g group) doc.Part {
	part := doc.Part{Title: doc.In(doc.Strong, plain(g.metric.Name))}
	say := func(text string) { part.Title = append(part.Title, doc.Span{Words: text}) }
	if m := g.methods(); m != "" {
		say(", by " + m)
	}
	if c := g.changes(); c != "" {
		say("; " + c)
	}
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
	second, holm, equiv, mde, needed, lag1, order := "", "", "", "", "", "", ""
	if !c.PointOnly && c.T.Lo < c.T.Hi {
		if second = wording.Signs.Interval(c.Metric, c.T); !c.EstimatorsAgree {
			second = "≠ " + second
		}
	}
	if c.Metric.Headline && !control {
		holm = wording.Probability(c.PAdjusted)
	}
	if wording.IsRatio(c.Metric) {
		equiv = wording.Probability(c.PEquivAdjusted)
	}
	if c.MDE > 0 {
		mde = wording.Size(c.Metric, c.MDE)
	}
	if c.Needed > 0 {
		needed = wording.Number(float64(c.Needed), 9)
	}
	if c.Paired {
		lag1, order = wording.Fixed(c.Lag1, 2), wording.Probability(c.OrderP)
	}
	return doc.Row{Muted: control, Cells: doc.Cells(append(cells, second, wording.Probability(c.P), holm, equiv, mde, needed, lag1, order)...)}
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

// changes says at which rounds the baseline's level changed.
func (g group) changes() string {
	if g.series == nil || len(g.series.Changes) == 0 {
		return ""
	}
	return "the baseline's level changes at round " + places(g.series.Changes)
}
