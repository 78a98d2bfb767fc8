package report

import (
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/report/figure"
	"tare/wording"
)

// plot draws intervals in the characters of a terminal, on one axis.
type plot struct {
	axis   figure.Axis
	margin float64
}

// column is where v falls in a plot of so many columns.
func (p plot) column(v float64, width int) int { return int(p.axis.At(v)*float64(width-1) + 0.5) }

// labels are the ends of the axis and the zero, above the plot.
func (p plot) labels(m experiment.Metric, width int) string {
	row := []rune(strings.Repeat(" ", width))
	put := func(at int, label string) {
		text := []rune(label)
		at = max(0, min(at, width-len(text)))
		end := at + len(text)
		if end <= width && strings.TrimSpace(string(row[max(0, at-1):min(width, end+1)])) == "" {
			copy(row[at:], text)
		}
	}
	put(p.column(0, width), "0")
	put(width, wording.End(m, p.axis.Hi))
	put(0, wording.End(m, p.axis.Lo))
	return string(row)
}

// interval is a comparison's interval on the axis, with the zero line and the
// margin.
func (p plot) interval(c analysis.Comparison, control bool, width int) string {
	if !wording.Judged(c) {
		return ""
	}
	row := []rune(strings.Repeat(" ", width))
	if p.margin > 0 {
		row[p.column(-p.margin, width)], row[p.column(p.margin, width)] = '┊', '┊'
	}
	zero := p.column(0, width)
	row[zero] = '│'
	lo, hi, at := p.column(c.Overhead.Lo, width), p.column(c.Overhead.Hi, width), p.column(c.Overhead.Point, width)
	for i := lo; i <= hi; i++ {
		row[i] = '─'
	}
	if zero > lo && zero < hi {
		row[zero] = '┼'
	}
	if !c.PointOnly {
		row[lo], row[hi] = '├', '┤'
	}
	row[at] = '●'
	if control {
		row[at] = '○'
	}
	return string(row)
}
