package figure

import (
	"cmp"
	"slices"

	"tare/internal/report/columns"
	"tare/internal/text/safetext"
)

const (
	labelPitch = 16 // distance between arms' names below each other
	legendRow  = 18
)

// labels writes the names of the arms: beside the ends of their lines, or above the plot on a narrow page.
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

// legend arranges the names of arms in rows.
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

// beside writes the names at the right, each as close to the end of its line as the other names allow,
// with a thin line to that end.
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
	// Names move down until they no longer overlap, then up from the bottom.
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

// textWidth estimates the width of a text in pixels.
func textWidth(s string, fontSize float64) float64 {
	return float64(columns.Width(safetext.Line(s))) * letter * fontSize
}
