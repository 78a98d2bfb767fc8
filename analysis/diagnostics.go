package analysis

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/stats"
)

// Independent samples have no rounds to cancel what drifts. What a series tells
// of itself is then all there is to doubt an interval by, and it is looked for in
// every arm.
//
// With many arms and metrics, something looks odd somewhere by chance alone. All
// diagnostics of the headline metrics together are to raise a false alarm in about
// one of twenty runs: each is asked for at diagnosticLevel over their number. There
// are two bounds to that. Changes of level are not asked for below 1 in 500, for
// every series that does change is shuffled twice as often as that. Modes are not
// asked for below 1 in 10,000, where the table of the dip test ends.
const (
	diagnosticLevel = 0.05
	diagnosticKinds = 4
	changeLeast     = 0.002
	dipLeast        = 0.0001
	fewestTrend     = 8   // values under which neither trend nor modes are looked for
	lagLeast        = 0.1 // autocorrelation under which an interval is about right
)

// diagnoseSeries fills the diagnostics of every series, which are in the order
// measured, at the level for one series of its class.
func diagnoseSeries(run *Run, seed uint64) {
	level := diagnosticLevels(run)
	var series sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0)) // they take most of the time of an analysis
	for c := range run.Cells {
		for m := range run.Cells[c].Metrics {
			ms := &run.Cells[c].Metrics[m]
			for a := range ms.Arms {
				s := &ms.Arms[a]
				free <- struct{}{}
				series.Go(func() {
					s.Diagnostics = diagnosticsOf(s.Values, s.Summary, level[ms.Metric.Headline], seed)
					<-free
				})
			}
		}
	}
	series.Wait()
}

// diagnosticLevels gives the level of one diagnostic of one series, for headline
// metrics and for the others.
func diagnosticLevels(run *Run) map[bool]float64 {
	series := map[bool]int{}
	for _, c := range run.Cells {
		for _, m := range c.Metrics {
			series[m.Metric.Headline] += len(m.Arms)
		}
	}
	level := map[bool]float64{}
	for _, headline := range []bool{true, false} {
		level[headline] = diagnosticLevel / diagnosticKinds / float64(max(series[headline], 1))
	}
	return level
}

func diagnosticsOf(values []float64, s Summary, level float64, seed uint64) *Diagnostics {
	d := &Diagnostics{Lag1: contrast.Finite(stats.Lag1(values)), TrendP: 1, DipP: 1}
	n := len(values)
	if s.Min == s.Max || n < fewestTrend {
		return d
	}
	if slope, p, err := stats.Trend(values); err == nil {
		d.TrendP = p
		if s.Median != 0 {
			d.Trend = contrast.Finite(slope * float64(n-1) / math.Abs(s.Median))
		}
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(values))); len(distinct)*2 > n { // values on a coarse grid look like many modes
		if _, p, err := stats.Dip(values); err == nil {
			d.DipP = p
		}
	}
	changes := stats.Changepoints(values, max(level, changeLeast), max(changeSegment, n/20), seed)
	if steps(values, changes, level) {
		for _, at := range changes {
			d.Changes = append(d.Changes, at+1)
		}
	}
	return d
}

// steps says whether changes of level describe a series better than what they
// are mistaken for: a straight rise or fall, which a line fits more closely, and
// values that carry over, which go on resembling their neighbours within the
// segments.
func steps(values []float64, changes []int, level float64) bool {
	places := make([]float64, len(values))
	for i := range places {
		places[i] = float64(i)
	}
	line, err := stats.FitLine(places, values)
	if err != nil || len(changes) == 0 {
		return false
	}
	besideLine, besideSteps := slices.Clone(values), slices.Clone(values)
	for i, at := range places {
		besideLine[i] -= line.At(at)
	}
	from := 0
	for _, to := range append(slices.Clone(changes), len(values)) {
		centre(besideSteps[from:to])
		from = to
	}
	return floats.Norm(besideSteps, 2) < floats.Norm(besideLine, 2) && lagP(stats.Lag1(besideSteps), len(values)) > level
}

// Oddity is what a series does not look like independent values by. A change of
// level is also a trend and makes neighbours alike; only the first that applies
// is told.
type Oddity string

// The oddities, in the order in which they are told.
const (
	OddLevels Oddity = "levels" // the level changes
	OddDrift  Oddity = "drift"  // rises or falls all along
	OddCarry  Oddity = "carry"  // neighbours resemble each other
	OddGroups Oddity = "groups" // more than one mode
)

// oddities judges a series of n values at a level.
func (d *Diagnostics) oddities(n int, level float64) []Oddity {
	var list []Oddity
	switch {
	case len(d.Changes) > 0:
		return []Oddity{OddLevels} // which also makes more than one mode
	case d.TrendP <= level:
		list = append(list, OddDrift)
	case d.Lag1 >= lagLeast && lagP(d.Lag1, n) <= level:
		list = append(list, OddCarry)
	}
	if d.DipP <= max(level, dipLeast) {
		list = append(list, OddGroups)
	}
	return list
}

// lagP is the two-sided p of an autocorrelation at lag one of n independent
// values, by its large-sample distribution around -1/n; 1 for fewer than ten.
func lagP(r float64, n int) float64 {
	if n < 10 {
		return 1
	}
	return math.Erfc(math.Abs(r+1/float64(n)) * math.Sqrt(float64(n)/2))
}

// seriesWarnings warns of odd series: once for each arm and oddity, with all
// metrics that show it; those of headline metrics first, and the others apart.
func seriesWarnings(plan *experiment.Plan, run *Run) []Warning {
	var list []Warning
	levels := diagnosticLevels(run)
	for _, headline := range []bool{true, false} {
		for a := range plan.Arms {
			for _, o := range []Oddity{OddLevels, OddDrift, OddCarry, OddGroups} {
				if w, ok := run.odd(a, o, headline, levels[headline]); ok {
					list = append(list, w)
				}
			}
		}
	}
	return list
}

// odd gathers where an arm shows an oddity. The warning names metric and cell
// itself where there is one only.
func (r *Run) odd(arm int, o Oddity, headline bool, level float64) (Warning, bool) {
	w := Warning{Exploratory: !headline}
	var places []Place
	for _, c := range r.Cells {
		for _, m := range c.Metrics {
			s := &m.Arms[arm]
			if m.Metric.Headline == headline && slices.Contains(s.Diagnostics.oddities(len(s.Values), level), o) {
				w.Arm = s.Arm
				places = append(places, Place{Metric: m.Metric.Name, Cell: c.ID, Diagnostics: *s.Diagnostics})
			}
		}
	}
	if len(places) == 1 {
		w.Metric, w.Cell = places[0].Metric, places[0].Cell
	}
	w.Finding = OddSeries{Oddity: o, Places: places}
	return w, len(places) > 0
}

// spreadRatio is how many times as wide the middle half of one arm's values must
// be for the arms to count as different in more than their level, and
// spreadFewest how many values it takes to say so.
const (
	spreadRatio  = 3
	spreadFewest = 20
)

// compareSpreads warns of two independent samples that differ in more than their level.
func compareSpreads(c *Comparison, warn func(Finding)) {
	base, arm := relativeSpread(c.Baseline, c.Metric), relativeSpread(c.Treated, c.Metric)
	ratio := max(arm/base, base/arm)
	if base <= 0 || arm <= 0 || ratio < spreadRatio {
		return
	}
	wider := experiment.Treatment
	if base > arm {
		wider = experiment.Baseline
	}
	warn(UnequalSpread{Wider: wider, Ratio: contrast.Finite(ratio)})
}

// relativeSpread is the width of the middle half of values, relative to their
// median where that is the scale.
func relativeSpread(s Summary, m experiment.Metric) float64 {
	width := s.Q3 - s.Q1
	if m.Scale != experiment.Difference && s.Median > 0 {
		width /= s.Median
	}
	return width
}
