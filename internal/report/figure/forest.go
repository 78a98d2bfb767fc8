package figure

import (
	"fmt"
	"slices"

	"tare/internal/analysis"
	"tare/internal/report/columns"
	"tare/internal/report/wording"
	"tare/internal/text/safetext"
)

// Widths of pictures in pixels, on a wide and on a narrow page.
const (
	wideWidth   = 880
	narrowWidth = 370
)

// Forest is a plot of overheads on one axis. It has a row for each arm, grouped by metric and cell.
type Forest struct {
	Baseline string  // name of the baseline
	Margin   float64 // margin of equivalence; 0: none
	Groups   []Group
	Reach    []analysis.Interval // intervals of other plots: the axis covers them, so that all plots have equal axes
}

// Split divides a plot with many rows into two. The result first has the first groups: up to limit rows, but at least
// one group.
func (f Forest) Split(limit int) (first, rest Forest) {
	n, rows := 0, 0
	for n < len(f.Groups) && (n == 0 || rows+len(f.Groups[n].Rows) <= limit) {
		rows += len(f.Groups[n].Rows)
		n++
	}
	first, rest = f, f
	first.Groups, rest.Groups = f.Groups[:n], f.Groups[n:]
	return first, rest
}

// Group is the rows of one metric in one cell.
type Group struct {
	Metric, Cell string
	Rows         []Row
}

// Row is one arm with its texts.
type Row struct {
	Arm     string
	Label   string // name of the arm with its purpose
	Look    Look
	Control bool              // the row is drawn in grey, without a verdict
	Verdict string            // verdict with its sign
	Numbers string            // overhead and interval as text
	Drawn   bool              // the row has an overhead to draw
	At      analysis.Interval // overhead and interval
	Point   bool              // the overhead has no interval

	Published []Mark // published overheads
}

// Draw draws the plot for a wide or for a narrow page.
func (f Forest) Draw(wide bool) string {
	p := f.layOut(wide)
	p.draw()
	return p.svg("Overheads relative to "+f.Baseline+" with their intervals", "")
}

// File draws the plot as a picture for a file of its own: with title, legend, style sheet and background.
func (f Forest) File(name, title, note string) string {
	const pad, head = 18, 62
	p := f.layOut(true)
	p.draw()
	outer := drawing{w: p.w + 2*pad, h: p.h + head + 2*pad - 8}
	outer.WriteString("<style>\n" + css + "</style>\n")
	outer.rect(0, 0, outer.w, outer.h, "paper")
	outer.labelled(pad, pad+16, "heading", fit(title, p.w, 17), title)
	outer.labelled(pad, pad+36, "muted", fit(note, p.w, 12), note)
	outer.WriteString(fmt.Sprintf("<g transform=\"translate(%d %d)\">\n%s</g>\n", pad, pad+head-8, p.String()))
	return outer.svg("Overheads measured by the experiment "+name, ` width="`+px(outer.w)+`" height="`+px(outer.h)+`"`)
}

// forest is a plot that is being drawn. On a narrow page, labels stand above the intervals.
type forest struct {
	drawing
	Forest
	axis              Axis
	narrow            bool
	x0, x1            float64 // left and right edge of the plot
	row               float64 // height of a row
	names             map[string]string
	marked            bool // some row has published overheads
	verdictX, numberX float64
}

// Heights of the parts of a forest plot, in pixels.
const (
	forestTop    = 26 // "gains" and "costs"
	forestHeader = 26 // height of the name of a group
	forestGap    = 8  // space after a group
	forestFoot   = 26 // height of the tick labels
	forestNote   = 16 // height of the note on an axis that is not linear
)

func (f Forest) layOut(wide bool) *forest {
	drawn := slices.Clone(f.Reach)
	var arms []string
	var marks []Mark
	longest, numbers, verdicts := 0, 14, 0
	for _, g := range f.Groups {
		for _, r := range g.Rows {
			if r.Drawn {
				drawn = append(drawn, r.At)
			}
			arms, marks = append(arms, safetext.Line(r.Arm)), append(marks, r.Published...)
			longest, numbers, verdicts = max(longest, columns.Width(r.Label)), max(numbers, columns.Width(r.Numbers)), max(verdicts, columns.Width(r.Verdict))
		}
	}
	p := &forest{Forest: f, axis: Overheads(reached(drawn, marks), f.Margin, BendRatio), narrow: !wide, marked: marks != nil}
	var room float64 // width of the names
	if p.narrow {
		p.w, p.row = narrowWidth, 50
		p.x0, p.x1, room = 8, p.w-8, p.w-30
	} else {
		p.w, p.row = wideWidth, 22
		p.x0 = min(max(float64(longest)*letter*12+24, 90), 230)
		p.numberX = p.w - float64(numbers)*letter*12
		p.verdictX = p.numberX - max(110, float64(verdicts)*letter*12+12)
		p.x1, room = p.verdictX-14, p.x0-24
	}
	p.names = columns.Abbreviate(arms, int(room/(letter*12)))
	p.h = forestTop + forestFoot
	if p.axis.Bend > 0 {
		p.h += forestNote
	}
	if p.marked {
		p.h += legendHeight
	}
	for _, g := range f.Groups {
		p.h += forestHeader + forestGap + p.row*float64(len(g.Rows))
	}
	return p
}

func (p *forest) x(v float64) float64 { return p.x0 + p.axis.At(v)*(p.x1-p.x0) }

func (p *forest) draw() {
	bottom := p.h - forestFoot
	if p.marked {
		p.legend(p.x0, p.h-6)
		bottom -= legendHeight
	}
	if p.axis.Bend > 0 {
		bottom -= forestNote
		p.text((p.x0+p.x1)/2, bottom+33, "small muted", "middle", "scale: even near zero, logarithmic beyond ±"+wording.Share(p.axis.Bend))
	}
	p.background(bottom)
	y := float64(forestTop)
	for _, g := range p.Groups {
		p.rect(0, y+2, p.w, 20, "paper")
		p.line(0, y+2.5, p.w, y+2.5, "grid")
		p.groupTitle(0, y+17, p.w, g.Metric, g.Cell, "")
		y += forestHeader
		for _, r := range g.Rows {
			p.arm(r, y)
			y += p.row
		}
		y += forestGap
	}
}

func (p *forest) background(bottom float64) {
	const y0 = forestTop - 4
	if m := p.Margin; m > 0 {
		p.rect(p.x(-m), y0, p.x(m)-p.x(-m), bottom-y0, "band")
	}
	n := max(3, int((p.x1-p.x0)/60))
	for _, v := range p.axis.ticks(n) {
		p.line(p.x(v), y0, p.x(v), bottom, gridOrZero(v))
		p.text(p.x(v), bottom+16, "small muted num", "middle", percentTick(v))
	}
	zero := p.x(0)
	if p.x1-zero > 50 {
		p.text(zero+6, 14, "small muted", "start", "costs →")
	}
	if zero-p.x0 > 50 {
		p.text(zero-6, 14, "small muted", "end", "← gains")
	}
	if p.Margin > 0 && !p.narrow {
		p.text(p.verdictX, 14, "small muted", "start", "shaded: within ±"+wording.Share(p.Margin))
	}
}

func (p *forest) arm(r Row, y float64) {
	name, class, hollow := p.names[safetext.Line(r.Arm)], "halo", ""
	if r.Control {
		class, hollow = "muted halo", " hollow"
		if name == safetext.Line(r.Arm) {
			name = r.Label
		}
	}
	line, plot := y+15, y+11
	if p.narrow { // on a narrow page, a background hides the lines behind the words
		p.rect(0, y, p.w, 34, "paper")
	}
	p.marker(8, line-4, 4.5, r.Look, hollow)
	p.labelled(20, line, class, name, r.Label)
	if p.narrow {
		plot = y + 40
		p.text(20, y+30, "small num "+class, "start", r.Verdict+" "+r.Numbers)
	} else {
		if r.Verdict != "" {
			p.text(p.verdictX, line, "strong", "start", r.Verdict)
		}
		p.text(p.numberX, line, "num "+class, "start", r.Numbers)
	}
	if !r.Drawn {
		return
	}
	if lo, hi := p.x(r.At.Lo), p.x(r.At.Hi); !r.Point {
		p.path("M"+at(lo, plot)+"H"+px(hi)+"M"+at(lo, plot-4)+"v8M"+at(hi, plot-4)+"v8", "range "+r.Look.class)
	}
	p.marker(p.x(r.At.Point), plot, 4.5, r.Look, hollow)
	p.published(r.Published, p.axis, p.x0, p.x1, p.x(r.At.Lo), p.x(r.At.Hi), plot)
}
