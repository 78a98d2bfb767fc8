package report

import (
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/columns"
	"tare/internal/report/figure"
	"tare/internal/report/wording"
	"tare/internal/runs/history"
)

// plot draws intervals with characters of a terminal, on one axis.
type plot struct {
	axis   figure.Axis
	margin float64
}

// column returns the column of v in a plot with the given width.
func (p plot) column(v float64, width int) int { return int(p.axis.At(v)*float64(width-1) + 0.5) }

// labels writes the ends of the axis and the zero above the plot.
func (p plot) labels(m experiment.Metric, width int) string {
	row := []rune(strings.Repeat(" ", width))
	put := func(at int, label string) bool {
		text := []rune(label)
		at = max(0, min(at, width-len(text)))
		end := at + len(text)
		if end <= width && strings.TrimSpace(string(row[max(0, at-1):min(width, end+1)])) == "" {
			return copy(row[at:], text) > 0
		}
		return false
	}
	put(p.column(0, width), "0")
	if hi := wording.End(m, p.axis.Hi); !put(width, "cost "+hi) {
		put(width, hi)
	}
	put(0, wording.End(m, p.axis.Lo))
	return string(row)
}

// interval draws a comparison's interval on the axis, with the zero line and the margin.
func (p plot) interval(c analysis.Comparison, control bool, width int) string {
	if !wording.HasNumbers(c) {
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

// sparks are the characters of a small plot, by height.
var sparks = []rune("▁▂▃▄▅▆▇█")

// spark plots a series over its runs in at most width columns, with the range of its values. If there are
// more runs than columns, a column shows the median of several runs. A cross marks an excluded run. Below
// the plot, marks show changes, and lines show where parameters change.
func spark(s *history.Series, runs, width int) []string {
	var all []float64
	for _, p := range s.Points {
		if p.LeftOut == nil && p.Value != nil {
			all = append(all, p.Value.Point)
		}
	}
	a, extent := figure.Axis{}, ""
	if all != nil {
		a = figure.Axis{Lo: slices.Min(all), Hi: slices.Max(all)}
		extent = columns.Shorten(axisEnd(s, a.Lo)+" to "+axisEnd(s, a.Hi), max(20, width/2), columns.Ellipsis)
	}
	count := max(1, min(runs, width-2-columns.Width(extent)))
	at := func(run int) int { return run * count / max(runs, 1) }
	values := make([][]float64, count)
	plot, below := []rune(strings.Repeat(" ", count)), []rune(strings.Repeat(" ", count))
	for _, p := range s.Points {
		if p.LeftOut != nil || p.Value == nil {
			plot[at(p.Run)] = '×'
		} else {
			values[at(p.Run)] = append(values[at(p.Run)], p.Value.Point)
		}
	}
	for i, v := range values {
		if len(v) > 0 {
			slices.Sort(v)
			plot[i] = sparks[min(len(sparks)-1, int(a.At(v[len(v)/2])*float64(len(sparks))))]
		}
	}
	for _, st := range s.Stretches[min(1, len(s.Stretches)):] {
		below[at(st.First)] = '┊'
	}
	for _, c := range s.Shifts {
		below[at(c.Run)] = []rune(shiftMark(c))[0]
	}
	lines := []string{string(plot) + "  " + extent}
	if marks := string(below); strings.TrimSpace(marks) != "" {
		lines = append(lines, marks)
	}
	return lines
}

// axisEnd labels the end of an axis of a series.
func axisEnd(s *history.Series, v float64) string {
	if s.Of == history.OfLevel {
		return wording.ScaleOf(s.Metric.Unit, v).Short(v)
	}
	return wording.Brief(s.Metric, v)
}

// maxBar is the largest width of a bar, in columns.
const maxBar = 40

// barLines draws bars with characters of a terminal, each after its arm and its value with the interval.
// If there is too little room, the value stands below the arm.
func barLines(g figure.BarGroup, width int) []string {
	arms, values := make([]string, len(g.Bars)), 0
	for i, b := range g.Bars {
		arms[i], values = b.Arm, max(values, columns.Width(b.Value))
	}
	short, name := columns.Abbreviate(arms, max(minName, width/4)), 0
	for _, b := range g.Bars {
		name = max(name, columns.Width(short[b.Arm]))
	}
	room := min(maxBar, width-name-values-4)
	var lines []string
	for _, b := range g.Bars {
		switch label := columns.Pad(short[b.Arm], name+2); {
		case name+2+values > width:
			lines = append(lines, short[b.Arm], "  "+b.Value)
		case room < 6:
			lines = append(lines, label+b.Value)
		default:
			lines = append(lines, label+columns.Pad(b.Value, values+2)+strings.TrimRight(bar(g.Axis(), b, room), " "))
		}
	}
	return lines
}

// minName is the least width of a shortened arm name, in columns.
const minName = 12

// bar draws a value from zero, with its interval over the end.
func bar(axis figure.Axis, b figure.Bar, width int) string {
	column := func(v float64) int { return int(axis.At(v)*float64(width-1) + 0.5) }
	row := []rune(strings.Repeat(" ", width))
	zero, end := column(0), column(b.At.Point)
	for i := min(zero, end); i <= max(zero, end); i++ {
		row[i] = '█'
	}
	if lo, hi := column(b.At.Lo), column(b.At.Hi); lo < hi {
		for i := lo; i <= hi; i++ {
			row[i] = '─'
		}
		row[lo], row[hi], row[end] = '├', '┤', '●'
	}
	return string(row)
}
