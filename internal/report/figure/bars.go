package figure

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/analysis"
	"tare/internal/lists"
	"tare/internal/report/columns"
	"tare/internal/report/wording"
	"tare/internal/text/safetext"
)

// Bars draws values of arms as bars from zero. Each metric in each cell is a group with its own axis.
type Bars struct{ Groups []BarGroup }

// BarGroup holds the bars of one metric in one cell.
type BarGroup struct {
	Metric, Cell string
	Note         string // text that says which direction of the metric is better
	Bars         []Bar
}

// Bar is the value of one arm.
type Bar struct {
	Arm   string
	Look  Look
	Value string            // value and interval as text
	At    analysis.Interval // end of the bar, and the interval drawn over it

	Published []Mark // published values
}

// Axis returns an axis that covers all bars of the group, and zero.
func (g BarGroup) Axis() Axis {
	var a Axis
	drawn := lists.Map(g.Bars, func(b Bar) analysis.Interval { return b.At })
	for _, i := range reached(drawn, g.marks()) {
		a.Lo, a.Hi = min(a.Lo, bounded(i.Lo)), max(a.Hi, bounded(i.Hi))
	}
	return a
}

func (g BarGroup) marks() (list []Mark) {
	for _, b := range g.Bars {
		list = append(list, b.Published...)
	}
	return list
}

// Sizes of bars in pixels. Names and values stand above a bar, so that no line crosses them.
const (
	barsGap   = 28 // space between two groups side by side
	barsHead  = 24
	barPitch  = 31
	barHeight = 9
	barsFoot  = 12
)

// Draw draws the bars. A wide page has two groups beside each other, a narrow one a single column.
func (b Bars) Draw(wide bool) string {
	across, d := 1, &drawing{w: narrowWidth}
	if wide {
		d.w = wideWidth
		across = min(2, len(b.Groups))
	}
	width := (d.w - barsGap*float64(across-1)) / float64(max(across, 1))
	for i := 0; i < len(b.Groups); i += across {
		tallest := 0
		for k, g := range b.Groups[i:min(i+across, len(b.Groups))] {
			d.bars(g, float64(k)*(width+barsGap), d.h, width)
			tallest = max(tallest, len(g.Bars))
		}
		d.h += barsHead + barPitch*float64(tallest) + barsFoot
	}
	if slices.ContainsFunc(b.Groups, func(g BarGroup) bool { return g.marks() != nil }) {
		d.h += legendHeight
		d.legend(0, d.h-6)
	}
	return d.svg("Values of the arms with their intervals", "")
}

func (d *drawing) bars(g BarGroup, left, top, width float64) {
	d.groupTitle(left, top+14, width, g.Metric, g.Cell, ", "+g.Note)
	axis := g.Axis()
	x := func(v float64) float64 { return left + axis.At(v)*(width-4) }
	for i, b := range g.Bars {
		y := top + barsHead + barPitch*float64(i)
		taken := float64(columns.Width(b.Value)) * letter * 12
		d.marker(left+6, y+5, 4, b.Look, "")
		d.labelled(left+16, y+9, "", fit(b.Arm, width-taken-28, 12), b.Arm)
		d.text(left+width, y+9, "num", "end", b.Value)
		end, zero := x(b.At.Point), x(0)
		d.rect(min(zero, end), y+14, max(end-zero, zero-end), barHeight, "bar "+b.Look.class)
		mid := y + 14 + barHeight/2.
		if lo, hi := x(b.At.Lo), x(b.At.Hi); b.At.Lo < b.At.Hi {
			d.path("M"+at(lo, mid)+"H"+px(hi)+"M"+at(lo, mid-4)+"v8M"+at(hi, mid-4)+"v8", "range "+b.Look.class)
		}
		d.published(b.Published, axis, left, left+width-4, x(b.At.Lo), x(b.At.Hi), mid)
	}
}

// Sizes of the pictures of one metric, in pixels. Box plot and run chart have the same rows, so that the two pictures
// line up side by side.
const (
	boxesWidth    = 400
	runChartWidth = 460
	lanePitch     = 54 // height of the lane of one arm
	laneTop       = 6
	laneFoot      = 38 // height of the axis and its title
)

// ManyDots is the largest number of trials drawn one by one. With more trials, a box plot shows evenly chosen trials
// and a run chart shows bands.
const ManyDots = 240

// fewestBoxed is the smallest number of trials for a box. The quartiles of fewer trials are little more than
// the trials themselves.
const fewestBoxed = 8

// Boxes is a box plot of one metric in one cell.
type Boxes struct {
	Metric, Cell string
	Unit         string
	Arms         []Arm // arms from top to bottom; a line at the first arm's median crosses all lanes
}

// Arm is the trials of one arm.
type Arm struct {
	Name    string
	Look    Look
	Values  []float64
	Summary analysis.Summary
}

// Draw draws a box from quartile to quartile, for each arm with enough trials. Whiskers reach to values within 1.5
// interquartile ranges. Dots are trials, circles values beyond. Source: Tukey 1977, Exploratory Data Analysis, section
// 2D.
func (b Boxes) Draw() string {
	d := &drawing{w: boxesWidth, h: laneTop + laneFoot + lanePitch*float64(len(b.Arms))}
	var ends []float64
	var names []string
	for _, a := range b.Arms {
		names = append(names, a.Name)
		if a.Summary.N > 0 {
			ends = append(ends, a.Summary.Min, a.Summary.Max)
		}
	}
	ax := axisOver(ends...)
	unit := ax.unit(b.Unit)
	x := func(v float64) float64 { return 8 + ax.At(v)*(boxesWidth-16) }
	bottom := d.h - laneFoot
	ticks, labels := ax.inUnit(unit, 4, 1e9)
	for i, t := range ticks {
		d.line(x(t), laneTop, x(t), bottom, "grid")
		d.tick(x(t), bottom, labels[i])
	}
	d.text(d.w/2, bottom+30, "small muted", "middle", unit.Label)
	if len(b.Arms) > 0 && b.Arms[0].Summary.N > 0 {
		m := x(b.Arms[0].Summary.Median)
		d.line(m, laneTop, m, bottom, "edge")
	}
	short := abbreviated(names, boxesWidth-150)
	for i, a := range b.Arms {
		d.box(a, x, laneTop+lanePitch*float64(i), short[i], unit)
	}
	return d.svg(fmt.Sprintf("Box plots of %s, %s", b.Metric, b.Cell), "")
}

func abbreviated(names []string, room float64) []string {
	safe := lists.Map(names, safetext.Line)
	short := columns.Abbreviate(safe, int(room/(letter*12)))
	for i, name := range safe {
		safe[i] = short[name]
	}
	return safe
}

func (d *drawing) box(a Arm, x func(float64) float64, top float64, name string, unit wording.Scale) {
	m := a.Summary
	if m.N == 0 {
		d.laneLabel(top, a.Look, name, a.Name, "no valid trial")
		return
	}
	mid := top + laneMiddle
	if m.N >= fewestBoxed {
		lo, hi := a.whiskers()
		ends := "M" + at(x(lo), mid-5) + "v10M" + at(x(hi), mid-5) + "v10"
		d.path("M"+at(x(lo), mid)+"H"+px(x(m.Q1))+ends+"M"+at(x(m.Q3), mid)+"H"+px(x(hi)), "thin "+a.Look.class)
		d.rect(x(m.Q1), mid-9, x(m.Q3)-x(m.Q1), 18, "box "+a.Look.class)
	}
	d.line(x(m.Median), mid-9, x(m.Median), mid+9, "middle "+a.Look.class)
	d.dots(a, x, mid)
	d.laneLabel(top, a.Look, name, a.Name, fmt.Sprintf("median %s, n = %d", unit.With(m.Median), m.N))
}

// fences returns the limits of usual values, 1.5 interquartile ranges below and above the box. Values beyond
// a limit are drawn as circles.
func (a Arm) fences() (lo, hi float64) {
	reach := 1.5 * (a.Summary.Q3 - a.Summary.Q1)
	return a.Summary.Q1 - reach, a.Summary.Q3 + reach
}

// whiskers returns the ends of a box plot's whiskers: the smallest and largest value between the fences, or the box's
// end if none lies beyond the box.
func (a Arm) whiskers() (lo, hi float64) {
	least, most := a.fences()
	lo, hi = a.Summary.Q1, a.Summary.Q3
	for _, v := range a.Values {
		if v >= least && v <= most {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// laneLabel writes an arm's name above its lane, and a note at the right. A background hides the lines behind the
// texts.
func (d *drawing) laneLabel(top float64, l Look, short, name, note string) {
	d.rect(0, top, d.w, 18, "paper")
	d.marker(8, top+9, 4, l, "")
	d.labelled(18, top+13, "halo", short, name)
	d.text(d.w-6, top+13, "small muted num halo", "end", note)
}

// tick writes the label of a tick below a picture's axis. Labels near the edge are moved into the picture.
func (d *drawing) tick(at, bottom float64, label string) {
	half := textWidth(label, 11) / 2
	d.text(min(max(at, half), d.w-half), bottom+14, "small muted num", "middle", label)
}

func (d *drawing) mark(at, bottom float64, label string) {
	d.line(at, bottom, at, bottom+3, "grid")
	d.tick(at, bottom, label)
}

func (d *drawing) dots(a Arm, x func(float64) float64, mid float64) {
	lo, hi := a.fences()
	step := max(1, (len(a.Values)+ManyDots-1)/ManyDots)
	in, out := "", ""
	circles, least, most := 0, false, false
	for i, v := range a.Values {
		if !wording.Finite(v) {
			continue
		}
		y := mid + jitter(i)*7
		switch {
		case (v < lo || v > hi) && (circles < ManyDots/4 || v == a.Summary.Min && !least || v == a.Summary.Max && !most):
			circles++
			least, most = least || v == a.Summary.Min, most || v == a.Summary.Max
			out += "M" + at(x(v)-3.4, y) + "a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0"
		case i%step == 0:
			in += "M" + at(x(v), y) + "h0"
		}
	}
	d.path(in, "dots "+a.Look.class)
	d.path(out, "out "+a.Look.class)
}

// jitter moves the i-th dot by a value in −1…1, against overlap. The values are fractional parts of multiples of the
// golden ratio, which fill the range evenly.
func jitter(i int) float64 {
	_, f := math.Modf(float64(i+1) * 0.6180339887498949)
	return 2*f - 1
}
