package report

import (
	"bufio"
	"fmt"
	"html/template"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/wording"
)

// scalingNote says what the lines are, and what they are not.
const scalingNote = "A line is fitted through the levels in each round; the slope is what one more costs. " +
	"Slopes are in the metric's own unit, whatever the direction that is better. Their intervals are not corrected for their number: hints, not findings."

// growth is one metric against one factor, as the formats show it.
type growth struct {
	Title   string // "memory-istiod by objects"
	Where   string // "churn, rate=50/s; 100 to 1000 objects"
	Rows    []growthRow
	Open    bool
	Picture template.HTML
	chosen  bool // shown where there is room for few only
}

type growthRow struct{ Arm, Slope, Difference, Note string }

// growths arranges the lines of a run.
func (s *sheet) growths() []growth {
	var list []growth
	for i := range s.run.Scaling {
		sc := &s.run.Scaling[i]
		g := growth{Title: plain(sc.Metric.Name) + " by " + plain(sc.Factor), Where: s.where(sc), chosen: chosen(sc.Metric)}
		for _, a := range sc.Arms {
			row := growthRow{Arm: plain(a.Arm), Slope: brief(a.Text), Difference: wording.Missing, Note: brief(a.Fit.Text)}
			if a.Difference != nil {
				row.Difference = brief(a.Difference.Text)
			}
			g.Rows = append(g.Rows, row)
		}
		list = append(list, g)
	}
	return list
}

// chosen says whether a line is shown without being asked for: that of a headline
// metric, or of what an observed component used.
func chosen(m experiment.Metric) bool {
	return m.Headline || m.Scale == experiment.Difference && (strings.HasPrefix(m.Name, "cpu-") || strings.HasPrefix(m.Name, "memory-"))
}

// where says which cells a line is through.
func (s *sheet) where(sc *analysis.Scaling) string {
	text := plain(sc.Workload)
	for _, l := range sc.Held {
		text += ", " + plain(l.String())
	}
	if n := len(sc.X); n > 0 {
		text += fmt.Sprintf("; %s from %s to %s", wording.Count(n, "level", "levels"), level1(sc.X[0], sc.Unit), level1(sc.X[n-1], sc.Unit))
	}
	return text
}

// level1 writes one level of a factor: "1,000", "25 %".
func level1(v float64, unit string) string {
	if unit = plain(unit); unit != "" {
		return wording.Number(v, 6) + " " + unit
	}
	return wording.Number(v, 6)
}

// scaling writes the lines below the results.
func (t *terminal) scaling() {
	var shown []growth
	for _, g := range t.sheet.growths() {
		if g.chosen || t.o.All {
			shown = append(shown, g)
		}
	}
	if shown == nil {
		return
	}
	t.line("")
	t.line(t.style(bold, "How it grows"))
	var arms []string
	width := 7
	for _, g := range shown {
		for _, r := range g.Rows {
			arms = append(arms, r.Arm)
			width = max(width, cells(r.Arm))
		}
	}
	width = min(width, max(12, t.o.Width/4))
	names := abbreviate(arms, width)
	for _, g := range shown {
		t.para("  ", g.Title+" ("+g.Where+")")
		for _, r := range g.Rows {
			t.hanging(4+width+2, "    "+pad(names[r.Arm], width)+"  ", r.Slope)
			for _, more := range []string{r.Difference, r.Note} {
				if more != wording.Missing && more != "" {
					t.hanging(4+width+2, "", more)
				}
			}
		}
	}
	t.para("  ", scalingNote)
}

// hanging writes text behind a head, all its lines indented alike.
func (t *terminal) hanging(indent int, head, text string) {
	for i, l := range wrap(text, max(20, t.o.Width-indent)) {
		if i > 0 || head == "" {
			head = strings.Repeat(" ", indent)
		}
		t.line(head + l)
		head = ""
	}
}

// markdownScaling writes a table for each line.
func (s *sheet) markdownScaling(b *bufio.Writer) {
	list := s.growths()
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "## How it grows\n\n%s\n\n", md(scalingNote))
	for _, g := range list {
		fmt.Fprintf(b, "### %s\n\n%s\n\n| arm | slope | compared with %s | fit |\n|---|---|---|---|\n", md(g.Title), md(g.Where), md(s.baseline))
		for _, r := range g.Rows {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", md(r.Arm), md(r.Slope), md(r.Difference), md(r.Note))
		}
		fmt.Fprintln(b)
	}
}

// scaling draws and tells the lines on the page.
func (p *page) scaling(s *sheet) {
	p.ScalingNote = scalingNote
	p.Scaling = s.growths()
	open := 0
	for i := range p.Scaling {
		g := &p.Scaling[i]
		g.Picture = template.HTML(s.scalingChart(&s.run.Scaling[i]))
		if g.Open = g.chosen && open < mostOpen; g.Open {
			open++
		}
	}
}
