package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/columns"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
	"tare/internal/runs/history"
)

// Figure draws the run's headline overheads as a picture for a file of its own.
func Figure(r *analysis.Run) string {
	r = labels.Shown(r, r.Plan)
	s := arrange(r)
	name := plain(s.plan.Name)
	text := fmt.Sprintf("Overhead relative to %s: %s in random order, %s intervals",
		s.baseline, wording.Count(s.run.Rounds, "round", "rounds"), s.confidence())
	if s.imported() {
		text = fmt.Sprintf("Observational: overhead relative to %s, %s intervals; %s", s.baseline, s.confidence(),
			brief(wording.Observation(s.run.Observation)))
	}
	text += when(!s.run.Valid, "; invalid run, no verdicts")
	return s.forest().File(name, cmp.Or(plain(s.plan.Description), name, "Overheads"), text)
}

// forest returns the plot of the headline overheads on the scale "ratio". As shares of the baseline, these
// overheads fit on one axis.
func (s *sheet) forest() figure.Forest {
	f := figure.Forest{Baseline: s.baseline, Margin: s.margin()}
	for _, g := range s.groups(true) {
		if !wording.IsRatio(g.metric) || !slices.ContainsFunc(g.lines(), wording.HasNumbers) {
			continue
		}
		of := figure.Group{Metric: g.metric.Name, Cell: g.cell}
		for _, c := range g.lines() {
			verdict := string(c.Verdict) + when(ifNormal(&c), " ("+ifNormalMark+")") + when(s.claimsObservational(c.Verdict) || claimsObservational(c), " "+observedMark)
			row := forestRow(c, s.look(c.Arm), s.role(c.Arm) == experiment.Control, verdict)
			row.Published = s.marks(g, c.Arm, false)
			of.Rows = append(of.Rows, row)
		}
		f.Groups = append(f.Groups, of)
	}
	return f
}

func forestRow(c analysis.Comparison, look figure.Look, control bool, verdict string) figure.Row {
	r := figure.Row{Arm: c.Arm, Label: plain(c.Arm), Look: look, Control: control,
		Numbers: wording.Estimate(c), Drawn: wording.HasNumbers(c), At: c.Overhead, Point: c.PointOnly}
	if control {
		r.Label += " (noise floor)"
	} else if verdict != "" {
		r.Verdict = verdictStyle(c.Verdict).Sign() + " " + verdict
	}
	return r
}

// look returns how an arm is drawn. Two arms are drawn differently, unless the run has too many arms.
func (s *sheet) look(arm string) figure.Look {
	switch s.role(arm) {
	case experiment.Baseline:
		return figure.Baseline
	case experiment.Control:
		return figure.Control
	}
	if s.many() {
		return figure.Any // too many arms for a style each: only their labels distinguish them
	}
	i := s.armIndex(arm)
	for _, a := range s.plan.Arms[:i] {
		if a.Role != experiment.Treatment {
			i--
		}
	}
	return figure.Treatment(i)
}

func (s *sheet) trials(a analysis.ArmSeries) figure.Arm {
	return figure.Arm{Name: a.Arm, Look: s.look(a.Arm), Values: a.Values, Summary: a.Summary}
}

func (s *sheet) boxes(g group) figure.Boxes {
	b := figure.Boxes{Metric: g.metric.Name, Cell: g.cell, Unit: g.metric.Unit}
	for _, a := range g.series.Arms {
		b.Arms = append(b.Arms, s.trials(a))
	}
	return b
}

// runChart returns the run chart of a group. Imported trials are shown in the order measured, since their
// start times cannot be compared.
func (s *sheet) runChart(g group) figure.RunChart {
	r := figure.RunChart{Metric: g.metric.Name, Cell: g.cell, Unit: g.metric.Unit, Ratio: wording.IsRatio(g.metric),
		Ordered: s.imported()}
	if !r.Ordered {
		r.Sessions = s.run.Sessions
	}
	for _, a := range g.series.Arms {
		l := figure.Lane{Arm: s.trials(a)}
		if a.Diagnostics != nil {
			for _, position := range a.Diagnostics.Changes {
				l.Changes = append(l.Changes, position-1)
			}
		}
		if s.role(a.Arm) == experiment.Baseline {
			for _, round := range g.series.Changes {
				if i := slices.Index(a.Rounds, round); i >= 0 {
					l.Changes = append(l.Changes, i)
				}
			}
		}
		if !r.Ordered {
			l.Seconds = a.Seconds
			for _, t := range s.invalids[[2]string{g.cell, a.Arm}] {
				l.Invalid = append(l.Invalid, t.Start.Sub(s.run.Start).Seconds())
			}
		}
		r.Lanes = append(r.Lanes, l)
	}
	return r
}

// seriesGroup returns the group of a metric in a cell; nil if the run has no values of the metric.
func (s *sheet) seriesGroup(cell, metric string) *group {
	for _, b := range s.cells {
		for i, g := range b.groups {
			if g.cell == cell && g.metric.Name == metric && g.series != nil {
				return &b.groups[i]
			}
		}
	}
	return nil
}

func (p experimentHistory) chart(s *history.Series, o HistoryOptions) figure.History {
	return figure.History{Name: seriesName(s), Series: s, Runs: p.Runs,
		Point:  func(at history.Point) (title, link string) { return p.pointTitle(s, at), o.link(p.Runs[at.Run]) },
		Label:  func(run int) string { return wording.Label(p.Runs[run].Labels) },
		Events: func(run int) string { return p.runTitle(run) + ":\n" + strings.Join(runEvents(p.Runs[run]), "\n") },
		Shift: func(c history.Change) (title, label string) {
			return shiftWord(s, c) + " " + p.shiftRun(c), shiftMark(c) + " " + wording.Changed(s.Metric, c.Size.Point)
		}}
}

func (p experimentHistory) pointTitle(s *history.Series, at history.Point) string {
	version, value := p.Runs[at.Run].TareVersion, "no value"
	if at.Value != nil {
		value = wording.PastValue(s, *at.Value)
	}
	value += when(at.LeftOut != nil, "; left out: "+brief(wording.Reason(at.LeftOut)))
	return p.runTitle(at.Run) + when(version != "", ", Tare "+plain(version)) + "\n" + value
}

// plot draws intervals with characters of a terminal, on one axis.
type plot struct {
	axis   figure.Axis
	margin float64
}

func (p plot) column(v float64, width int) int { return int(p.axis.At(v)*float64(width-1) + 0.5) }

// labels writes the labels of the axis above the plot: both ends, and zero.
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

var sparks = []rune("▁▂▃▄▅▆▇█")

// spark plots a series in at most width columns, with the range of its values. A column may be the median of several
// runs. Crosses are excluded runs, marks below are changes, dotted lines changes of parameters.
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

func axisEnd(s *history.Series, v float64) string {
	if s.Of == history.OfLevel {
		return wording.ScaleOf(s.Metric.Unit, v).Short(v)
	}
	return wording.Brief(s.Metric, v)
}

// barLines draws bars with characters, behind the arm and its value. With too little room, bars are left out, and a
// value may stand below its arm.
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
