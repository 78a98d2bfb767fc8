package report

import (
	"slices"
	"strings"

	"tare/history"
	"tare/report/columns"
	"tare/report/figure"
	"tare/wording"
)

// sparks are the heights of a small plot.
var sparks = []rune("▁▂▃▄▅▆▇█")

// spark plots a series over its runs in at most width columns, several runs in a
// column where there are more (their median), with what the plot reaches over. A
// cross is a run left out. Below stand the changes and the beginnings of
// stretches.
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
		extent = columns.Shorten(pastEnd(s, a.Lo)+" to "+pastEnd(s, a.Hi), max(20, width/2), columns.Ellipsis)
	}
	places := max(1, min(runs, width-2-columns.Width(extent)))
	at := func(run int) int { return run * places / max(runs, 1) }
	values := make([][]float64, places)
	plot, below := []rune(strings.Repeat(" ", places)), []rune(strings.Repeat(" ", places))
	for _, p := range s.Points {
		if p.LeftOut != nil || p.Value == nil {
			plot[at(p.Run)] = '×'
		} else {
			values[at(p.Run)] = append(values[at(p.Run)], p.Value.Point)
		}
	}
	for i, v := range values {
		if slices.Sort(v); v != nil {
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

// pastEnd labels the end of an axis of a series.
func pastEnd(s *history.Series, v float64) string {
	if s.Of == history.OfLevel {
		return wording.ScaleOf(s.Metric.Unit, v).Short(v)
	}
	return wording.End(s.Metric, v)
}
