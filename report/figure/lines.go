package figure

import (
	"math"
	"strings"

	"tare/analysis"
	"tare/wording"
)

const (
	linesWidth  = 640
	linesPlot   = 260 // height of the plot
	linesLeft   = 64
	linesRight  = linesWidth - 16
	linesLegend = 18 // height of one arm's line above the plot
)

// Lines is a metric against the levels of a factor.
type Lines struct {
	Metric, Unit       string
	Factor, FactorUnit string
	X                  []float64 // the levels
	Arms               []Line
}

// Line is one arm.
type Line struct {
	Arm    string
	Text   string // its slope
	Look   Look
	Values [][]float64         // trials at each level
	Means  []float64           // of each level
	Fitted []analysis.Interval // the line at each level
	Point  bool                // it has no interval
}

// Draw draws every trial as a dot, the mean of each arm at each level as its
// marker, and the fitted line with the band of its interval.
func (l Lines) Draw() string {
	c := &linesChart{Lines: l, top: 22 + linesLegend*float64(len(l.Arms))}
	c.w, c.h = linesWidth, c.top+linesPlot+laneFoot
	c.axes()
	c.scales()
	for _, a := range l.Arms {
		c.interval(a)
	}
	for i, a := range l.Arms {
		c.trials(a, i)
	}
	for i, a := range l.Arms {
		c.fitted(a)
		c.legend(a, i)
	}
	return c.svg(l.Metric+" by "+l.Factor, "")
}

type linesChart struct {
	drawing
	Lines
	top        float64
	across, up Axis
}

// axes hold the levels, and everything that is drawn at them.
func (c *linesChart) axes() {
	c.across = hold(c.X...)
	var ends []float64
	for _, a := range c.Arms {
		for _, i := range a.Fitted {
			ends = append(ends, i.Point)
		}
		ends = append(ends, a.Means...)
		for _, v := range a.Values {
			ends = append(ends, v...)
		}
	}
	c.up = hold(ends...)
}

func (c *linesChart) x(v float64) float64 {
	return linesLeft + c.across.At(bounded(v))*(linesRight-linesLeft)
}

func (c *linesChart) y(v float64) float64 {
	return c.top + (1-c.up.At(bounded(v)))*linesPlot
}

func (c *linesChart) scales() {
	unit := c.up.unit(c.Unit)
	ticks, labels := c.up.inUnit(unit, 5, 1e7)
	for i, t := range ticks {
		c.line(linesLeft, c.y(t), linesRight, c.y(t), "grid")
		c.text(linesLeft-6, c.y(t)+4, "small muted num", "end", fit(labels[i], linesLeft-8, 11))
	}
	c.text(linesLeft-6, c.top-4, "small muted", "end", fit(unit.Label, linesLeft-8, 11))
	bottom, last := c.top+linesPlot, math.Inf(-1)
	for _, v := range c.X {
		x := c.x(v)
		c.line(x, bottom, x, bottom+3, "grid")
		if x-last >= 36 {
			last = x
			c.tick(x, bottom, wording.Number(v, 6))
		}
	}
	label := c.Factor
	if c.FactorUnit != "" {
		label += " (" + c.FactorUnit + ")"
	}
	c.text((linesLeft+linesRight)/2, bottom+30, "small muted", "middle", fit(label, linesRight-linesLeft, 11))
}

// interval is that of the line, as a band.
func (c *linesChart) interval(a Line) {
	if a.Point || len(a.Fitted) != len(c.X) {
		return
	}
	var upper, lower []string
	for k, i := range a.Fitted {
		x := c.x(c.X[k])
		upper, lower = append(upper, at(x, c.y(i.Hi))), append(lower, at(x, c.y(i.Lo)))
	}
	c.band(upper, lower, "spread "+a.Look.class)
}

// trials are the dots, an evenly chosen part of them where there are many. Arms
// stand a little beside each other.
func (c *linesChart) trials(a Line, place int) {
	dots := ""
	aside := 5 * (float64(place) - float64(len(c.Arms)-1)/2)
	for k, values := range a.Values {
		step := max(1, len(values)*len(c.X)/ManyDots)
		for i := 0; i < len(values); i += step {
			dots += "M" + at(c.x(c.X[k])+max(-24, min(24, aside))+2*jitter(i), c.y(values[i])) + "h0"
		}
	}
	c.path(dots, "dots "+a.Look.class)
}

// fitted is the line itself, with the mean at each level.
func (c *linesChart) fitted(a Line) {
	var line []string
	for k, i := range a.Fitted {
		if k < len(c.X) {
			line = append(line, at(c.x(c.X[k]), c.y(i.Point)))
		}
	}
	if line != nil {
		c.path("M"+strings.Join(line, "L"), "thin "+a.Look.class)
	}
	for k, m := range a.Means {
		if k < len(c.X) {
			c.marker(c.x(c.X[k]), c.y(m), 4, a.Look, "")
		}
	}
}

// legend names an arm and its slope above the plot.
func (c *linesChart) legend(a Line, place int) {
	y := 6 + linesLegend*float64(place)
	c.marker(8, y+5, 4, a.Look, "")
	c.labelled(18, y+9, "halo", fit(a.Arm, 200, 12), a.Arm)
	c.text(c.w-6, y+9, "small muted num", "end", fit(a.Text, 400, 11))
}
