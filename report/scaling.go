package report

import (
	"fmt"
	"strings"

	"tare/analysis"
	"tare/experiment"
	doc "tare/report/document"
	"tare/wording"
)

// scalingNote says what the lines are, and what they are not.
const scalingNote = "A line is fitted through the levels in each round; the slope is what one more costs. " +
	"Slopes are in the metric's own unit, whatever the direction that is better. Their intervals are not corrected for their number: hints, not findings."

// scalingBlocks show how metrics grow with factors: on a terminal those that are
// the question, or all.
func (s *sheet) scalingBlocks(all bool) []doc.Block {
	if len(s.run.Scaling) == 0 {
		return nil
	}
	section := doc.Section{ID: "scaling", Title: "How it grows", Blocks: []doc.Block{doc.Say(scalingNote),
		doc.On(doc.Page, doc.Say("Dots are trials, marks the means at each level, the band is the "+
			s.confidence()+" interval of the line."))}}
	in, open := doc.Markdown|doc.Page, 0
	for i := range s.run.Scaling {
		sc := &s.run.Scaling[i]
		show, shown := chosen(sc.Metric), doc.Markdown|doc.Page
		growth := s.growthSection(sc, show && open < mostOpen)
		if show {
			open++
		}
		if show || all {
			shown |= doc.Terminal
		}
		in |= shown
		section.Blocks = append(section.Blocks, doc.On(shown, growth))
	}
	return []doc.Block{doc.On(in, section)}
}

// growthSection is one metric against one factor: "memory-istiod by objects".
func (s *sheet) growthSection(sc *analysis.Scaling, open bool) doc.Section {
	var rows []doc.Row
	for _, a := range sc.Arms {
		difference := wording.Missing
		if a.Difference != nil {
			difference = brief(wording.Steeper(sc, a.Difference))
		}
		rows = append(rows, doc.Row{Cells: doc.Cells(plain(a.Arm), brief(wording.Slope(sc, &a)), difference, brief(wording.Fit(sc, a.Fit)))})
	}
	return doc.Section{Title: plain(sc.Metric.Name) + " by " + plain(sc.Factor), Note: s.where(sc), Flush: true, Fold: doc.Page, Open: open, Blocks: []doc.Block{
		doc.Figure{Wide: func() string { return s.lineChart(sc).Draw() }},
		doc.Simple([]doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "slope"}, {Title: "compared with " + s.baseline}, {Title: "fit"}}, rows)}}
}

// chosen says whether a line is shown without being asked for: that of a headline
// metric, or of what an observed component used.
func chosen(m experiment.Metric) bool {
	return m.Headline || m.Scale == experiment.Difference && (strings.HasPrefix(m.Name, "cpu-") || strings.HasPrefix(m.Name, "memory-"))
}

// where says which cells a line is through.
func (s *sheet) where(sc *analysis.Scaling) string {
	at := []string{plain(sc.Workload)}
	for _, l := range sc.Held {
		at = append(at, plain(l.String()))
	}
	text := strings.Join(at, ", ")
	if n := len(sc.X); n > 0 {
		text += fmt.Sprintf("; %s from %s to %s", wording.Count(n, "level", "levels"), brief(wording.Level(sc.X[0], sc.Unit)), brief(wording.Level(sc.X[n-1], sc.Unit)))
	}
	return text
}
