package figure

import (
	"slices"

	"tare/internal/analysis"
)

// Mark is a published number beside the measured one. A number beyond the axis is an arrow at its edge, with the number.
type Mark struct {
	At    float64
	Label string // the number as text
}

// legendHeight is the height of the line that explains the marks.
const legendHeight = 18

// reached adds to intervals the marks that would stretch an axis over them by no more than half.
func reached(list []analysis.Interval, marks []Mark) []analysis.Interval {
	lo, hi := 0.0, 0.0
	for _, i := range list {
		lo, hi = min(lo, bounded(i.Lo)), max(hi, bounded(i.Hi))
	}
	list, room := slices.Clip(list), (hi-lo)/2
	for _, m := range marks {
		if m.At >= lo-room && m.At <= hi+room {
			list = append(list, analysis.Interval{Point: m.At, Lo: m.At, Hi: m.At})
		}
	}
	return list
}

// published draws marks at the height y of a plot from x0 to x1, around the interval that the plot has from lo to hi.
func (d *drawing) published(marks []Mark, axis Axis, x0, x1, lo, hi, y float64) {
	for _, m := range marks {
		if m.At >= axis.Lo && m.At <= axis.Hi {
			d.diamond(x0+axis.At(m.At)*(x1-x0), y, m.Label)
			continue
		}
		edge, out, anchor, arrow := x1, 1.0, "end", " →"
		free := x1 - 9 - hi // room between the interval and the arrow
		if m.At < axis.Lo {
			edge, out, anchor, arrow, free = x0, -1, "start", "← ", lo-x0-9
		}
		d.path("M"+at(edge-5*out, y-4)+"L"+at(edge, y)+"L"+at(edge-5*out, y+4), "cross")
		width := textWidth(m.Label, 11)
		switch {
		case free > width+4:
			d.text(edge-9*out, y+4, "small num halo", anchor, m.Label)
		case out > 0 && lo-x0 > width+20:
			d.text(lo-4, y+4, "small num halo", anchor, m.Label+arrow)
		case out < 0 && x1-hi > width+20:
			d.text(hi+4, y+4, "small num halo", anchor, arrow+m.Label)
		}
	}
}

func (d *drawing) diamond(x, y float64, tooltip string) {
	d.WriteString(`<path d="M` + at(x-5, y) + `l5 -5l5 5l-5 5z"` + styled("cross") + "><title>" + escape(tooltip) + "</title></path>\n")
}

// legend explains the marks, at the height y of its text.
func (d *drawing) legend(x, y float64) {
	d.diamond(x+6, y-4, "published")
	d.text(x+16, y, "small muted", "start", "published (an arrow: beyond the axis)")
}
