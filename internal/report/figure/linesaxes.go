package figure

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/analysis"
	"tare/internal/lists"
	"tare/internal/report/columns"
	"tare/internal/report/wording"
	"tare/internal/text/safetext"
)

const (
	minGapRatio       = 3  // the axis of levels is linear if the largest gap is less than this many times the smallest gap
	minValueRatio     = 30 // the axis of values is linear if the largest value is less than this many times the smallest value
	overheadBendRatio = 6  // largest bound ÷ typical bound from which the axis of overheads by level bends
)

// levelAxis returns an axis for ascending levels. It is logarithmic if that makes uneven gaps between levels more even.
// From a first level of zero, it is linear up to the second.
func levelAxis(x []float64) Axis {
	even := axisOver(x...)
	if len(x) < 3 || x[0] < 0 || gapRatio(x) < minGapRatio {
		return even
	}
	curved := Axis{Lo: x[0], Hi: x[len(x)-1], Log: true}
	if x[0] == 0 {
		curved = Axis{Lo: even.Lo, Hi: even.Hi, Bend: x[1]}
	}
	spread := lists.Map(x, curved.transform)
	if gapRatio(spread) < gapRatio(x) {
		return curved.around(x)
	}
	return even
}

func gapRatio(x []float64) float64 {
	least, most := math.Inf(1), 0.0
	for i := range x[1:] {
		gap := x[i+1] - x[i]
		least, most = min(least, gap), max(most, gap)
	}
	return most / least
}

func (a Axis) around(x []float64) Axis {
	lo, hi := a.transform(x[0]), a.transform(x[len(x)-1])
	room := (hi - lo) * 0.05
	a.Lo, a.Hi = a.inverse(lo-room), a.inverse(hi+room)
	return a
}

// axes returns the axes of the levels, the values and the overheads. If an arm has a fitted straight line, the axis
// of levels is linear.
func (l Lines) axes() (levels, values, overheads Axis) {
	levels = levelAxis(l.X)
	var ends []float64
	var drawn []analysis.Interval
	for _, a := range l.Arms {
		if a.Fitted != nil {
			levels = axisOver(l.X...)
		}
		for k, i := range a.Fitted {
			if k >= a.From {
				ends = append(ends, i.Point)
			}
		}
		for _, p := range a.Estimates {
			if p.Known {
				ends = append(ends, p.At.Point)
			}
			if p.Known && l.Bars {
				ends = append(ends, 0, p.At.Lo, p.At.Hi) // the axis covers 0, the baseline's overhead
			}
		}
		for _, v := range a.Values {
			ends = append(ends, v...)
		}
		for _, p := range a.Overheads {
			switch {
			case p.Known && p.Point:
				drawn = append(drawn, analysis.Interval{Point: p.At.Point, Lo: p.At.Point, Hi: p.At.Point})
			case p.Known:
				drawn = append(drawn, p.At)
			}
		}
	}
	return levels, l.values(ends), Overheads(drawn, l.Margin, overheadBendRatio)
}

func (l Lines) values(ends []float64) Axis {
	ends = slices.DeleteFunc(slices.Clone(ends), func(v float64) bool { return !wording.Finite(v) })
	fitted := slices.ContainsFunc(l.Arms, func(a Line) bool { return a.Fitted != nil })
	if len(ends) > 0 && !fitted {
		slices.Sort(ends)
		lo, hi := bounded(ends[0]), bounded(ends[len(ends)-1])
		if lo > 0 && hi/lo >= minValueRatio {
			return Axis{Log: true}.around([]float64{lo, hi})
		}
	}
	return axisOver(ends...)
}

const (
	labelPitch = 16 // least vertical distance between the names of two arms
	legendRow  = 18
)

func (c *linesChart) labels() {
	if c.wide {
		c.beside()
		return
	}
	for row, entries := range c.legend() {
		y := 6 + legendRow*float64(row)
		for _, e := range entries {
			c.marker(e.x+6, y+5, 4, c.Arms[e.arm].Look, "")
			c.labelled(e.x+15, y+9, "", e.name, c.Arms[e.arm].Arm)
		}
	}
}

type entry struct {
	arm  int
	x    float64
	name string
}

func (c *linesChart) legend() (rows [][]entry) {
	x := c.w
	for i, a := range c.Arms {
		name := fit(a.Arm, c.w-24, 12)
		wide := 15 + textWidth(name, 12) + 12
		if x+wide > c.w+12 {
			rows, x = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], entry{i, x, name})
		x += wide
	}
	return rows
}

// beside writes the names of arms at the right of the plot, as close to the ends of their lines as possible. A thin
// line joins an end and its name.
func (c *linesChart) beside() {
	type label struct {
		arm       int
		x, y, end float64
	}
	var list []label
	names := make([]string, len(c.Arms))
	for i, a := range c.Arms {
		names[i] = a.Arm
		l := label{i, -1, c.bottom, c.bottom}
		for k := range min(len(c.X), len(a.Estimates)) {
			if a.Estimates[k].Known {
				l.x, l.end = c.x(c.X[k]), c.y(a.Estimates[k].At.Point)
				l.y = l.end
			}
		}
		list = append(list, l)
	}
	short := abbreviated(names, c.w-c.right-32)
	slices.SortStableFunc(list, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	// Names move down until they no longer overlap. Names that are then below the bottom move up, and push up the names
	// above them.
	for i := range list {
		list[i].y = max(list[i].y, c.top+4)
		if i > 0 {
			list[i].y = max(list[i].y, list[i-1].y+labelPitch)
		}
	}
	floor := max(c.bottom, c.top+4+labelPitch*float64(len(list)-1))
	for i := len(list) - 1; i >= 0; i-- {
		list[i].y = min(list[i].y, floor)
		floor = list[i].y - labelPitch
	}
	for _, l := range list {
		if l.x >= 0 {
			c.line(l.x+6, l.end, c.right+8, l.y, "edge")
		}
		c.marker(c.right+15, l.y, 4, c.Arms[l.arm].Look, "")
		c.labelled(c.right+25, l.y+4, "", short[l.arm], c.Arms[l.arm].Arm)
	}
}

func textWidth(s string, fontSize float64) float64 {
	return float64(columns.Width(safetext.Line(s))) * letter * fontSize
}

func (c *linesChart) drawOverheads() {
	y := func(v float64) float64 {
		return c.overheadTop + (1-c.overheadAxis.At(bounded(v)))*(c.overheadBottom-c.overheadTop)
	}
	if m := c.Margin; m > 0 {
		c.rect(c.left, y(m), c.right-c.left, y(-m)-y(m), "band")
		for _, v := range c.X { // the band hides the lines of the grid, so the lines are drawn again
			c.line(c.x(v), y(m), c.x(v), y(-m), "grid")
		}
	}
	for _, t := range c.overheadTicks() {
		c.tickLine(y(t.at), t.label, gridOrZero(t.at))
	}
	name, note := c.overheadHeading()
	c.heading(c.overheadTop, name, note)
	differing := slices.DeleteFunc(slices.Clone(c.Arms), func(a Line) bool { return !slices.ContainsFunc(a.Overheads, known) })
	for i, a := range differing {
		aside := c.offset(i, len(differing), 8)
		for _, run := range neighbours(c.X, a.Overheads, known) {
			if len(run) > 1 {
				c.joined(run, a.Overheads, aside, y, "trace "+a.Look.class)
			}
		}
		for _, run := range neighbours(c.X, a.Overheads, known) {
			for _, k := range run {
				p, hollow := a.Overheads[k], ""
				x := c.x(c.X[k]) + aside
				if !p.Point {
					c.line(x, y(p.At.Lo), x, y(p.At.Hi), "range "+a.Look.class)
				}
				if p.Open {
					hollow = " hollow"
				}
				c.marker(x, y(p.At.Point), 4, a.Look, hollow)
			}
		}
	}
}

func (c *linesChart) overheadTicks() (list []tick) {
	if !c.differs() {
		return nil
	}
	if !c.Ratio {
		list = ticksIn(c.overheadAxis, c.Unit, 6)
	} else {
		list = lists.Map(c.overheadAxis.ticks(6), func(t float64) tick { return tick{t, percentTick(t)} })
	}
	for i, t := range list {
		list[i].label = costOrGain(t.at, t.label)
	}
	return list
}

func (c *linesChart) overheadHeading() (name, note string) {
	name = "overhead relative to " + c.Baseline
	if c.Ratio {
		return name, c.overheadAxis.scale(wording.Share)
	}
	unit := c.overheadAxis.unit(c.Unit)
	return name, wording.Join(", ", unit.Label, c.overheadAxis.scale(unit.Short))
}

func gridOrZero(tick float64) string {
	return cmp.Or(wording.When(tick == 0, "zero"), "grid")
}
