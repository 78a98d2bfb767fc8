package figure

import (
	"tare/internal/analysis"
	"tare/internal/report/columns"
)

// Bars draws values of arms as bars from zero. Each metric in each cell is a group with its own axis.
type Bars struct{ Groups []BarGroup }

// BarGroup is the bars of one metric in one cell.
type BarGroup struct {
	Metric, Cell string
	Note         string // the better direction
	Bars         []Bar
}

// Bar is one arm.
type Bar struct {
	Arm   string
	Look  Look
	Value string            // value and interval as text
	At    analysis.Interval // end of the bar, and the interval drawn over it
}

// Axis covers all bars of the group and zero.
func (g BarGroup) Axis() Axis {
	var a Axis
	for _, b := range g.Bars {
		a.Lo, a.Hi = min(a.Lo, bounded(b.At.Lo)), max(a.Hi, bounded(b.At.Hi))
	}
	return a
}

// Sizes of bars in pixels. Names and values stand above a bar, so that no line crosses them.
const (
	barsGap   = 28 // between groups beside each other
	barsHead  = 24
	barPitch  = 31
	barHeight = 9
	barsFoot  = 12
)

// Draw draws the bars. A wide page has two groups beside each other, a narrow one a single column.
func (b Bars) Draw(wide bool) string {
	across, d := 1, &drawing{w: forestNarrow}
	if wide {
		d.w = forestWide
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
	}
}
