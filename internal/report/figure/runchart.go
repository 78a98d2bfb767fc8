package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis"
	"tare/internal/lists"
	"tare/internal/report/wording"
)

// RunChart shows every trial of one metric in one cell over time.
type RunChart struct {
	Metric, Cell string
	Unit         string
	Ratio        bool // set if deviations are shares of the median
	// Ordered is set if arms ran days apart or at unknown times. The axis then counts each arm's trials, and Sessions
	// and times are empty.
	Ordered  bool
	Lanes    []Lane
	Sessions []analysis.Session // sessions, drawn without the pauses between them; empty: one session of all trials
}

// Lane is the trials of one arm.
type Lane struct {
	Arm
	Seconds []float64 // start times of the trials since the start of the run; empty: trials are a second apart
	Changes []int     // indices of the trials at which the arm's values become persistently higher or lower
	Invalid []float64 // start times of invalid trials
}

// Draw draws a lane on one scale for each arm, with the arm's median in the middle. An arrow is a trial beyond its
// lane, a cross an invalid trial. A dashed line shows where the run was resumed.
func (r RunChart) Draw() string {
	c := &runChart{RunChart: r, time: newTimeline(r.Sessions, r.Lanes)}
	c.w, c.h = runChartWidth, laneTop+laneFoot+lanePitch*float64(len(r.Lanes))
	c.reach = c.findReach()
	if bottom := c.h - laneFoot; r.Ordered {
		c.trialAxis(bottom)
	} else {
		c.timeAxis(bottom)
	}
	names := lists.Map(r.Lanes, func(l Lane) string { return l.Name })
	short := abbreviated(names, runChartWidth-190)
	for i, l := range r.Lanes {
		c.lane(l, laneTop+lanePitch*float64(i), short[i])
	}
	return c.svg(fmt.Sprintf("Run chart of %s, %s", r.Metric, r.Cell), "")
}

type runChart struct {
	drawing
	RunChart
	time  timeline
	reach float64 // largest deviation from the median that a lane shows: it is drawn at the lane's edge
}

// Edges of the plot, and half the height of a lane, in pixels.
const (
	chartLeft  = 8
	chartRight = runChartWidth - 8
	laneHalf   = 14
	laneMiddle = 34 // distance of a lane's middle from its top
)

func (c *runChart) deviation(v, median float64) float64 {
	if c.Ratio && median != 0 {
		return v/median - 1
	}
	return v - median
}

// findReach returns the deviation from the median at the edge of a lane: the largest one, but at most four times the
// ninetieth percentile of all deviations.
func (c *runChart) findReach() float64 {
	var all []float64
	for _, a := range c.Lanes {
		for _, v := range a.Values {
			if dev := math.Abs(c.deviation(v, a.Summary.Median)); wording.Finite(dev) {
				all = append(all, dev)
			}
		}
	}
	if len(all) == 0 {
		return 1
	}
	slices.Sort(all)
	largest, usual := all[len(all)-1], all[(len(all)-1)*9/10]
	if usual > 0 {
		largest = min(largest, 4*usual)
	}
	return cmp.Or(largest, 1e-12)
}

func (c *runChart) x(seconds float64) float64 {
	return chartLeft + min(1, max(0, c.time.elapsed(seconds)/c.time.total))*(chartRight-chartLeft)
}

func (c *runChart) lane(a Lane, top float64, name string) {
	mid := top + laneMiddle
	c.line(chartLeft, mid, chartRight, mid, "grid")
	y := func(v float64) float64 {
		d := c.deviation(v, a.Summary.Median) / c.reach
		return mid - min(1, max(-1, d))*laneHalf
	}
	if len(a.Values) > ManyDots {
		c.bands(a, y)
	} else {
		c.trace(a, y)
	}
	c.beyond(a, y)
	for _, i := range a.Changes {
		x := c.x(startOf(a, i))
		c.line(x, mid-laneHalf-1, x, mid+laneHalf+1, "zero")
		c.path("M"+at(x-4, mid-laneHalf-2)+"h8l-4 5z", "cross")
	}
	crosses := ""
	for _, started := range a.Invalid[:min(len(a.Invalid), ManyDots)] {
		crosses += "M" + at(c.x(started)-3, mid+laneHalf-4) + "l6 6m0-6l-6 6"
	}
	c.path(crosses, "cross")
	reach := wording.ScaleOf(c.Unit, c.reach).Short(c.reach)
	if c.Ratio {
		reach = wording.Share(c.reach)
	}
	c.laneLabel(top, a.Look, name, a.Name, "lane ±"+reach)
}

// startOf returns the start of a trial in seconds. Without times, trials are a second apart.
func startOf(a Lane, i int) float64 {
	if i < len(a.Seconds) {
		return a.Seconds[i]
	}
	return float64(i)
}

func (c *runChart) trace(a Lane, y func(float64) float64) {
	line, dots, last := "", "", -1
	for i, v := range a.Values {
		point, join := at(c.x(startOf(a, i)), y(v)), "L"
		if session := c.time.session(startOf(a, i)); session != last {
			join, last = "M", session
		}
		line += join + point
		dots += "M" + point + "h0"
	}
	c.path(line, "trace "+a.Look.class)
	c.path(dots, "dots "+a.Look.class)
}

func (c *runChart) beyond(a Lane, y func(float64) float64) {
	arrows, n := "", 0
	for i, v := range a.Values {
		d := c.deviation(v, a.Summary.Median)
		if math.Abs(d) <= c.reach {
			continue
		}
		if n++; n > ManyDots {
			break
		}
		tip := -4.0 // the arrow points upwards
		if d < 0 {
			tip = 4
		}
		arrows += "M" + at(c.x(startOf(a, i))-4, y(v)+tip/2) + "l4 " + px(tip) + "l4 " + px(-tip)
	}
	c.path(arrows, "cross")
}

func (c *runChart) bands(a Lane, y func(float64) float64) {
	const bins = 110
	var upper, lower, middle []string
	for b := range bins {
		from, to := b*len(a.Values)/bins, (b+1)*len(a.Values)/bins
		v := slices.Sorted(slices.Values(a.Values[from:to]))
		x := c.x(startOf(a, (from+to)/2))
		upper, lower = append(upper, at(x, y(v[len(v)-1]))), append(lower, at(x, y(v[0])))
		middle = append(middle, at(x, y(v[len(v)/2])))
	}
	c.band(upper, lower, "spread "+a.Look.class)
	c.path("M"+strings.Join(middle, "L"), "thin "+a.Look.class)
}

func (c *runChart) trialAxis(bottom float64) {
	c.mark(c.x(0), bottom, "1")
	for _, t := range (Axis{Lo: 1, Hi: max(2, c.time.total+1)}).ticks(5) {
		if t > 1 && t == math.Trunc(t) {
			c.mark(c.x(t-1), bottom, wording.Number(t, 9))
		}
	}
	c.text(c.w/2, bottom+30, "small muted", "middle", "trials, in the order measured")
}

func (c *runChart) timeAxis(bottom float64) {
	unit, name := time.Second.Seconds(), "seconds"
	switch total := c.time.total; {
	case total > 3*3600:
		unit, name = time.Hour.Seconds(), "hours"
	case total > 180:
		unit, name = time.Minute.Seconds(), "minutes"
	}
	under := func(seconds float64) float64 { return chartLeft + seconds/c.time.total*(chartRight-chartLeft) }
	for _, t := range (Axis{Lo: 0, Hi: c.time.total / unit}).ticks(5) {
		c.mark(under(t*unit), bottom, wording.TrimZeros(wording.Fixed(t, 2)))
	}
	title := name + " since the start"
	for _, before := range c.time.sessions[:len(c.time.sessions)-1] {
		x := under(c.time.elapsed(before.To))
		c.line(x, laneTop, x, bottom, "break")
		title = name + " under way; dashed: resumed after a pause"
	}
	c.text(c.w/2, bottom+30, "small muted", "middle", title)
}

// timeline converts a time since the start of the run to a time of work, both in seconds. Pauses between sessions are
// no time of work.
type timeline struct {
	sessions []analysis.Session
	total    float64
}

// newTimeline returns the timeline of the sessions. Without sessions, the timeline has one session that lasts
// until the last trial.
func newTimeline(sessions []analysis.Session, arms []Lane) timeline {
	t := timeline{sessions: sessions}
	if len(t.sessions) == 0 {
		last := 0.0
		for _, a := range arms {
			for i := range a.Values {
				last = max(last, startOf(a, i))
			}
		}
		t.sessions = []analysis.Session{{Number: 1, To: last}}
	}
	t.total = max(t.elapsed(math.Inf(1)), 1e-9)
	return t
}

// elapsed returns the seconds of work until a moment.
func (t timeline) elapsed(seconds float64) (sum float64) {
	for _, s := range t.sessions {
		sum += max(0, min(seconds, s.To)-s.From)
	}
	return sum
}

func (t timeline) session(seconds float64) int {
	for i, s := range t.sessions {
		if seconds <= s.To {
			return i
		}
	}
	return len(t.sessions) - 1
}
