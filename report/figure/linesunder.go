package figure

import (
	"slices"

	"tare/wording"
)

// overheads are those of each arm at each level, with their intervals, around the
// line of no difference.
func (c *linesChart) overheads() {
	y := func(v float64) float64 { return c.under + (1-c.on.At(bounded(v)))*(c.ground-c.under) }
	if m := c.Margin; m > 0 {
		c.rect(c.left, y(m), c.right-c.left, y(-m)-y(m), "band")
		for _, v := range c.X { // which the band hides
			c.line(c.x(v), y(m), c.x(v), y(-m), "grid")
		}
	}
	for _, t := range c.overheadTicks() {
		c.row(y(t.at), t.label, gridOrZero(t.at))
	}
	name, note := c.difference()
	c.heading(c.under, name, note)
	differing := slices.DeleteFunc(slices.Clone(c.Arms), func(a Line) bool { return !slices.ContainsFunc(a.Overheads, known) })
	for i, a := range differing {
		aside := c.aside(i, len(differing), 8)
		for _, run := range runs(c.X, a.Overheads, known) {
			if len(run) > 1 {
				c.joined(run, a.Overheads, aside, y, "trace "+a.Look.class)
			}
		}
		for _, run := range runs(c.X, a.Overheads, known) {
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

// overheadTicks are those of the axis of overheads; none where it is not drawn.
func (c *linesChart) overheadTicks() (list []tick) {
	if !c.differs() {
		return nil
	}
	if !c.Ratio {
		list = ticksIn(c.on, c.Unit, 6)
	} else {
		for _, t := range c.on.ticks(6) {
			list = append(list, tick{t, percentTick(t)})
		}
	}
	for i, t := range list {
		list[i].label = sided(t.at, t.label)
	}
	return list
}

// difference is the heading of the overheads.
func (c *linesChart) difference() (name, note string) {
	name = "overhead relative to " + c.Baseline
	if c.Ratio {
		return name, c.on.scale(wording.Share)
	}
	unit := c.on.unit(c.Unit)
	return name, listed(unit.Label, c.on.scale(unit.Short))
}

// gridOrZero is the class of a line at a tick of an axis of overheads.
func gridOrZero(tick float64) string {
	if tick == 0 {
		return "zero"
	}
	return "grid"
}
