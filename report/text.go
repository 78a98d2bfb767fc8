package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/wording"
)

// TextOptions says how terminal text is laid out.
type TextOptions struct {
	Width int  // columns; 0: 80. Below 40 is taken as 40
	Color bool // colour verdicts with ANSI sequences
	All   bool // show exploratory metrics as well
	ASCII bool // only 7-bit characters
}

// Text writes the run for a terminal: one line per metric and arm.
func Text(w io.Writer, r *analysis.Run, o TextOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 40)
	buffered := bufio.NewWriter(w)
	t := &terminal{w: buffered, o: o, sheet: arrange(r)}
	t.header()
	t.results()
	t.scaling()
	t.notes()
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

// terminal writes one run. Errors stay in the buffered writer until Flush.
type terminal struct {
	w     *bufio.Writer
	o     TextOptions
	sheet *sheet
	// Widths of the columns of a line, and what is left for the plot.
	arm, verdict, point, interval, plot int
	names                               map[string]string // arms, shortened to the column
	axis                                axis              // of the metric under way
}

// line writes one line, turned to ASCII if asked.
func (t *terminal) line(s string) {
	if t.o.ASCII {
		s = ascii(s)
	}
	_, _ = t.w.WriteString(strings.TrimRight(s, " ") + "\n") // Flush tells
}

// para writes text wrapped to the width, the following lines indented more.
func (t *terminal) para(indent, text string) {
	hang := indent
	if strings.HasSuffix(indent, "- ") {
		hang = strings.Repeat(" ", len(indent))
	}
	for i, l := range wrap(text, t.o.Width-len(indent)) {
		if i == 0 {
			t.line(indent + l)
		} else {
			t.line(hang + l)
		}
	}
}

func (t *terminal) header() {
	s, r := t.sheet, t.sheet.run
	name := plain(s.plan.Name)
	if name == "" {
		name = "run"
	}
	t.line(t.style(bold, shorten(name, t.o.Width, "…")))
	if d := plain(s.plan.Description); d != "" {
		t.para("", d)
	}
	t.state()
	if o := s.observed(); o != "" {
		t.line("")
		for _, l := range wrap(o, t.o.Width) {
			t.line(t.style(bold, l))
		}
	}
	if !r.Valid {
		t.line("")
		t.line(t.style(verdictStyle(analysis.Invalid), "INVALID: this run gives no verdicts"))
		for _, reason := range r.Reasons {
			t.para("  - ", brief(reason))
		}
	}
}

// state says how much of the run there is.
func (t *terminal) state() {
	s, r := t.sheet, t.sheet.run
	if s.imported() {
		t.importedState()
		return
	}
	state := fmt.Sprintf("%s, %s of %s valid, baseline %s", wording.Count(r.Rounds, "round", "rounds"),
		wording.Number(float64(r.Trials.Valid), 9), wording.Count(r.Trials.Planned, "planned trial", "planned trials"), s.baseline)
	if b := plain(s.plan.Testbed); b != "" {
		state += ", testbed " + b
	}
	if n := len(r.Invalids); n > 0 {
		state += ", " + wording.Count(n, "invalid trial", "invalid trials")
	}
	if !r.Finished {
		state += ", not finished"
	}
	t.para("", state)
	t.para("", s.controlLine())
}

// controlLine is the state of the control in one line.
func (s *sheet) controlLine() string {
	state := s.controlState()
	if n, worst, reach, _ := s.floor(); n > 0 {
		return fmt.Sprintf("control %s: at most %s from %s on %s, by its intervals at most %s", state, wording.Share(worst), s.baseline,
			wording.Count(n, "headline metric", "headline metrics"), wording.Share(reach))
	}
	return "control: " + state
}

func (t *terminal) results() {
	var shown []analysis.Comparison
	groups := t.sheet.groups(true)
	if t.o.All {
		groups = append(groups, t.sheet.groups(false)...)
	}
	for _, g := range groups {
		shown = append(shown, g.lines()...)
	}
	t.measure(shown)
	for _, b := range t.sheet.blocks {
		head, rest := b.only(true), b.only(false)
		if !t.o.All {
			rest = nil
		}
		if len(head)+len(rest) == 0 {
			continue
		}
		t.line("")
		t.line(t.style(bold, shorten(plain(b.id), t.o.Width, "…")))
		if l := t.sheet.loop(b.id); l != "" {
			t.para("  ", l)
		}
		for _, g := range head {
			t.group(g)
		}
		if len(rest) > 0 {
			t.line("  exploratory:")
		}
		for _, g := range rest {
			t.group(g)
		}
	}
}

// measure finds the widths of the columns from what will be shown.
func (t *terminal) measure(cs []analysis.Comparison) {
	t.arm, t.verdict = 7, 0
	for _, c := range cs {
		p, i := wording.Overhead(c)
		t.arm = max(t.arm, cells(plain(c.Arm)))
		t.verdict = max(t.verdict, cells(t.word(c)))
		t.point, t.interval = max(t.point, cells(p)), max(t.interval, cells(i))
	}
	t.arm = min(t.arm, max(12, t.o.Width/4))
	t.plot = t.o.Width - (4 + t.arm + 2 + t.verdict + 2 + t.point + 1 + t.interval + 2)
	if t.plot < 11 && t.arm > 14 {
		give := min(t.arm-14, 16-t.plot)
		t.arm, t.plot = t.arm-give, t.plot+give
	}
	if t.plot > 51 {
		t.plot = 51
	}
	if t.plot < 11 {
		t.plot = 0
	}
	var arms []string
	for _, c := range cs {
		arms = append(arms, c.Arm)
	}
	t.names = abbreviate(arms, t.arm)
}

// word is what stands in the verdict column. The control has no verdict; what
// it shows is the noise floor.
func (t *terminal) word(c analysis.Comparison) string {
	if t.sheet.role(c.Arm) == "control" {
		return "  noise floor"
	}
	return mark(c.Verdict, t.o.ASCII) + " " + t.sheet.verdictWord(c)
}

func (t *terminal) plotColumn() int {
	return 4 + t.arm + 2 + t.verdict + 2 + t.point + 1 + t.interval + 2
}

// axisLabels are the ends of the axis and the zero, above the plot.
func (t *terminal) axisLabels(m experiment.Metric) string {
	row := []rune(strings.Repeat(" ", t.plot))
	put := func(at int, label string) {
		text := []rune(label)
		at = min(max(at, 0), t.plot-len(text))
		if at < 0 {
			return
		}
		for i := max(0, at-1); i < min(t.plot, at+len(text)+1); i++ {
			if row[i] != ' ' {
				return
			}
		}
		copy(row[at:], text)
	}
	put(t.column(0), "0")
	put(t.plot, endLabel(m, t.axis.hi))
	put(0, endLabel(m, t.axis.lo))
	return string(row)
}

// endLabel labels the end of an axis with few digits.
func endLabel(m experiment.Metric, v float64) string {
	if v > 0 {
		return "+" + wording.Size(m, v)
	}
	return wording.Size(m, v)
}

// column is the column of the plot that v falls into.
func (t *terminal) column(v float64) int {
	return int(t.axis.at(v)*float64(t.plot-1) + 0.5)
}

func (t *terminal) group(g group) {
	title := plain(g.metric.Name)
	if v, ok := g.baselineMedian(); ok {
		title += " " + wording.Value(v, g.metric.Unit)
	}
	if g.metric.Better != "" {
		title += ", " + string(g.metric.Better) + " is better"
	}
	t.axis = overheadAxis(g.lines(), t.sheet.marginFor(g.metric))
	at, labels := t.plotColumn()-2, t.plot > 0 && slices.ContainsFunc(g.lines(), wording.Judged)
	switch {
	case labels && cells(title) <= at-2:
		t.line("  " + pad(title, at) + t.axisLabels(g.metric))
	default: // the value and its unit are worth a line
		t.para("  ", title)
		if labels {
			t.line("  " + pad("", at) + t.axisLabels(g.metric))
		}
	}
	if r := g.restates(); r != "" {
		t.para("    ", "restates "+r)
	}
	for _, c := range g.lines() {
		t.comparison(c)
	}
	if len(g.rows) > 0 || g.control != nil {
		return
	}
	if g.series == nil || !t.sheet.alone() {
		t.line("    " + t.sheet.nothingCompared())
		return
	}
	for _, a := range g.series.Arms {
		t.para("    ", plain(a.Arm)+"  "+level(a, g.metric))
	}
}

func (t *terminal) comparison(c analysis.Comparison) {
	control := t.sheet.role(c.Arm) == "control"
	p, i := wording.Overhead(c)
	style := verdictStyle(c.Verdict)
	if control {
		style = faint
	}
	s := "    " + pad(t.names[c.Arm], t.arm) + "  " +
		t.style(style, pad(t.word(c), t.verdict)) + "  " + padLeft(p, t.point) + " " + pad(i, t.interval)
	if t.plot > 0 {
		s += "  " + t.drawing(c)
	}
	t.line(s)
	if c.Verdict == analysis.NotResolved && !control {
		t.para("      ", why(c))
	}
	if a := t.sheet.aside(c); a != "" {
		t.para("      ", a)
	}
	if c.Verdict == analysis.Invalid && t.sheet.run.Valid {
		for _, w := range c.Warnings {
			t.para("      ", brief(w))
		}
	}
}

// drawing is the interval on the axis, with the zero line and the margin.
func (t *terminal) drawing(c analysis.Comparison) string {
	if !wording.Judged(c) {
		return ""
	}
	row := []rune(strings.Repeat(" ", t.plot))
	if m := t.sheet.marginFor(c.Metric); m > 0 {
		row[t.column(-m)], row[t.column(m)] = '┊', '┊'
	}
	zero := t.column(0)
	row[zero] = '│'
	lo, hi, at := t.column(c.Overhead.Lo), t.column(c.Overhead.Hi), t.column(c.Overhead.Point)
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
	if t.sheet.role(c.Arm) == "control" {
		row[at] = '○'
	}
	return string(row)
}

// notes are what a reader must know before trusting a number, and the legend.
func (t *terminal) notes() {
	s, r := t.sheet, t.sheet.run
	warnings := s.warnings(true)
	if t.o.All {
		warnings = append(warnings, s.warnings(false)...)
	}
	if len(warnings) > 0 {
		t.line("")
		t.line(t.style(bold, "Warnings"))
		for _, w := range warnings {
			t.para("  - ", w)
		}
	}
	if len(r.Trials.ByRule) > 0 {
		t.line("")
		t.line(t.style(bold, "Invalid trials by rule"))
		for _, rule := range rules(r.Trials.ByRule) {
			t.line(fmt.Sprintf("  %s  %d", plain(rule), r.Trials.ByRule[rule]))
		}
	}
	t.invalidFiles()
	t.line("")
	if n := len(s.groups(false)); n > 0 && !t.o.All {
		t.para("", notShown(n))
	}
	t.para("", s.legend(t.plot > 0))
}
