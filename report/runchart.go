package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tare/analysis"
	"tare/experiment"
	"tare/journal"
	"tare/wording"
)

// RunChart draws every trial of one metric in one cell over time as an SVG
// picture: a lane per arm, around the arm's own median and all to the same
// scale, so that drift, steps and outliers show. Arrows point to trials that lie
// beyond a lane, crosses mark invalid trials, dashed lines where the run was
// resumed. Imported trials stand in the order measured, each arm by itself: arms
// may have run days apart, or nobody knows when. It is empty if the run has no such series.
func RunChart(r *analysis.Run, cell, metric string) string {
	s := arrange(r)
	if g := s.find(cell, metric); g != nil {
		return s.runChart(*g)
	}
	return ""
}

// chart is a run chart under way.
type chart struct {
	drawing
	sheet *sheet
	group group
	time  timeline
	reach float64 // deviation that fills half a lane
	ratio bool    // deviations are shares of the median
	order bool    // across is the place in the order measured, not the time
}

// Edges of the plot and half the height of a lane's plot.
const (
	chartLeft  = 8
	chartRight = runChartWidth - 8
	laneHalf   = 14
	laneMiddle = 34 // below the lane's top
)

// runChart draws the run chart of a group.
func (s *sheet) runChart(g group) string {
	arms := g.series.Arms
	c := &chart{sheet: s, group: g, ratio: wording.IsRatio(g.metric), order: s.imported()}
	if c.order {
		c.time = ordered(arms)
	} else {
		c.time = s.timeline(arms)
	}
	c.w, c.h = runChartWidth, laneTop+laneFoot+lanePitch*float64(len(arms))
	c.reach = c.span(arms)
	c.start(fmt.Sprintf("Run chart of %s in %s", g.metric.Name, g.cell))
	bottom := c.h - laneFoot
	if c.order {
		c.counter(bottom)
	} else {
		c.clock(bottom)
	}
	names := s.seriesNames(arms, runChartWidth-190)
	for i, a := range arms {
		c.lane(a, laneTop+lanePitch*float64(i), names[plain(a.Arm)])
	}
	c.end()
	return c.String()
}

// deviation is how far v is from the arm's median.
func (c *chart) deviation(v, median float64) float64 {
	if c.ratio && median != 0 {
		return v/median - 1
	}
	return v - median
}

// span finds the deviation that the lanes reach to: the largest one, or four
// times the ninetieth percentile if single values are far out (those are drawn
// at the edge).
func (c *chart) span(arms []analysis.ArmSeries) float64 {
	var all []float64
	for _, a := range arms {
		for _, v := range a.Values {
			if dev := abs(c.deviation(v, a.Summary.Median)); wording.Finite(dev) {
				all = append(all, dev)
			}
		}
	}
	if len(all) == 0 {
		return 1
	}
	slices.Sort(all)
	largest, usual := all[len(all)-1], all[(len(all)-1)*9/10]
	if usual > 0 && largest > 4*usual {
		largest = 4 * usual
	}
	if largest == 0 {
		return 1e-12
	}
	return largest
}

func (c *chart) x(seconds float64) float64 {
	return chartLeft + c.time.at(seconds)*(chartRight-chartLeft)
}

// lane draws one arm.
func (c *chart) lane(a analysis.ArmSeries, top float64, name string) {
	l := c.sheet.looks(a.Arm)
	mid := top + laneMiddle
	c.line(chartLeft, mid, chartRight, mid, "grid")
	y := func(v float64) float64 {
		d := c.deviation(v, a.Summary.Median) / c.reach
		return mid - min(1, max(-1, d))*laneHalf
	}
	if len(a.Values) > manyDots {
		c.spread(a, l, y)
	} else {
		c.trace(a, l, y)
	}
	c.beyond(a, y)
	if a.Diagnostics != nil {
		for _, place := range a.Diagnostics.Changes {
			c.change(float64(place-1), mid)
		}
	}
	if c.sheet.role(a.Arm) == experiment.Baseline {
		c.changes(a, mid)
	}
	if !c.order {
		c.invalid(a.Arm, mid)
	}
	c.laneLabel(top, l, name, a.Arm, "lane ±"+c.extent())
}

// at is where a trial stands across the chart.
func (c *chart) at(a analysis.ArmSeries, i int) float64 {
	if c.order {
		return float64(i)
	}
	return when(a, i)
}

// when is when a trial started; without times, trials are a second apart.
func when(a analysis.ArmSeries, i int) float64 {
	if i < len(a.Seconds) {
		return a.Seconds[i]
	}
	return float64(i)
}

// extent is how far a lane reaches, in words.
func (c *chart) extent() string {
	if c.ratio {
		return wording.Share(c.reach)
	}
	return wording.ScaleOf(c.group.metric.Unit, c.reach).Short(c.reach)
}

// trace draws every trial, joined within a session.
func (c *chart) trace(a analysis.ArmSeries, l looks, y func(float64) float64) {
	var line, dots strings.Builder
	last := -1
	for i, v := range a.Values {
		at := px(c.x(c.at(a, i))) + " " + px(y(v))
		if session := c.time.session(c.at(a, i)); session != last {
			line.WriteString("M" + at)
			last = session
		} else {
			line.WriteString("L" + at)
		}
		dots.WriteString("M" + at + "h0")
	}
	if line.Len() > 0 {
		c.path(line.String(), "trace "+l.class)
		c.path(dots.String(), "dots "+l.class)
	}
}

// beyond points out of the lane where a trial lies further out than it reaches,
// as far as they fit.
func (c *chart) beyond(a analysis.ArmSeries, y func(float64) float64) {
	var arrows strings.Builder
	n := 0
	for i, v := range a.Values {
		d := c.deviation(v, a.Summary.Median)
		if abs(d) <= c.reach {
			continue
		}
		if n++; n > manyDots {
			break
		}
		tip := -4.0 // up
		if d < 0 {
			tip = 4
		}
		arrows.WriteString("M" + px(c.x(c.at(a, i))-4) + " " + px(y(v)+tip/2) + "l4 " + px(tip) + "l4 " + px(-tip))
	}
	if n > 0 {
		c.path(arrows.String(), "cross")
	}
}

// spread draws many trials as a band from minimum to maximum with the median.
func (c *chart) spread(a analysis.ArmSeries, l looks, y func(float64) float64) {
	const bins = 110
	var upper, lower, middle []string
	for b := range bins {
		from, to := b*len(a.Values)/bins, (b+1)*len(a.Values)/bins
		v := slices.Sorted(slices.Values(a.Values[from:to]))
		x := px(c.x(c.at(a, (from+to)/2)))
		upper = append(upper, x+" "+px(y(v[len(v)-1])))
		lower = append(lower, x+" "+px(y(v[0])))
		middle = append(middle, x+" "+px(y(v[len(v)/2])))
	}
	slices.Reverse(lower)
	c.path("M"+strings.Join(upper, "L")+"L"+strings.Join(lower, "L")+"z", "spread "+l.class)
	c.path("M"+strings.Join(middle, "L"), "thin "+l.class)
}

// changes marks where the baseline's level changes.
func (c *chart) changes(a analysis.ArmSeries, mid float64) {
	for _, round := range c.group.series.Changes {
		i := slices.Index(a.Rounds, round)
		if i < 0 {
			continue
		}
		c.change(c.at(a, i), mid)
	}
}

// change marks a change of level.
func (c *chart) change(at, mid float64) {
	x := c.x(at)
	c.line(x, mid-laneHalf-1, x, mid+laneHalf+1, "zero")
	c.path("M"+px(x-4)+" "+px(mid-laneHalf-2)+"h8l-4 5z", "cross")
}

// invalid marks the arm's invalid trials in this cell, as far as they fit.
func (c *chart) invalid(arm string, mid float64) {
	var crosses strings.Builder
	n := 0
	for _, t := range c.sheet.spoiled(c.group.cell, arm) {
		seconds := t.Start.Sub(c.sheet.run.Start).Seconds()
		if n++; n > manyDots {
			break
		}
		x, y := c.x(seconds), mid+laneHalf-1
		crosses.WriteString("M" + px(x-3) + " " + px(y-3) + "l6 6m0-6l-6 6")
	}
	if n > 0 {
		c.path(crosses.String(), "cross")
	}
}

// spoiled are the invalid trials of an arm in a cell.
func (s *sheet) spoiled(cell, arm string) []journal.Trial {
	if s.invalids == nil {
		s.invalids = map[[2]string][]journal.Trial{}
		for _, t := range s.run.Invalids {
			k := [2]string{t.Cell, t.Arm}
			s.invalids[k] = append(s.invalids[k], t)
		}
	}
	return s.invalids[[2]string{cell, arm}]
}

// ordered is the axis of places in the order measured.
func ordered(arms []analysis.ArmSeries) timeline {
	last := 0
	for _, a := range arms {
		last = max(last, len(a.Values)-1)
	}
	return timeline{sessions: []analysis.Session{{Number: 1, To: float64(last)}}, total: max(float64(last), 1)}
}

// counter draws the axis of places.
func (c *chart) counter(bottom float64) {
	ticks := []float64{1}
	for _, t := range (axis{lo: 1, hi: c.time.total + 1}).ticks(5) {
		if t > 1 && t == math.Trunc(t) {
			ticks = append(ticks, t)
		}
	}
	for _, t := range ticks {
		x := c.x(t - 1)
		c.line(x, bottom, x, bottom+3, "grid")
		c.tick(x, bottom, wording.Number(t, 9))
	}
	c.text(c.w/2, bottom+30, "small muted", "middle", "trials, in the order measured")
}

// clock draws the time axis and the breaks between sessions.
func (c *chart) clock(bottom float64) {
	unit, name := time.Second.Seconds(), "seconds"
	switch total := c.time.total; {
	case total > 3*3600:
		unit, name = time.Hour.Seconds(), "hours"
	case total > 180:
		unit, name = time.Minute.Seconds(), "minutes"
	}
	for _, t := range (axis{lo: 0, hi: c.time.total / unit}).ticks(5) {
		x := chartLeft + t*unit/c.time.total*(chartRight-chartLeft)
		c.line(x, bottom, x, bottom+3, "grid")
		c.tick(x, bottom, wording.TrimZeros(wording.Fixed(t, 2)))
	}
	title := name + " since the start"
	for _, from := range c.time.breaks() {
		x := chartLeft + from/c.time.total*(chartRight-chartLeft)
		c.line(x, laneTop, x, bottom, "break")
		title = name + " under way; dashed: resumed after a pause"
	}
	c.text(c.w/2, bottom+30, "small muted", "middle", title)
}

// timeline maps seconds since the start to the time under way, with the pauses
// between sessions left out.
type timeline struct {
	sessions []analysis.Session
	total    float64
}

// timeline finds the time axis of a run, or of the series if the run does not
// tell its sessions.
func (s *sheet) timeline(arms []analysis.ArmSeries) timeline {
	t := timeline{sessions: s.run.Sessions}
	if len(t.sessions) == 0 {
		last := 0.0
		for _, a := range arms {
			for i := range a.Values {
				last = max(last, when(a, i))
			}
		}
		t.sessions = []analysis.Session{{Number: 1, To: last}}
	}
	for _, s := range t.sessions {
		t.total += max(0, s.To-s.From)
	}
	t.total = max(t.total, 1e-9)
	return t
}

// at is the place of a moment, 0…1.
func (t timeline) at(seconds float64) float64 {
	before := 0.0
	for _, s := range t.sessions {
		if seconds <= s.To {
			before += max(0, seconds-s.From)
			break
		}
		before += max(0, s.To-s.From)
	}
	return min(1, math.Max(0, before/t.total))
}

// session is the index of the session that a moment belongs to.
func (t timeline) session(seconds float64) int {
	for i, s := range t.sessions {
		if seconds <= s.To {
			return i
		}
	}
	return len(t.sessions) - 1
}

// breaks are the times under way at which a session ended and another began.
func (t timeline) breaks() []float64 {
	var list []float64
	at := 0.0
	for i, s := range t.sessions {
		if i > 0 {
			list = append(list, at)
		}
		at += max(0, s.To-s.From)
	}
	return list
}
