package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/analysis"
	"tare/wording"
)

// Sizes of the picture of a line.
const (
	scalingWidth  = 640
	scalingPlot   = 260 // height of the plot
	scalingLeft   = 64
	scalingRight  = scalingWidth - 16
	scalingLegend = 18 // height of one arm's line above the plot
)

// ScalingChart draws a metric against the levels of a factor as an SVG picture:
// every trial as a dot, the mean of each arm at each level as its marker, the
// line fitted in each round with the band of its interval. It is empty if the run
// has no such line. The index counts the run's lines.
func ScalingChart(r *analysis.Run, index int) string {
	if index < 0 || index >= len(r.Scaling) {
		return ""
	}
	return arrange(r).scalingChart(&r.Scaling[index])
}

// scalingPicture is such a picture under way.
type scalingPicture struct {
	drawing
	sheet  *sheet
	sc     *analysis.Scaling
	top    float64
	across axis
	up     axis
}

// scalingChart draws one line of every arm.
func (s *sheet) scalingChart(sc *analysis.Scaling) string {
	c := &scalingPicture{sheet: s, sc: sc, top: 22 + scalingLegend*float64(len(sc.Arms))}
	c.w, c.h = scalingWidth, c.top+scalingPlot+laneFoot
	c.start(fmt.Sprintf("%s by %s", sc.Metric.Name, sc.Factor))
	c.axes()
	c.scales()
	for _, a := range sc.Arms {
		c.band(a)
	}
	for i, a := range sc.Arms {
		c.trials(a, i)
	}
	for i, a := range sc.Arms {
		c.fitted(a)
		c.legend(a, i)
	}
	c.end()
	return c.String()
}

// axes hold the levels, and everything that is drawn at them.
func (c *scalingPicture) axes() {
	c.across = hold(c.sc.X...)
	var ends []float64
	for _, a := range c.sc.Arms {
		for _, i := range a.Line {
			ends = append(ends, i.Point)
		}
		ends = append(ends, a.Means...)
		for _, v := range c.values(a) {
			ends = append(ends, v...)
		}
	}
	c.up = hold(ends...)
}

func (c *scalingPicture) x(v float64) float64 {
	return scalingLeft + c.across.at(bounded(v))*(scalingRight-scalingLeft)
}

func (c *scalingPicture) y(v float64) float64 {
	return c.top + (1-c.up.at(bounded(v)))*scalingPlot
}

// values are those of an arm at each level, in the rounds that its line is from.
func (c *scalingPicture) values(a analysis.ScalingArm) [][]float64 {
	list := make([][]float64, len(c.sc.Cells))
	for k, cell := range c.sc.Cells {
		g := c.sheet.find(cell, c.sc.Metric.Name)
		if g == nil {
			continue
		}
		for _, series := range g.series.Arms {
			if series.Arm != a.Arm {
				continue
			}
			for i, v := range series.Values {
				if i < len(series.Rounds) && slices.Contains(a.Rounds, series.Rounds[i]) && wording.Finite(v) {
					list[k] = append(list[k], v)
				}
			}
		}
	}
	return list
}

// scales draws both axes with their grid.
func (c *scalingPicture) scales() {
	unit := wording.ScaleOf(c.sc.Metric.Unit, max(abs(c.up.lo), abs(c.up.hi)))
	ticks := (axis{lo: c.up.lo / unit.Div, hi: c.up.hi / unit.Div}).ticks(5)
	decimals := 0
	if len(ticks) > 1 {
		decimals = min(9, max(0, int(math.Ceil(-math.Log10(ticks[1]-ticks[0])-1e-9))))
	}
	for _, t := range ticks {
		y := c.y(t * unit.Div)
		c.line(scalingLeft, y, scalingRight, y, "grid")
		label := wording.Fixed(t, decimals)
		if abs(t) >= 1e7 {
			label = wording.Number(t, 4)
		}
		c.text(scalingLeft-6, y+4, "small muted num", "end", fit(label, scalingLeft-8, 11))
	}
	c.text(scalingLeft-6, c.top-4, "small muted", "end", fit(unit.Label, scalingLeft-8, 11))
	bottom, last := c.top+scalingPlot, math.Inf(-1)
	for _, v := range c.sc.X {
		x := c.x(v)
		c.line(x, bottom, x, bottom+3, "grid")
		if x-last < 36 {
			continue
		}
		last = x
		c.tick(x, bottom, wording.Number(v, 6))
	}
	label := plain(c.sc.Factor)
	if u := plain(c.sc.Unit); u != "" {
		label += " (" + u + ")"
	}
	c.text((scalingLeft+scalingRight)/2, bottom+30, "small muted", "middle", fit(label, scalingRight-scalingLeft, 11))
}

// band is the interval of the line.
func (c *scalingPicture) band(a analysis.ScalingArm) {
	if a.PointOnly || len(a.Line) != len(c.sc.X) {
		return
	}
	var upper, lower []string
	for k, i := range a.Line {
		x := px(c.x(c.sc.X[k]))
		upper, lower = append(upper, x+" "+px(c.y(i.Hi))), append(lower, x+" "+px(c.y(i.Lo)))
	}
	slices.Reverse(lower)
	c.path("M"+strings.Join(upper, "L")+"L"+strings.Join(lower, "L")+"z", "spread "+c.sheet.looks(a.Arm).class)
}

// trials are the dots, an evenly chosen part of them where there are many. Arms
// stand a little beside each other.
func (c *scalingPicture) trials(a analysis.ScalingArm, place int) {
	var dots strings.Builder
	aside := 5 * (float64(place) - float64(len(c.sc.Arms)-1)/2)
	for k, values := range c.values(a) {
		step := max(1, len(values)*len(c.sc.X)/manyDots)
		for i := 0; i < len(values); i += step {
			x := c.x(c.sc.X[k]) + max(-24, min(24, aside)) + 2*jitter(i)
			dots.WriteString("M" + px(x) + " " + px(c.y(values[i])) + "h0")
		}
	}
	if dots.Len() > 0 {
		c.path(dots.String(), "dots "+c.sheet.looks(a.Arm).class)
	}
}

// fitted is the line itself, with the mean at each level.
func (c *scalingPicture) fitted(a analysis.ScalingArm) {
	l := c.sheet.looks(a.Arm)
	var line []string
	for k, i := range a.Line {
		if k < len(c.sc.X) {
			line = append(line, px(c.x(c.sc.X[k]))+" "+px(c.y(i.Point)))
		}
	}
	if line != nil {
		c.path("M"+strings.Join(line, "L"), "thin "+l.class)
	}
	for k, m := range a.Means {
		if k < len(c.sc.X) {
			c.marker(c.x(c.sc.X[k]), c.y(m), 4, l, "")
		}
	}
}

// legend names an arm and its slope above the plot.
func (c *scalingPicture) legend(a analysis.ScalingArm, place int) {
	y := 6 + scalingLegend*float64(place)
	c.marker(8, y+5, 4, c.sheet.looks(a.Arm), "")
	c.labelled(18, y+9, "halo", fit(a.Arm, 200, 12), a.Arm)
	c.text(c.w-6, y+9, "small muted num", "end", fit(brief(a.Text), 400, 11))
}
