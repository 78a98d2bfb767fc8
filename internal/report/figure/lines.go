package figure

import (
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/lists"
	"tare/internal/report/wording"
)

// Lines plots a metric against the levels of a factor. Above are the values of each arm, below each arm's overhead
// relative to the baseline.
type Lines struct {
	Metric, Unit       string
	Factor, FactorUnit string
	X                  []float64 // levels of the factor, ascending
	Baseline           string    // name of the baseline; "": there is none
	Margin             float64   // margin of equivalence, on the scale of the overheads; 0: the chart shows none
	Ratio              bool      // overheads are shares of the baseline
	Bars               bool      // the intervals of the estimates are bars beside the fitted line
	Arms               []Line
}

// Line is one arm at all levels.
type Line struct {
	Arm       string
	Look      Look
	Values    [][]float64         // values of the trials at each level
	Estimates []Estimate          // estimate at each level
	Fitted    []analysis.Interval // fitted straight line at each level; empty: the estimates are joined
	From      int                 // index of the first level that the straight line covers
	Point     bool                // set if the straight line has a point per level and no interval
	Overheads []Estimate          // overhead at each level; empty for the baseline
}

// Estimate is the value or overhead of an arm at one level.
type Estimate struct {
	At    analysis.Interval
	Known bool // the arm has a value at this level
	Point bool // the value has no interval
	Open  bool // the verdict is no claim, so the marker is hollow
}

// Draw draws every trial as a dot, and each arm's estimate at each level as a marker. The arm's line is its fit with
// the interval's band. Without a fit, it joins the estimates, with gaps at levels without a value.
func (l Lines) Draw(wide bool) string {
	c := l.layOut(wide)
	c.drawAxes()
	for i, a := range l.Arms {
		c.interval(a, i)
	}
	for i, a := range l.Arms {
		c.trials(a, i)
	}
	for i, a := range l.Arms {
		c.estimates(a)
		c.missing(a, i)
	}
	if c.differs() {
		c.drawOverheads()
	}
	c.labels()
	return c.svg(l.Metric+" by "+l.Factor, "")
}

type linesChart struct {
	drawing
	Lines
	wide                               bool
	left, right                        float64 // edges of both plots
	top, bottom                        float64 // edges of the plot of values
	overheadTop, overheadBottom        float64 // edges of the plot of overheads
	levelAxis, valueAxis, overheadAxis Axis
}

func (l Lines) layOut(wide bool) *linesChart {
	c := &linesChart{Lines: l, wide: wide}
	c.levelAxis, c.valueAxis, c.overheadAxis = l.axes()
	height, below, head := 250.0, 150.0, 24.0
	c.w, c.right = wideWidth, wideWidth-168
	if !wide {
		height, below = 210, 140
		c.w, c.right = narrowWidth, narrowWidth-8
		head += 8 + legendRow*float64(len(c.legend()))
	}
	for _, ticks := range [][]tick{c.valueTicks(), c.overheadTicks()} {
		for _, t := range ticks {
			c.left = min(c.w/4, max(c.left, textWidth(t.label, 11)+14))
		}
	}
	if c.stacks(c.Metric, wording.Join(", ", c.valueAxis.unit(c.Unit).Label, c.valueAxis.scale(nil))) {
		head += 14
	}
	c.top = head
	c.bottom = c.top + height
	c.overheadBottom = c.bottom
	if c.differs() {
		c.overheadTop = c.bottom + 30
		if c.stacks(c.overheadHeading()) {
			c.overheadTop += 14
		}
		c.overheadBottom = c.overheadTop + below
	}
	c.h = c.overheadBottom + laneFoot
	return c
}

func (l Lines) differs() bool {
	return slices.ContainsFunc(l.Arms, func(a Line) bool { return slices.ContainsFunc(a.Overheads, known) })
}

func known(p Estimate) bool { return p.Known }

func (c *linesChart) x(v float64) float64 {
	return c.left + c.levelAxis.At(bounded(v))*(c.right-c.left)
}

func (c *linesChart) y(v float64) float64 {
	return c.top + (1-c.valueAxis.At(bounded(v)))*(c.bottom-c.top)
}

func (c *linesChart) drawAxes() {
	for _, t := range c.valueTicks() {
		c.tickLine(c.y(t.at), t.label, "grid")
	}
	c.heading(c.top, c.Metric, c.valueAxis.unit(c.Unit).Label, c.valueAxis.scale(nil))
	last := -c.w
	for _, v := range c.X {
		x, label := c.x(v), wording.Number(v, 6)
		c.line(x, c.top, x, c.bottom, "grid")
		if c.differs() {
			c.line(x, c.overheadTop, x, c.overheadBottom, "grid")
		}
		c.line(x, c.overheadBottom, x, c.overheadBottom+3, "grid")
		if half := textWidth(label, 11) / 2; x-half >= last+6 {
			last = x + half
			c.tick(x, c.overheadBottom, label)
		}
	}
	label := c.Factor
	label += wording.When(c.FactorUnit != "", " ("+c.FactorUnit+")")
	label = wording.Join(", ", label, c.levelAxis.scale(func(v float64) string { return wording.Number(v, 6) }))
	c.text((c.left+c.right)/2, c.overheadBottom+30, "small muted", "middle", fit(label, c.w-2*laneTop, 11))
}

type tick struct {
	at    float64
	label string
}

func (c *linesChart) valueTicks() []tick { return ticksIn(c.valueAxis, c.Unit, 7) }

func ticksIn(a Axis, unit string, n int) (list []tick) {
	ticks, labels := a.inUnit(a.unit(unit), n, 1e7)
	for i, t := range ticks {
		list = append(list, tick{t, labels[i]})
	}
	return list
}

func (c *linesChart) tickLine(y float64, label, class string) {
	c.line(c.left, y, c.right, y, class)
	c.text(c.left-6, y+4, "small muted num", "end", fit(label, c.left-4, 11))
}

// heading writes a name above a plot. Unit and scale stand beside the name, or in a second row if there is too
// little room.
func (c *linesChart) heading(top float64, name string, about ...string) {
	short, note, y := fit(name, c.w-8, 12), wording.Join(", ", about...), top-9
	if c.stacks(name, note) {
		c.text(0, y, "small muted", "start", fit(note, c.w-8, 11))
		c.labelled(0, y-14, "", short, name)
		return
	}
	c.labelled(0, y, "", short, name)
	c.text(c.right, y, "small muted", "end", note)
}

func (c *linesChart) stacks(name, note string) bool {
	return textWidth(name, 12)+textWidth(note, 11)+16 > c.right
}

// interval draws the intervals of the fitted line as a band. Without a fitted line, it draws the intervals of
// the estimates.
func (c *linesChart) interval(a Line, index int) {
	estimates := a.Estimates
	if a.Fitted != nil {
		estimates = nil
		for k, i := range a.Fitted {
			estimates = append(estimates, Estimate{At: i, Known: k >= a.From, Point: a.Point || len(a.Fitted) != len(c.X)})
		}
	}
	for _, run := range neighbours(c.X, estimates, func(p Estimate) bool { return p.Known && !p.Point }) {
		if len(run) == 1 { // the interval at a single level is drawn as a line, not as a band
			x, p := c.x(c.X[run[0]])+c.offset(index, len(c.Arms), 5), estimates[run[0]].At
			c.line(x, c.y(p.Hi), x, c.y(p.Lo), "range "+a.Look.class)
			continue
		}
		var upper, lower []string
		for _, k := range run {
			x := c.x(c.X[k])
			upper, lower = append(upper, at(x, c.y(estimates[k].At.Hi))), append(lower, at(x, c.y(estimates[k].At.Lo)))
		}
		c.band(upper, lower, "spread "+a.Look.class)
	}
}

// neighbours returns groups of adjacent levels, as indices into x. Only levels whose estimate meets the condition are
// in a group. Any other level ends the group.
func neighbours(x []float64, estimates []Estimate, wanted func(Estimate) bool) (list [][]int) {
	last := -2
	for k := range min(len(x), len(estimates)) {
		if !wanted(estimates[k]) {
			continue
		}
		if k > last+1 {
			list = append(list, nil)
		}
		list[len(list)-1], last = append(list[len(list)-1], k), k
	}
	return list
}

func (c *linesChart) trials(a Line, index int) {
	dots := ""
	aside := c.offset(index, len(c.Arms), 5)
	for k, values := range a.Values {
		if k >= len(c.X) {
			break
		}
		step := max(1, len(values)*len(c.X)/ManyDots)
		for i := 0; i < len(values); i += step {
			dots += "M" + at(c.x(c.X[k])+aside+1.5*jitter(i), c.y(values[i])) + "h0"
		}
	}
	c.path(dots, "faint "+a.Look.class)
}

// offset returns how far an arm's marker stands beside its level, so that the markers of n arms do not hide each
// other.
func (c *linesChart) offset(index, n int, step float64) float64 {
	if len(c.X) > 0 && n > 1 { // a smaller step keeps the markers of all arms within the plot
		step = min(step, 2*max(0, c.x(c.X[0])-c.left-6)/float64(n-1))
	}
	for k := 1; k < len(c.X); k++ { // the closer two levels are, the less room their markers have
		step = min(step, (c.x(c.X[k])-c.x(c.X[k-1]))*0.6/float64(n))
	}
	return step * (float64(index) - float64(n-1)/2)
}

func (c *linesChart) estimates(a Line) {
	if a.Fitted != nil {
		var line []string
		for k, i := range a.Fitted[:min(len(a.Fitted), len(c.X))] {
			if k >= a.From {
				line = append(line, at(c.x(c.X[k]), c.y(i.Point)))
			}
		}
		if line != nil {
			c.path("M"+strings.Join(line, "L"), "thin "+a.Look.class)
		}
	}
	for _, run := range neighbours(c.X, a.Estimates, known) {
		if a.Fitted == nil && len(run) > 1 {
			c.joined(run, a.Estimates, 0, c.y, "thin "+a.Look.class)
		}
		for _, k := range run {
			if p := a.Estimates[k]; c.Bars && a.Fitted != nil && !p.Point {
				c.line(c.x(c.X[k]), c.y(p.At.Lo), c.x(c.X[k]), c.y(p.At.Hi), "range "+a.Look.class)
			}
			c.marker(c.x(c.X[k]), c.y(a.Estimates[k].At.Point), 4, a.Look, "")
		}
	}
}

// joined draws a line that joins the estimates of successive levels. The line may stand beside the levels, at a
// distance of aside pixels.
func (c *linesChart) joined(run []int, estimates []Estimate, aside float64, y func(float64) float64, class string) {
	line := lists.Map(run, func(k int) string { return at(c.x(c.X[k])+aside, y(estimates[k].At.Point)) })
	c.path("M"+strings.Join(line, "L"), class)
}

func (c *linesChart) missing(a Line, index int) {
	for k := range min(len(c.X), len(a.Estimates)) {
		if !a.Estimates[k].Known && slices.ContainsFunc(a.Estimates, known) {
			c.path("M"+at(c.x(c.X[k])+c.offset(index, len(c.Arms), 9)-3, c.bottom-10)+"l6 6m0-6l-6 6", "range "+a.Look.class)
		}
	}
}
