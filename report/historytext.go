package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/history"
	"tare/wording"
)

// HistoryText writes a history for a terminal: for each series its level, a
// small plot over the runs, and its changes.
func HistoryText(w io.Writer, h *history.History, o TextOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 40)
	buffered := bufio.NewWriter(w)
	t := &terminal{w: buffered, o: o}
	for i, p := range pasts(h) {
		if i > 0 {
			t.line("")
		}
		t.past(p)
	}
	t.line("")
	t.para("", terms(h))
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

// past writes one experiment.
func (t *terminal) past(p past) {
	name := plain(p.Name)
	if name == "" {
		name = "(no name)"
	}
	t.line(t.style(bold, shorten(name, t.o.Width, ellipsis)))
	t.para("", p.heading()+". "+p.outcome(p.chosen(t.o.All)))
	for _, c := range byCell(p.chosen(t.o.All)) {
		t.line("")
		t.line(t.style(bold, shorten(plain(c.id), t.o.Width, ellipsis)))
		for _, s := range c.series {
			t.pastSeries(p, s)
		}
	}
	if list := p.others(p.chosen(t.o.All)); len(list) > 0 {
		t.line("")
		t.line(t.style(bold, "┊ Other parameters"))
		for _, o := range list {
			t.para("  - ", o)
		}
	}
	if left := p.leftOut(); len(left) > 0 {
		t.line("")
		t.line(t.style(bold, "Left out"))
		for _, r := range left[:min(len(left), mostLeftOut)] {
			t.para("  - ", plain(r.Directory)+": "+brief(r.LeftOut))
		}
		if n := len(left) - mostLeftOut; n > 0 {
			t.line("  - and " + wording.Count(n, "more run", "more runs"))
		}
	}
	if n := len(p.chosen(true)) - len(p.chosen(false)); n > 0 && !t.o.All {
		t.line("")
		t.para("", wording.Count(n, "series of exploratory metrics is", "series of exploratory metrics are")+" not shown (--all shows them)")
	}
}

// mostLeftOut is how many runs are listed as left out.
const mostLeftOut = 10

func (t *terminal) pastSeries(p past, s *history.Series) {
	label, level := seriesName(s), nowText(s)
	if room := t.o.Width - 4 - cells(level); room >= 20 {
		label = pad(shorten(label, room, ellipsis), room)
	} else {
		label = shorten(label, t.o.Width-2, ellipsis)
		level = "\n    " + level
	}
	for _, l := range strings.Split("  "+label+"  "+level, "\n") {
		t.line(l)
	}
	axis, extent := sparkAxis(s)
	plot, marks := t.spark(s, axis, len(p.Runs), t.o.Width-4-2-cells(extent))
	t.line("    " + plot + "  " + extent)
	if strings.TrimSpace(marks) != "" {
		t.line("    " + marks)
	}
	for _, c := range s.Shifts {
		t.marked(t.style(shiftStyle(c), shiftMark(c)), shiftWord(s, c)+" "+p.shiftPlace(c))
		for _, cause := range p.shiftCause(c) {
			t.para("      ", cause)
		}
	}
	if s.Observational {
		t.para("    ", observedOnly)
	}
	for _, n := range s.Notes {
		t.para("    ", brief(n))
	}
}

// marked writes text behind a sign of one column.
func (t *terminal) marked(sign, text string) {
	for i, l := range wrap(text, t.o.Width-6) {
		if i > 0 {
			sign = " "
		}
		t.line("    " + sign + " " + l)
	}
}

// shiftStyle colours a change as verdicts are.
func shiftStyle(c history.Shift) string {
	switch c.Direction {
	case history.Worse:
		return verdictStyle("costs")
	case history.Better:
		return verdictStyle("gains")
	}
	return verdictStyle("not resolved")
}

// sparks are the heights of a small plot.
var (
	sparks      = []rune("▁▂▃▄▅▆▇█")
	sparksASCII = []rune("_.:-=+*#")
)

// sparkAxis is what a small plot reaches over, in words as well.
func sparkAxis(s *history.Series) (a axis, extent string) {
	first := true
	for _, p := range s.Points {
		if p.LeftOut != "" || p.Value == nil {
			continue
		}
		v := p.Value.Point
		if first {
			a.lo, a.hi, first = v, v, false
		}
		a.lo, a.hi = min(a.lo, v), max(a.hi, v)
	}
	if first {
		return a, ""
	}
	return a, pastEnd(s, a.lo) + " to " + pastEnd(s, a.hi)
}

// spark plots a series over its runs in at most width columns, several runs in a
// column where there are more (their median). A cross is a run left out. Below
// stand the changes and the beginnings of stretches.
func (t *terminal) spark(s *history.Series, a axis, runs, width int) (plot, marks string) {
	columns := max(1, min(runs, width))
	at := func(run int) int { return run * columns / max(runs, 1) }
	values := make([][]float64, columns)
	out := []rune(strings.Repeat(" ", columns))
	below := []rune(strings.Repeat(" ", columns))
	for _, p := range s.Points {
		if p.LeftOut != "" || p.Value == nil {
			out[at(p.Run)] = '×'
			continue
		}
		values[at(p.Run)] = append(values[at(p.Run)], p.Value.Point)
	}
	heights := sparks
	if t.o.ASCII {
		heights = sparksASCII
	}
	for i, v := range values {
		if len(v) > 0 {
			slices.Sort(v)
			out[i] = heights[min(len(heights)-1, int(a.at(v[len(v)/2])*float64(len(heights))))]
		}
	}
	for _, st := range s.Stretches[min(1, len(s.Stretches)):] {
		below[at(st.First)] = '┊'
	}
	for _, c := range s.Shifts {
		below[at(c.Run)] = []rune(shiftMark(c))[0]
	}
	return string(out), string(below)
}

// pastEnd labels the end of an axis of a series.
func pastEnd(s *history.Series, v float64) string {
	if s.Of == history.OfLevel {
		return wording.ScaleOf(s.Metric.Unit, v).Short(v)
	}
	return endLabel(s.Metric, v)
}
