package figure

import (
	"slices"

	"tare/internal/report/wording"
)

// drawOverheads draws the overhead of each arm at each level with its interval, around the line of no
// difference.
func (c *linesChart) drawOverheads() {
	y := func(v float64) float64 {
		return c.overheadTop + (1-c.overheadAxis.At(bounded(v)))*(c.overheadBottom-c.overheadTop)
	}
	if m := c.Margin; m > 0 {
		c.rect(c.left, y(m), c.right-c.left, y(-m)-y(m), "band")
		for _, v := range c.X { // redrawn, because the band hides the grid
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
		for _, run := range stretches(c.X, a.Overheads, known) {
			if len(run) > 1 {
				c.joined(run, a.Overheads, aside, y, "trace "+a.Look.class)
			}
		}
		for _, run := range stretches(c.X, a.Overheads, known) {
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

// overheadTicks returns the ticks of the axis of overheads; none if it is not drawn.
func (c *linesChart) overheadTicks() (list []tick) {
	if !c.differs() {
		return nil
	}
	if !c.Ratio {
		list = ticksIn(c.overheadAxis, c.Unit, 6)
	} else {
		for _, t := range c.overheadAxis.ticks(6) {
			list = append(list, tick{t, percentTick(t)})
		}
	}
	for i, t := range list {
		list[i].label = costOrGain(t.at, t.label)
	}
	return list
}

// overheadHeading returns the heading of the plot of overheads.
func (c *linesChart) overheadHeading() (name, note string) {
	name = "overhead relative to " + c.Baseline
	if c.Ratio {
		return name, c.overheadAxis.scale(wording.Share)
	}
	unit := c.overheadAxis.unit(c.Unit)
	return name, commaList(unit.Label, c.overheadAxis.scale(unit.Short))
}

// gridOrZero returns the class of the line at a tick of an axis of overheads.
func gridOrZero(tick float64) string {
	if tick == 0 {
		return "zero"
	}
	return "grid"
}
