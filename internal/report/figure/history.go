package figure

import (
	"cmp"
	"html"
	"math"
	"slices"
	"strconv"
	"time"

	"tare/internal/analysis"
	"tare/internal/report/columns"
	"tare/internal/report/wording"
	"tare/internal/runs/history"
	"tare/internal/text/safetext"
)

type historyLayout struct {
	width, height float64
	left, right   float64 // margins of the plot
	dates         int     // largest number of labels along the time axis
	links         bool    // every run is an element of its own, with a title and a link
}

var (
	historyWide   = historyLayout{width: 1000, height: 250, left: 76, right: 14, dates: 8, links: true}
	historyNarrow = historyLayout{width: 430, height: 230, left: 66, right: 10, dates: 3}
)

// Heights above and below the plot, in pixels.
const (
	historyTop  = 34 // height of the labels of changes, which stand in two rows
	historyFoot = 34 // height of the foot: the dates, and triangles at runs whose facts changed
	historyRow  = 14 // height of the row of runs' labels below the dates
)

// History is a chart of a series over the runs of its experiment.
type History struct {
	Name   string // name of the series
	Series *history.Series
	Runs   []*history.Run
	// The chart calls these functions for its texts.
	Point  func(history.Point) (title, link string)   // returns the tooltip of a run, and the address of the run's report
	Events func(run int) string                       // tooltip of a run whose facts differ from the run before
	Label  func(run int) string                       // label of a run, below its date; "": none
	Shift  func(history.Change) (title, label string) // tooltip of a change, and its size
}

type historyChart struct {
	drawing
	History
	layout historyLayout
	axis   Axis
	bottom float64
	look   Look
}

// Draw draws each run as a marker with its interval, or as a cross if excluded. Lines show levels and changes.
// Triangles show runs whose facts, such as the kernel, differ from the run before. On a wide page, runs are links.
func (h History) Draw(wide bool) string {
	l := historyNarrow
	if wide {
		l = historyWide
	}
	c := &historyChart{History: h, layout: l, axis: historyAxis(h.Series), look: Treatment(0)}
	c.look.shape = Baseline.shape
	if h.Series.Machine {
		c.look = Baseline
	}
	c.w, c.h = l.width, l.height
	c.bottom = c.h - historyFoot
	for run := range h.Runs {
		if h.Label(run) != "" {
			c.h = l.height + historyRow
		}
	}
	c.changeRanges()
	c.grid()
	c.parameterChanges()
	c.dates()
	c.events()
	c.points()
	c.levels()
	c.shifts()
	return c.svg("History of "+h.Name+", "+h.Series.Cell, "")
}

// historyAxis returns an axis that contains the estimates and levels. Intervals make it longer, up to twice the range
// of the estimates. The rest is drawn at the edge.
func historyAxis(s *history.Series) Axis {
	var used, all, values []analysis.Interval
	for _, p := range s.Points {
		if p.Value != nil {
			all = append(all, *p.Value)
			if p.LeftOut == nil {
				used = append(used, *p.Value)
			}
		}
	}
	values = used
	for _, seg := range s.Segments {
		values = append(values, seg.Level)
	}
	if values == nil {
		values = all
	}
	var ends []float64
	for _, v := range values {
		ends = append(ends, v.Point)
	}
	if ends == nil {
		return Axis{Lo: 0, Hi: 1}
	}
	lo, hi := slices.Min(ends), slices.Max(ends)
	room := (hi - lo) / 2
	for _, v := range used {
		ends = append(ends, max(v.Lo, lo-room), min(v.Hi, hi+room))
	}
	return axisOver(ends...)
}

func (c *historyChart) x(run float64) float64 {
	n := float64(max(len(c.Runs), 1))
	return c.layout.left + (run+0.5)/n*(c.w-c.layout.left-c.layout.right)
}

func (c *historyChart) y(v float64) float64 {
	return c.bottom - 4 - c.axis.At(v)*(c.bottom-historyTop-8)
}

func (c *historyChart) pitch() float64 { return c.x(1) - c.x(0) }

func (c *historyChart) grid() {
	for _, t := range c.axis.ticks(5) {
		class := cmp.Or(wording.When(t == 0 && c.Series.Of == history.OfOverhead, "zero"), "grid")
		c.line(c.layout.left, c.y(t), c.w-c.layout.right, c.y(t), class)
		c.text(c.layout.left-8, c.y(t)+4, "small muted num", "end", c.tick(t))
	}
}

func (c *historyChart) tick(v float64) string {
	s := c.Series
	switch {
	case s.Of == history.OfOverhead && wording.IsRatio(s.Metric):
		return costOrGain(v, percentTick(v))
	case v == 0:
		return "0"
	case s.Of == history.OfOverhead:
		return costOrGain(v, c.axis.unit(s.Metric.Unit).Short(v))
	}
	return c.axis.unit(s.Metric.Unit).Short(v)
}

func (c *historyChart) parameterChanges() {
	used := slices.DeleteFunc(slices.Clone(c.Series.Points), func(p history.Point) bool { return p.LeftOut != nil })
	for i, p := range used {
		if i > 0 && used[i-1].Stretch != p.Stretch {
			x := c.x(float64(p.Run+used[i-1].Run) / 2)
			c.line(x, historyTop-6, x, c.bottom, "break")
		}
	}
}

func (c *historyChart) dates() {
	runs, labels := c.labelled()
	for i, run := range runs {
		x, half := c.x(float64(run)), labelWidth(labels[i])/2
		c.line(x, c.bottom, x, c.bottom+3, "grid")
		c.text(min(max(x, half), c.w-half), c.bottom+historyFoot-6, "small muted num", "middle", labels[i])
		if label := columns.Shorten(c.Label(run), maxLabel, columns.Ellipsis); label != "" {
			half = labelWidth(label) / 2
			c.text(min(max(x, half), c.w-half), c.bottom+historyFoot+historyRow-6, "small muted num", "middle", label)
		}
	}
	c.line(c.layout.left, c.bottom, c.w-c.layout.right, c.bottom, "grid")
}

const maxLabel = 11

func labelWidth(s string) float64 { return 6.4 * float64(columns.Width(s)) }

// labelled returns some runs and their labels on the time axis: days if all differ, otherwise times, otherwise the
// numbers of the runs.
func (c *historyChart) labelled() (runs []int, labels []string) {
	for _, layout := range []string{time.DateOnly, "01-02 15:04", ""} {
		runs, labels = c.spread(layout)
		if len(slices.Compact(slices.Sorted(slices.Values(labels)))) == len(labels) {
			break
		}
	}
	return runs, labels
}

// spread returns the runs that get a label, and their labels. It picks every n-th run, with n so large that the labels
// do not touch.
func (c *historyChart) spread(layout string) (runs []int, labels []string) {
	const gap = 24
	n := len(c.Runs)
	step := max(1, (n+c.layout.dates-1)/c.layout.dates, int(math.Ceil((max(labelWidth(layout), labelWidth("run 1000"))+gap)/c.pitch())))
	for run := 0; run < n; run += step {
		label := "run " + strconv.Itoa(run+1)
		if r := c.Runs[run]; layout != "" && !r.Start.IsZero() {
			label = r.Start.UTC().Format(layout)
		}
		runs, labels = append(runs, run), append(labels, label)
	}
	return runs, labels
}

func (c *historyChart) events() {
	for i, r := range c.Runs {
		if len(r.Events) == 0 {
			continue
		}
		x := c.x(float64(i))
		mark := "M" + at(x-3.5, c.bottom+11) + "h7l-3.5 -7z"
		if c.layout.links {
			c.WriteString(`<path d="` + mark + `"` + styled("event") + "><title>" + escapeLines(c.Events(i)) +
				"</title></path>\n")
		} else {
			c.path(mark, "event")
		}
	}
}

func escapeLines(text string) string { return html.EscapeString(safetext.Lines(text)) }

func (c *historyChart) points() {
	radius := min(4, max(1.6, c.pitch()/2.4))
	whiskers, dots, crosses := "", "", ""
	for _, p := range c.Series.Points {
		x, y := c.x(float64(p.Run)), c.bottom-6 // a run without a value is drawn at the foot of the plot
		if p.Value != nil {
			y = c.y(p.Value.Point)
		}
		if c.layout.links {
			title, link := c.Point(p)
			c.WriteString(`<a href="` + escape(link) + `"><title>` + escapeLines(title) + "</title>")
			whiskers, crosses = "", ""
		}
		if p.LeftOut != nil || p.Value == nil {
			crosses += "M" + at(x-3, y-3) + "l6 6m0 -6l-6 6"
		} else {
			whiskers += "M" + at(x, c.y(p.Value.Lo)) + "V" + px(c.y(p.Value.Hi))
			dots += "M" + at(x, y) + "h0"
		}
		if c.layout.links {
			c.path(crosses, "left")
			if whiskers != "" {
				c.path(whiskers, "whisker "+c.look.class)
				c.marker(x, y, radius, c.look, "")
			}
			c.WriteString("</a>\n")
		}
	}
	if !c.layout.links {
		c.path(whiskers, "whisker "+c.look.class)
		c.path(dots, "dots "+c.look.class)
		c.path(crosses, "left")
	}
}

func (c *historyChart) levels() {
	for _, s := range c.Series.Segments {
		if y := c.y(s.Level.Point); s.Runs > 1 {
			c.line(c.x(float64(s.From)-0.4), y, c.x(float64(s.To)+0.4), y, "level "+c.look.class)
		}
	}
}

func (c *historyChart) changeRanges() {
	for _, s := range c.Series.Shifts {
		from, to := c.between(s, s.Earliest), c.between(s, s.Latest)
		c.rect(from, historyTop-6, to-from, c.bottom-historyTop+6, "unsure")
	}
}

// between returns the horizontal position halfway between a run and the last run before it that the statistics include.
func (c *historyChart) between(s history.Change, run int) float64 {
	before := run
	for _, p := range c.Series.Points {
		if p.Run < run && p.Stretch == s.Stretch && p.LeftOut == nil {
			before = p.Run
		}
	}
	return c.x(float64(run+before) / 2)
}

// shifts draws a line at each change. The sizes of the changes stand above the plot. They alternate between two rows,
// so that neighbours do not touch.
func (c *historyChart) shifts() {
	for i, s := range c.Series.Shifts {
		x := c.between(s, s.Run)
		title, label := c.Shift(s)
		c.WriteString("<g><title>" + escape(title) + "</title>\n")
		c.line(x, historyTop-6, x, c.bottom, "zero")
		c.WriteString("</g>\n")
		anchor := "middle"
		switch {
		case x < c.layout.left+40:
			anchor = "start"
		case x > c.w-60:
			anchor = "end"
		}
		c.text(x, 12+14*float64(i%2), "small strong num halo", anchor, label)
	}
}
