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

// sparkAxis is what a small plot reaches over, in words as well.
func sparkAxis(s *history.Series) (a figure.Axis, extent string) {
	first := true
	for _, p := range s.Points {
		if p.LeftOut != nil || p.Value == nil {
			continue
		}
		v := p.Value.Point
		if first {
			a.Lo, a.Hi, first = v, v, false
		}
		a.Lo, a.Hi = min(a.Lo, v), max(a.Hi, v)
	}
	if first {
		return a, ""
	}
	return a, pastEnd(s, a.Lo) + " to " + pastEnd(s, a.Hi)
}

// spark plots a series over its runs in at most width columns, several runs in a
// column where there are more (their median), with what the plot reaches over. A
// cross is a run left out. Below stand the changes and the beginnings of
// stretches.
func spark(s *history.Series, runs, width int) []string {
	a, extent := sparkAxis(s)
	extent = columns.Shorten(extent, max(20, width/2), columns.Ellipsis)
	places := max(1, min(runs, width-2-columns.Width(extent)))
	at := func(run int) int { return run * places / max(runs, 1) }
	values := make([][]float64, places)
	plot, below := []rune(strings.Repeat(" ", places)), []rune(strings.Repeat(" ", places))
	for _, p := range s.Points {
		if p.LeftOut != nil || p.Value == nil {
			plot[at(p.Run)] = '×'
			continue
		}
		values[at(p.Run)] = append(values[at(p.Run)], p.Value.Point)
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

// pastEnd labels the end of an axis of a series.
func pastEnd(s *history.Series, v float64) string {
	if s.Of == history.OfLevel {
		return wording.ScaleOf(s.Metric.Unit, v).Short(v)
	}
	return wording.End(s.Metric, v)
}
