package report

import (
	"fmt"
	"math"
	"strings"

	"tare/analysis"
	"tare/report/columns"
	"tare/wording"
)

// Sizes of the pictures of one metric. Box plot and run chart have the same
// rows, so that they line up side by side.
const (
	boxesWidth    = 400
	runChartWidth = 460
	lanePitch     = 54 // one arm
	laneTop       = 6
	laneFoot      = 38 // axis and its title
)

// manyDots is how many trials are drawn one by one; beyond it a box plot shows
// evenly chosen ones and a run chart shows bands.
const manyDots = 240

// Boxes draws one box per arm of one metric in one cell as an SVG picture: box
// from quartile to quartile, whiskers from minimum to maximum, values further
// than 1.5 interquartile ranges from the box as circles, every trial as a dot.
// It is empty if the run has no such series.
func Boxes(r *analysis.Run, cell, metric string) string {
	s := arrange(r)
	if g := s.find(cell, metric); g != nil {
		return s.boxes(*g)
	}
	return ""
}

// find looks up the group of a metric in a cell that has a series.
func (s *sheet) find(cell, metric string) *group {
	for _, b := range s.blocks {
		for i, g := range b.groups {
			if g.cell == cell && g.metric.Name == metric && g.series != nil {
				return &b.groups[i]
			}
		}
	}
	return nil
}

// boxes draws the box plot of a group.
func (s *sheet) boxes(g group) string {
	arms := g.series.Arms
	d := &drawing{w: boxesWidth, h: laneTop + laneFoot + lanePitch*float64(len(arms))}
	d.start(fmt.Sprintf("Box plots of %s in %s", g.metric.Name, g.cell))
	var ends []float64
	for _, a := range arms {
		if a.Summary.N > 0 {
			ends = append(ends, a.Summary.Min, a.Summary.Max)
		}
	}
	ax := hold(ends...)
	unit := wording.ScaleOf(g.metric.Unit, max(abs(ax.lo), abs(ax.hi)))
	x := func(v float64) float64 { return 8 + ax.at(v)*(boxesWidth-16) }
	bottom := d.h - laneFoot
	d.scaleBelow(ax, unit, x, bottom)
	if len(arms) > 0 && arms[0].Summary.N > 0 {
		m := x(arms[0].Summary.Median)
		d.line(m, laneTop, m, bottom, "edge")
	}
	names := s.seriesNames(arms, boxesWidth-150)
	for i, a := range arms {
		d.box(a, s.looks(a.Arm), x, laneTop+lanePitch*float64(i), names[plain(a.Arm)], unit)
	}
	d.end()
	return d.String()
}

// seriesNames are the arms' names, shortened to the room.
func (s *sheet) seriesNames(arms []analysis.ArmSeries, room float64) map[string]string {
	var names []string
	for _, a := range arms {
		names = append(names, plain(a.Arm))
	}
	return columns.Abbreviate(names, int(room/(letter*12)))
}

// scaleBelow draws the axis of values with its grid and unit.
func (d *drawing) scaleBelow(ax axis, unit wording.Scale, x func(float64) float64, bottom float64) {
	inUnit := axis{lo: ax.lo / unit.Div, hi: ax.hi / unit.Div}
	ticks := inUnit.ticks(4)
	decimals := 0
	if len(ticks) > 1 {
		decimals = max(0, int(math.Ceil(-math.Log10(ticks[1]-ticks[0])-1e-9)))
	}
	for _, t := range ticks {
		at := x(t * unit.Div)
		d.line(at, laneTop, at, bottom, "grid")
		label := wording.Fixed(t, decimals)
		if decimals > 9 || abs(t) >= 1e9 {
			label = wording.Number(t, 4)
		}
		d.tick(at, bottom, label)
	}
	d.text(d.w/2, bottom+30, "small muted", "middle", unit.Label)
}

// box draws one arm's lane.
func (d *drawing) box(a analysis.ArmSeries, l looks, x func(float64) float64, top float64, name string, unit wording.Scale) {
	m := a.Summary
	if m.N == 0 {
		d.laneLabel(top, l, name, a.Arm, "no valid trial")
		return
	}
	mid := top + laneMiddle
	d.path(fmt.Sprintf("M%s %sH%sM%s %sv10M%s %sv10M%s %sH%s", px(x(m.Min)), px(mid), px(x(m.Q1)), px(x(m.Min)), px(mid-5),
		px(x(m.Max)), px(mid-5), px(x(m.Q3)), px(mid), px(x(m.Max))), "thin "+l.class)
	d.rect(x(m.Q1), mid-9, x(m.Q3)-x(m.Q1), 18, "box "+l.class)
	d.line(x(m.Median), mid-9, x(m.Median), mid+9, "middle "+l.class)
	d.dots(a, l, x, mid)
	d.laneLabel(top, l, name, a.Arm, "median "+unit.With(m.Median))
}

// laneLabel names an arm's lane, and says something of it at the right. It is drawn
// last, so that what reaches up there passes behind it.
func (d *drawing) laneLabel(top float64, l looks, short, name, note string) {
	d.marker(8, top+9, 4, l, "")
	d.labelled(18, top+13, "halo", short, name)
	d.text(d.w-6, top+13, "small muted num halo", "end", note)
}

// tick labels a place of the axis below a picture, within the picture.
func (d *drawing) tick(at, bottom float64, label string) {
	half := float64(columns.Width(label)) * letter * 11 / 2
	d.text(min(max(at, half), d.w-half), bottom+14, "small muted num", "middle", label)
}

// dots draws the trials of an arm, outliers as circles.
func (d *drawing) dots(a analysis.ArmSeries, l looks, x func(float64) float64, mid float64) {
	reach := 1.5 * (a.Summary.Q3 - a.Summary.Q1)
	lo, hi := a.Summary.Q1-reach, a.Summary.Q3+reach
	step := max(1, (len(a.Values)+manyDots-1)/manyDots)
	var in, out strings.Builder
	circles, least, most := 0, false, false
	for i, v := range a.Values {
		if !wording.Finite(v) {
			continue
		}
		at, y := x(v), mid+jitter(i)*7
		switch {
		case (v < lo || v > hi) && (circles < manyDots/4 || v == a.Summary.Min && !least || v == a.Summary.Max && !most):
			circles++
			least, most = least || v == a.Summary.Min, most || v == a.Summary.Max
			out.WriteString("M" + px(at-3.4) + " " + px(y) + "a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0")
		case i%step == 0:
			in.WriteString("M" + px(at) + " " + px(y) + "h0")
		}
	}
	if in.Len() > 0 {
		d.path(in.String(), "dots "+l.class)
	}
	if out.Len() > 0 {
		d.path(out.String(), "out "+l.class)
	}
}

// jitter spreads dots that would hide each other: a fixed sequence in -1…1 that
// fills the room evenly (the fractional parts of multiples of the golden ratio).
func jitter(i int) float64 {
	_, f := math.Modf(float64(i+1) * 0.6180339887498949)
	return 2*f - 1
}
