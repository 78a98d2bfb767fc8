package report

import (
	"fmt"
	"slices"

	"tare/analysis"
	"tare/experiment"
	"tare/report/columns"
	"tare/wording"
)

// Widths of pictures in pixels: forest plots on a wide and on a narrow page.
const (
	forestWide   = 880
	forestNarrow = 370
)

// Forest draws the overheads of the headline metrics with their intervals as an
// SVG picture: one row per arm, grouped by metric and cell, the control in grey.
// It needs the styles of a page; Figure stands on its own.
func Forest(r *analysis.Run) string {
	s := arrange(r)
	return s.forest(s.ratioGroups(), forestWide)
}

// ratioGroups are the groups of headline metrics that a forest plot can show on one axis: those with
// an overhead as a share.
func (s *sheet) ratioGroups() []group {
	return slices.DeleteFunc(s.groups(true), func(g group) bool {
		return !wording.IsRatio(g.metric) || !slices.ContainsFunc(g.lines(), wording.Judged)
	})
}

// forest draws the groups at a width.
func (s *sheet) forest(groups []group, width float64) string {
	f := s.plant(groups, width)
	f.start(fmt.Sprintf("Overheads relative to %s with their intervals", s.baseline))
	f.grow(0)
	f.end()
	return f.String()
}

// forest is a forest plot under way. On a narrow page labels stand above the
// intervals instead of beside them.
type forest struct {
	drawing
	sheet    *sheet
	groups   []group
	axis     axis
	narrow   bool
	x0, x1   float64 // the plot's left and right edge
	row      float64 // height of a row
	names    map[string]string
	verdictX float64
	numberX  float64
}

// Heights of the parts of a forest plot.
const (
	forestTop    = 26 // "gains" and "costs"
	forestHeader = 26 // name of a group
	forestGap    = 8  // after a group
	forestFoot   = 26 // tick labels
	forestNote   = 16 // what kind of axis it is, if not an even one
)

// plant lays a forest plot out.
func (s *sheet) plant(groups []group, width float64) *forest {
	var cs []analysis.Comparison
	var arms []string
	for _, g := range groups {
		cs = append(cs, g.lines()...)
	}
	longest, numbers, marked := 0, 14, s.run.Observational != ""
	for _, c := range cs {
		arms = append(arms, plain(c.Arm))
		longest = max(longest, columns.Width(s.label(c)))
		numbers, marked = max(numbers, columns.Width(wording.Estimate(c))), marked || observed(c)
	}
	f := &forest{sheet: s, groups: groups, axis: overheadAxis(cs, s.margin()), narrow: width < 560, row: 22}
	f.w = width
	labels := min(max(float64(longest)*letter*12+24, 90), 230)
	f.numberX = width - float64(numbers)*letter*12
	f.x0, f.verdictX = labels, f.numberX-110
	if marked {
		f.verdictX -= 34 // verdicts are longer
	}
	f.x1 = f.verdictX - 14
	room := labels - 24
	if f.narrow {
		f.x0, f.x1, f.row, room = 8, width-8, 50, width-30
	}
	f.names = columns.Abbreviate(arms, int(room/(letter*12)))
	f.h = forestTop + forestFoot
	if f.axis.bend > 0 {
		f.h += forestNote
	}
	for _, g := range groups {
		f.h += forestHeader + forestGap + f.row*float64(len(g.lines()))
	}
	return f
}

// label is what stands beside a row.
func (s *sheet) label(c analysis.Comparison) string {
	if s.role(c.Arm) == experiment.Control {
		return plain(c.Arm) + " (noise floor)"
	}
	return plain(c.Arm)
}

func (f *forest) x(v float64) float64 { return f.x0 + f.axis.at(v)*(f.x1-f.x0) }

// grow draws everything from the given height down.
func (f *forest) grow(top float64) {
	bottom := top + f.h - forestFoot
	if f.axis.bend > 0 {
		bottom -= forestNote
		f.text((f.x0+f.x1)/2, bottom+33, "small muted", "middle", "scale: even near zero, logarithmic beyond ±"+wording.Share(f.axis.bend))
	}
	f.ground(top, bottom)
	y := top + forestTop
	for _, g := range f.groups {
		f.header(g, y)
		y += forestHeader
		for _, c := range g.lines() {
			f.comparison(c, y)
			y += f.row
		}
		y += forestGap
	}
}

// ground draws the margin band, the grid, the zero line and the axis labels.
func (f *forest) ground(top, bottom float64) {
	y0 := top + forestTop - 4
	if m := f.sheet.margin(); m > 0 {
		f.rect(f.x(-m), y0, f.x(m)-f.x(-m), bottom-y0, "band")
	}
	n := max(3, int((f.x1-f.x0)/60))
	for _, v := range f.axis.ticks(n) {
		class := "grid"
		if v == 0 {
			class = "zero"
		}
		f.line(f.x(v), y0, f.x(v), bottom, class)
		f.text(f.x(v), bottom+16, "small muted num", "middle", percentTick(v))
	}
	zero := f.x(0)
	if f.x1-zero > 50 {
		f.text(zero+6, top+14, "small muted", "start", "costs →")
	}
	if zero-f.x0 > 50 {
		f.text(zero-6, top+14, "small muted", "end", "← gains")
	}
	if m := f.sheet.margin(); m > 0 && !f.narrow {
		f.text(f.verdictX, top+14, "small muted", "start", "shaded: within ±"+wording.Share(m))
	}
}

// header names the metric and the cell of a group.
func (f *forest) header(g group, y float64) {
	f.rect(0, y+2, f.w, 20, "paper")
	f.line(0, y+2.5, f.w, y+2.5, "grid")
	room := f.w / (letter * 12)
	name := columns.Shorten(plain(g.metric.Name), int(room*0.6), "…")
	cell := columns.Shorten(plain(g.cell), max(4, int(room)-columns.Width(name)-2), "…")
	f.WriteString(`<text x="0" y="` + px(y+17) + `"><title>` + escape(g.metric.Name+" in "+g.cell) + `</title><tspan` + styled("strong") + ">" +
		escape(name) + "</tspan><tspan" + styled("muted") + ` dx="10">` + escape(cell) + "</tspan></text>\n")
}

// comparison draws one row.
func (f *forest) comparison(c analysis.Comparison, y float64) {
	control := f.sheet.role(c.Arm) == experiment.Control
	look := f.sheet.looks(c.Arm)
	hollow := ""
	if control {
		hollow = " hollow"
	}
	name, class := f.names[plain(c.Arm)], "halo"
	if control {
		class = "muted halo"
		if name == plain(c.Arm) {
			name = f.sheet.label(c)
		}
	}
	verdict := f.sheet.verdictWord(c)
	if control {
		verdict = ""
	}
	line, plot := y+15, y+11
	f.marker(8, line-4, 4.5, look, hollow)
	f.labelled(20, line, class, name, f.sheet.label(c))
	numbers := wording.Estimate(c)
	switch {
	case f.narrow:
		plot = y + 40
		if verdict != "" {
			numbers = verdictStyle(c.Verdict).Sign() + " " + verdict + " " + numbers
		}
		f.text(20, y+30, "small num "+class, "start", numbers)
	default:
		if verdict != "" {
			f.text(f.verdictX, line, "strong", "start", verdictStyle(c.Verdict).Sign()+" "+verdict)
		}
		f.text(f.numberX, line, "num "+class, "start", numbers)
	}
	if !wording.Judged(c) {
		return
	}
	if lo, hi := f.x(c.Overhead.Lo), f.x(c.Overhead.Hi); !c.PointOnly {
		f.path(fmt.Sprintf("M%s %sH%sM%s %sv8M%s %sv8", px(lo), px(plot), px(hi), px(lo), px(plot-4), px(hi), px(plot-4)), "range "+look.class)
	}
	f.marker(f.x(c.Overhead.Point), plot, 4.5, look, hollow)
}
