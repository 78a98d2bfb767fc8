package figure

import (
	"slices"
	"strings"

	"tare/analysis"
	"tare/wording"
)

// Lines is a metric against the levels of a factor: the values of each arm above,
// and below, on the same levels, its overhead relative to the baseline.
type Lines struct {
	Metric, Unit       string
	Factor, FactorUnit string
	X                  []float64 // the levels, ascending
	Baseline           string    // its name; "": there is none
	Margin             float64   // within which arms are equivalent, on the scale of the overheads; 0: none
	Ratio              bool      // overheads are shares of the baseline
	Bars               bool      // the middles have their intervals as bars, where a line is fitted
	Arms               []Line
}

// Line is one arm.
type Line struct {
	Arm       string
	Look      Look
	Values    [][]float64         // trials at each level
	Places    []Place             // their middle at each level
	Fitted    []analysis.Interval // a straight line at each level; none: the middles are joined
	From      int                 // the first level that the straight line is for
	Point     bool                // the straight line has no interval
	Overheads []Place             // at each level; none for the baseline
}

// Place is where an arm stands at one level.
type Place struct {
	At    analysis.Interval
	Known bool // there is a value
	Point bool // it has no interval
	Open  bool // it claims nothing, and is drawn hollow
}

// Widths of the picture in pixels, on a wide and on a narrow page.
const (
	linesWide   = 880
	linesNarrow = 370
)

// Draw draws every trial as a dot and the middle of each arm at each level as its
// marker. The line is the one fitted, with the band of its interval, or joins the
// middles, with the bands of theirs; it has a gap where a level has no value.
func (l Lines) Draw(wide bool) string {
	c := l.lay(wide)
	c.scales()
	for i, a := range l.Arms {
		c.interval(a, i)
	}
	for i, a := range l.Arms {
		c.trials(a, i)
	}
	for i, a := range l.Arms {
		c.middle(a)
		c.missing(a, i)
	}
	if c.differs() {
		c.overheads()
	}
	c.labels()
	return c.svg(l.Metric+" by "+l.Factor, "")
}

// linesChart is a picture under way.
type linesChart struct {
	drawing
	Lines
	wide           bool
	left, right    float64 // edges of the plots
	top, bottom    float64 // of the values
	under, ground  float64 // top and bottom of the overheads
	across, up, on Axis    // levels, values, overheads
}

func (l Lines) lay(wide bool) *linesChart {
	c := &linesChart{Lines: l, wide: wide}
	c.across, c.up, c.on = l.axes()
	height, below, head := 250.0, 150.0, 24.0
	c.w, c.right = linesWide, linesWide-168
	if !wide {
		height, below = 210, 140
		c.w, c.right = linesNarrow, linesNarrow-8
		head += 8 + legendRow*float64(len(c.legend()))
	}
	for _, ticks := range [][]tick{c.valueTicks(), c.overheadTicks()} {
		for _, t := range ticks {
			c.left = min(c.w/4, max(c.left, textWidth(t.label, 11)+14))
		}
	}
	if c.stacks(c.Metric, listed(c.up.unit(c.Unit).Label, c.up.scale(nil))) {
		head += 14
	}
	c.top = head
	c.bottom = c.top + height
	c.ground = c.bottom
	if c.differs() {
		c.under = c.bottom + 30
		if c.stacks(c.difference()) {
			c.under += 14
		}
		c.ground = c.under + below
	}
	c.h = c.ground + laneFoot
	return c
}

// differs says whether there is any overhead to draw.
func (l Lines) differs() bool {
	return slices.ContainsFunc(l.Arms, func(a Line) bool { return slices.ContainsFunc(a.Overheads, known) })
}

func known(p Place) bool { return p.Known }

func (c *linesChart) x(v float64) float64 {
	return c.left + c.across.At(bounded(v))*(c.right-c.left)
}

func (c *linesChart) y(v float64) float64 {
	return c.top + (1-c.up.At(bounded(v)))*(c.bottom-c.top)
}

// scales are the axes with their labels: of the values, and of the levels below
// everything.
func (c *linesChart) scales() {
	for _, t := range c.valueTicks() {
		c.row(c.y(t.at), t.label, "grid")
	}
	c.heading(c.top, c.Metric, c.up.unit(c.Unit).Label, c.up.scale(nil))
	last := -c.w
	for _, v := range c.X {
		x, label := c.x(v), wording.Number(v, 6)
		c.line(x, c.top, x, c.bottom, "grid")
		if c.differs() {
			c.line(x, c.under, x, c.ground, "grid")
		}
		c.line(x, c.ground, x, c.ground+3, "grid")
		if half := textWidth(label, 11) / 2; x-half >= last+6 {
			last = x + half
			c.tick(x, c.ground, label)
		}
	}
	label := c.Factor
	if c.FactorUnit != "" {
		label += " (" + c.FactorUnit + ")"
	}
	label = listed(label, c.across.scale(func(v float64) string { return wording.Number(v, 6) }))
	c.text((c.left+c.right)/2, c.ground+30, "small muted", "middle", fit(label, c.w-2*laneTop, 11))
}

// tick is a place on an axis with its label.
type tick struct {
	at    float64
	label string
}

func (c *linesChart) valueTicks() []tick { return ticksIn(c.up, c.Unit, 7) }

// ticksIn are about n ticks of an axis of values in a unit.
func ticksIn(a Axis, unit string, n int) (list []tick) {
	ticks, labels := a.inUnit(a.unit(unit), n, 1e7)
	for i, t := range ticks {
		list = append(list, tick{t, labels[i]})
	}
	return list
}

// row is a line across a plot at a tick.
func (c *linesChart) row(y float64, label, class string) {
	c.line(c.left, y, c.right, y, class)
	c.text(c.left-6, y+4, "small muted num", "end", fit(label, c.left-4, 11))
}

// heading stands above a plot: what it shows, in which unit, on what scale. Where both
// do not fit side by side, they stand below each other.
func (c *linesChart) heading(top float64, name string, about ...string) {
	short, note, y := fit(name, c.w-8, 12), listed(about...), top-9
	if c.stacks(name, note) {
		c.text(0, y, "small muted", "start", fit(note, c.w-8, 11))
		c.labelled(0, y-14, "", short, name)
		return
	}
	c.labelled(0, y, "", short, name)
	c.text(c.right, y, "small muted", "end", note)
}

// stacks says whether the two parts of a heading are too wide to stand side by side.
func (c *linesChart) stacks(name, note string) bool {
	return textWidth(name, 12)+textWidth(note, 11)+16 > c.right
}

// listed are the texts that are not empty, with commas.
func listed(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), ", ")
}

// interval is that of the fitted line, or of the middles, as a band. Between levels
// of which one has no interval there is none.
func (c *linesChart) interval(a Line, place int) {
	if a.Fitted != nil {
		if !a.Point && len(a.Fitted) == len(c.X) {
			places := make([]Place, len(a.Fitted))
			for k, i := range a.Fitted {
				places[k] = Place{At: i, Known: k >= a.From}
			}
			c.bands(places, a.Look, place)
		}
		return
	}
	c.bands(a.Places, a.Look, place)
}

func (c *linesChart) bands(places []Place, look Look, place int) {
	for _, run := range runs(c.X, places, func(p Place) bool { return p.Known && !p.Point }) {
		var upper, lower []string
		for _, k := range run {
			x := c.x(c.X[k])
			upper, lower = append(upper, at(x, c.y(places[k].At.Hi))), append(lower, at(x, c.y(places[k].At.Lo)))
		}
		if len(run) == 1 { // nothing on either side: a bar, beside those of other arms
			x, p := c.x(c.X[run[0]])+c.aside(place, len(c.Arms), 5), places[run[0]].At
			c.line(x, c.y(p.Hi), x, c.y(p.Lo), "range "+look.class)
			continue
		}
		c.band(upper, lower, "spread "+look.class)
	}
}

// runs are the levels beside each other that are wanted.
func runs(x []float64, places []Place, wanted func(Place) bool) (list [][]int) {
	last := -2
	for k := range min(len(x), len(places)) {
		if !wanted(places[k]) {
			continue
		}
		if k > last+1 {
			list = append(list, nil)
		}
		list[len(list)-1], last = append(list[len(list)-1], k), k
	}
	return list
}

// trials are the dots, an evenly chosen part of them where there are many. Arms
// stand a little beside each other.
func (c *linesChart) trials(a Line, place int) {
	dots := ""
	aside := c.aside(place, len(c.Arms), 5)
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

// aside is how far from its level one of n arms stands, so that they do not hide each other.
func (c *linesChart) aside(place, n int, step float64) float64 {
	if len(c.X) > 0 && n > 1 { // nor does any leave the plot
		step = min(step, 2*max(0, c.x(c.X[0])-c.left-6)/float64(n-1))
	}
	for k := 1; k < len(c.X); k++ { // levels that are close leave less room
		step = min(step, (c.x(c.X[k])-c.x(c.X[k-1]))*0.6/float64(n))
	}
	return step * (float64(place) - float64(n-1)/2)
}

// middle is the line, with the middle at each level.
func (c *linesChart) middle(a Line) {
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
	for _, run := range runs(c.X, a.Places, known) {
		if a.Fitted == nil && len(run) > 1 {
			c.joined(run, a.Places, 0, c.y, "thin "+a.Look.class)
		}
		for _, k := range run {
			if p := a.Places[k]; c.Bars && a.Fitted != nil && !p.Point {
				c.line(c.x(c.X[k]), c.y(p.At.Lo), c.x(c.X[k]), c.y(p.At.Hi), "range "+a.Look.class)
			}
			c.marker(c.x(c.X[k]), c.y(a.Places[k].At.Point), 4, a.Look, "")
		}
	}
}

// joined is a line through places, each a little aside.
func (c *linesChart) joined(run []int, places []Place, aside float64, y func(float64) float64, class string) {
	var line []string
	for _, k := range run {
		line = append(line, at(c.x(c.X[k])+aside, y(places[k].At.Point)))
	}
	c.path("M"+strings.Join(line, "L"), class)
}

// missing crosses out the levels at which an arm has no value.
func (c *linesChart) missing(a Line, place int) {
	for k := range min(len(c.X), len(a.Places)) {
		if !a.Places[k].Known && slices.ContainsFunc(a.Places, known) {
			c.path("M"+at(c.x(c.X[k])+c.aside(place, len(c.Arms), 9)-3, c.bottom-10)+"l6 6m0-6l-6 6", "range "+a.Look.class)
		}
	}
}
